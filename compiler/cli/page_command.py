"""The command line of the compile page's builder: `webnn-compile-page --out site/compile/`."""

from __future__ import annotations

from pathlib import Path

import click

from ..compile_page.build_page import build_page
from ..compile_page.downloads import Downloads
from ..system.cache import usual_folder
from .explained import DEBUG, FILE, explained
from .progress import Progress
from .terminal import error_console, say


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--out", type=FILE, required=True, help="The folder to write.")
@click.option(
    "--numpy",
    type=FILE,
    metavar="WHEEL",
    envvar="WEBNN_COMPILE_NUMPY",
    show_envvar=True,
    help="NumPy for Pyodide, which PyPI does not have: by default it comes from Pyodide's own distribution.",
)
@click.option(
    "--downloads", type=FILE, metavar="FOLDER", help="Keep downloads there; by default in the system's cache."
)
@click.option("--force", is_flag=True, help="Replace a page that is already there.")
@DEBUG
@click.version_option(package_name="webnn-compile")
def main(out: Path, numpy: Path | None, downloads: Path | None, force: bool, debug: bool) -> None:
    """Build a folder with which a web page compiles models by itself: this compiler, and Python in WebAssembly.

    \b
    webnn-compile-page --out site/compile/

    Any web server can host it. `index.html` is a page where one drops a model, `compiler.js` a module for pages of your
    own: see docs/compile-page.md. Building it needs Node 20 or newer with npm, and at first a network.
    """
    progress = Progress(error_console(), plain=False)
    with explained(debug=debug, phase=lambda: progress.current, interrupted="interrupted; nothing was written"):
        if downloads is None:
            downloads = usual_folder() / "page"
        with progress:
            written = build_page(out, Downloads(downloads, numpy), progress.phase, force=force)
        size = sum(file.bytes for file in written)
        say(f"{out}: {len(written)} files, {size / 1e6:.1f} MB; try it: webnn-serve {out}")


if __name__ == "__main__":
    main()
