"""Builds the demo site: pages that read digits and write text, and a page for each purpose that a model is given for.

python demo-site/build.py --out site [--model classify=resnet18.onnx] [--model faces=ultraface.onnx]
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

import click
import onnx
from tell_search import tell_searches
from webnn_compile.bundle import BundleFile, FolderKind, check_free, write_folder
from webnn_compile.cli.explained import explained
from webnn_compile.errors import InputError

SOURCES = Path(__file__).resolve().parent
DIGITS = SOURCES.parent / "examples" / "digits"
READER = DIGITS / "resnet18_digits.onnx"
WRITER = SOURCES.parent / "examples" / "writer" / "writer.onnx"
WRITING = ("--generate", "--dim", "sequence_length=1..64", "--dim", "past_sequence_length=0..255")
MADE = "site.json"
"""The list of the site's files and models, which also marks the folder."""
NAV = '<nav aria-label="Demos" hidden></nav>'
"""Takes the links to the other pages, where there are some."""
SUFFIXES = (".css", ".js", ".svg")
PICTURES = (".jpg", ".jpeg", ".png", ".webp")


@dataclass(frozen=True)
class Purpose:
    """A page that needs a model: `sizes` are rows and columns of its input where the model leaves them open, `picture`
    and `answer` the usual options of webnn-compile."""

    page: str
    link: str
    sizes: tuple[int, int]
    picture: str | None = None
    answer: str | None = None


PURPOSES: Mapping[str, Purpose] = {
    "classify": Purpose("photographs.html", "Photographs", (224, 224), "imagenet", "classify,top=5"),
    "faces": Purpose("faces.html", "Faces", (240, 320), "ultraface", "detect=ultraface"),
    "enlarge": Purpose("enlarge.html", "Enlarge", (224, 224)),
}


def is_site(folder: Path) -> bool:
    return (folder / "index.html").is_file() and bool(_listed(folder))


def foreign_files(folder: Path) -> list[str]:
    """Files that this did not write."""
    below = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    return sorted(below - _listed(folder) - {MADE})


def _listed(folder: Path) -> set[str]:
    try:
        return set(json.loads((folder / MADE).read_text(encoding="utf-8"))["files"])
    except (OSError, LookupError, TypeError, ValueError):
        return set()


SITE = FolderKind("demo site", is_site, foreign_files)


def picture_input(model: Path, purpose: str) -> tuple[str, str]:
    """Name and shape of a model's one input, as --shape takes it; dimensions that are open are those of the purpose."""
    try:
        graph = onnx.load(model, load_external_data=False).graph
    except FileNotFoundError as error:
        raise InputError(f"--model {purpose}={model}: there is no such file") from error
    except Exception as error:  # those of protobuf have no class in common
        raise InputError(f"--model {purpose}={model} is no ONNX file: {error}") from error
    constants = {initializer.name for initializer in graph.initializer}
    inputs = [one for one in graph.input if one.name not in constants]
    dims = [dim.dim_value for one in inputs for dim in one.type.tensor_type.shape.dim]
    if len(inputs) != 1 or len(dims) != 4:
        names = ", ".join(one.name for one in inputs) or "none"
        raise InputError(
            f"--model {purpose}={model}: this page needs a model with one input of 4 dimensions, not {names}"
        )
    if purpose == "enlarge" and dims[1] not in (1, 3):
        raise InputError(
            f"--model enlarge={model}: its input has to be [1, 1 or 3 channels, rows, columns], not {dims}"
        )
    rows = 2 if dims[1] in (1, 3) else 1
    usual = dict(zip((0, rows, rows + 1), (1, *PURPOSES[purpose].sizes), strict=True))
    shape = [dim or usual.get(axis, 3) for axis, dim in enumerate(dims)]
    return inputs[0].name, "x".join(map(str, shape))


def compile_model(model: Path, out: Path, *options: str) -> list[str]:
    """Writes the bundle by the command line, which prints what is wrong; the backends that it has."""
    command = [sys.executable, "-m", "webnn_compile", str(model), "--out", str(out), *options]
    done = subprocess.run(command, stdout=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(done.returncode)
    (backends,) = re.findall(r"^export type Backend = (.*);", (out / "model.d.ts").read_text(encoding="utf-8"), re.M)
    return re.findall(r"'(\w+)'", backends)


def files_below(folder: Path, at: str) -> Iterator[BundleFile]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield BundleFile(f"{at}/{path.relative_to(folder).as_posix()}", path.read_bytes(), "page")


def sample_files(folder: Path) -> list[BundleFile]:
    """The pictures in the folder that every browser can read."""
    found = [path for path in sorted(folder.glob("*")) if path.suffix.lower() in PICTURES]
    if not found:
        raise InputError(f"--samples {folder}: there is no picture of {', '.join(PICTURES)} in it")
    return [BundleFile(f"samples/{path.name}", path.read_bytes(), "page") for path in found]


def writer_files(work: Path, options: tuple[str, ...]) -> Iterator[BundleFile]:
    """The bundle of the decoder, and what its page has to know of it."""
    backends = compile_model(WRITER, work, *WRITING, *options)
    said = {entry.key: entry.value for entry in onnx.load(WRITER).metadata_props}
    told = {"characters": said["characters"], "backends": backends}
    yield BundleFile("writer.json", json.dumps(told).encode(), "page")
    yield from files_below(work, "models/writer")


def page_files(links: Mapping[str, str]) -> Iterator[BundleFile]:
    """The sources, each page of `links` (by address the text) with these links."""
    absent = {purpose.page for purpose in PURPOSES.values()} - set(links)
    for path in sorted(SOURCES.iterdir()):
        if path.suffix in SUFFIXES and path.with_suffix(".html").name not in absent:
            yield BundleFile(path.name, path.read_bytes(), "page")
    yield BundleFile("samples.json", (DIGITS / "samples.json").read_bytes(), "page")
    for name in links:
        if name.endswith(".html"):
            text = (SOURCES / name).read_text(encoding="utf-8")
            yield BundleFile(name, text.replace(NAV, navigation(links, name)).encode(), "page")


def navigation(links: Mapping[str, str], current: str) -> str:
    lines = []
    for address, text in links.items():
        here = ' aria-current="page"' if address == current else ""
        lines.append(f'  <a href="{escape(address)}"{here}>{escape(text)}</a>')
    return "\n".join(['<nav aria-label="Demos">', *lines, "</nav>"])


def build_site(
    out: Path,
    models: Mapping[str, Path],
    pictures: Mapping[str, str],
    detector: str,
    labels: Path | None,
    compile_page: Path | None,
    samples: Path | None,
    options: tuple[str, ...],
    *,
    force: bool,
) -> None:
    """Writes the folder, all or nothing. Raises InputError."""
    check_free(out, SITE, force=force)
    if compile_page is not None and not (compile_page / "compiler.js").is_file():
        raise InputError(f"--compile-page {compile_page}: webnn-compile-page has not written this folder")
    if without := set(pictures) - set(models):
        raise InputError(f"--picture {without.pop()}=...: there is no model for it; give --model, too")
    if "enlarge" in pictures:
        raise InputError("--picture enlarge=...: the page makes the input of this model itself; leave it out")
    if labels is not None and "classify" not in models:
        raise InputError("--labels names the classes of --model classify=FILE.onnx: give that, too")
    photographs = sample_files(samples) if samples else []
    inputs = {purpose: picture_input(model, purpose) for purpose, model in models.items()}
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        tuned = ("--records", str(DIGITS / "records.jsonl"), "--for-device", "on Linux")
        backends = compile_model(READER, work / "bundle", *tuned, *options)
        compared = [{"title": "Digits", "folder": "bundle", "backends": backends}]
        files = list(files_below(work / "bundle", "bundle"))
        files += writer_files(work / "writer", options)
        links = {"index.html": "Digits", "writer.html": "Write on"}
        for purpose, usual in PURPOSES.items():
            if purpose not in models:
                continue
            name, shape = inputs[purpose]
            chosen = ["--shape", f"{name}={shape}", *options]
            if picture := pictures.get(purpose, usual.picture):
                chosen += ["--picture", f"{name}={picture}"]
            if usual.answer:
                chosen += ["--answer", f"detect={detector}" if purpose == "faces" else usual.answer]
            if labels is not None and purpose == "classify":
                chosen += ["--labels", str(labels)]
            made = compile_model(models[purpose], work / purpose, *chosen)
            compared.append({"title": usual.link, "folder": f"models/{purpose}", "backends": made})
            files += files_below(work / purpose, f"models/{purpose}")
            links[usual.page] = usual.link
    searches = []
    for told, race in tell_searches(READER, DIGITS / "search.jsonl", backends):
        searches.append(told)
        files += [replace(file, name=f"{told['folder']}/{file.name}") for file in race]
    files.append(BundleFile("tuning.json", json.dumps(searches).encode(), "page"))
    links |= {"backends.html": "Backends", "tuning.html": "Tuning"}
    if compile_page is not None:
        files += files_below(compile_page, "compile")
        links["compile/"] = "Compile a model"
    files += [*photographs, *page_files(links)]
    names = [file.name for file in photographs]
    listed = {"models": compared, "samples": names, "files": [file.name for file in files]}
    write_folder([*files, BundleFile(MADE, json.dumps(listed).encode(), "page")], out, SITE, force=force)


def by_purpose(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for value in values:
        purpose, equals, given = value.partition("=")
        if purpose not in PURPOSES or not equals or not given:
            raise click.BadParameter(f"{value!r}: give PURPOSE=VALUE with a purpose of {', '.join(PURPOSES)}")
        if purpose in found:
            raise click.BadParameter(f"{purpose} is given twice")
        found[purpose] = given
    return found


FILE = click.Path(path_type=Path)


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--out", type=FILE, required=True, help="The folder to write.")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="PURPOSE=FILE.onnx",
    callback=by_purpose,
    help="classify: photographs into classes. faces: boxes of faces. enlarge: super-resolution of brightness, or of "
    "colours, from 0 to 1.",
)
@click.option(
    "--picture",
    "pictures",
    multiple=True,
    metavar="PURPOSE=FORMAT",
    callback=by_purpose,
    help="How a model takes its pixels, as webnn-compile --picture; by default classify=imagenet and faces=ultraface.",
)
@click.option("--detector", default="ultraface", metavar="FAMILY", help="As webnn-compile --answer detect=FAMILY.")
@click.option("--labels", type=FILE, help="Names of the classes of classify, as of webnn-compile.")
@click.option("--targets", metavar="LIST", help="As of webnn-compile.")
@click.option("--compile-page", type=FILE, metavar="FOLDER", help="Have what webnn-compile-page wrote there, too.")
@click.option("--samples", type=FILE, metavar="FOLDER", help="Pictures to choose from, for visitors without one.")
@click.option("--force", is_flag=True, help="Replace a site that is already there.")
def main(
    out: Path,
    models: dict[str, str],
    pictures: dict[str, str],
    detector: str,
    labels: Path | None,
    targets: str | None,
    compile_page: Path | None,
    samples: Path | None,
    force: bool,
) -> None:
    """Build a folder of static pages that any web server can host."""
    with explained(interrupted="interrupted; nothing was written"):
        paths = {purpose: Path(file) for purpose, file in models.items()}
        options = ("--targets", targets) if targets else ()
        build_site(out, paths, pictures, detector, labels, compile_page, samples, options, force=force)
        click.echo(f"{out}: try it with webnn-serve {out}")


if __name__ == "__main__":
    main()
