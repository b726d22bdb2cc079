"""python -m release --out dist: packages whose bytes follow from a commit and the versions of setuptools and npm alone.

They are built from a copy of the files that git tracks, with fixed modes, umask, locale, time zone and dates, so that
neither the folder, nor the user, nor the time of a build, nor what earlier builds left behind is in them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .bill_of_materials import write_bill

ROOT = Path(__file__).resolve().parent.parent
COPIED = {"tokenizers": "dist/tokenizers.min.mjs", "jinja": "dist/index.js"}
"""The packages of npm that the wheel has copies of, which bundles with text need, and their scripts."""
PLUGIN = "examples/vite-plugin-webnn-compile"
MODE, EXECUTABLE, UMASK = 0o644, 0o755, 0o022


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m release", description="Builds the packages that are published.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="The folder for them.")
    out = parser.parse_args().out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    if changed := call(["git", "status", "--porcelain", "--untracked-files=no"]):
        print(f"these packages are of no commit, since tracked files have changes:\n{changed}", file=sys.stderr, end="")
    epoch = commit_time()
    with tempfile.TemporaryDirectory() as folder:
        source, built = Path(folder) / "source", Path(folder) / "built"
        built.mkdir()
        copy_sources(source)
        build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(built)]
        run(build, source, epoch)
        run(["npm", "pack", "--silent", "--pack-destination", str(built)], source / PLUGIN, epoch)
        (wheel,) = built.glob("*.whl")
        write_bill(wheel, source, epoch)
        for file in sorted(built.iterdir()):
            file.chmod(MODE)
            shutil.move(file, out / file.name)
            print(out / file.name)


def commit_time() -> int:
    """Seconds since 1970: SOURCE_DATE_EPOCH where it is set, else the date of the commit that is checked out."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    return int(given or call(["git", "log", "-1", "--format=%ct"]))


def copy_sources(to: Path) -> None:
    """Copies what git tracks, as it stands in the working tree, and the packages of COPIED below compiler/."""
    names = call(["git", "ls-files", "-z"]).split("\0")
    files = {ROOT / name: to / name for name in names if name and (ROOT / name).is_file()}
    for package, script in COPIED.items():
        folder = ROOT / "node_modules" / "@huggingface" / package
        parts = ("LICENSE", "package.json", script)
        files |= {folder / name: to / "compiler" / f"{package}_js" / name for name in parts}
    for source, copy in files.items():
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
        copy.chmod(EXECUTABLE if source.stat().st_mode & 0o100 else MODE)


def run(command: Sequence[str], folder: Path, epoch: int) -> None:
    """Runs a program that makes a package, with its output where it fails. Raises SystemExit then."""
    fixed = {"SOURCE_DATE_EPOCH": str(epoch), "LC_ALL": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        command, cwd=folder, env=os.environ | fixed, umask=UMASK, capture_output=True, text=True, encoding="utf-8"
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


def call(command: Sequence[str]) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, encoding="utf-8").stdout


if __name__ == "__main__":
    main()
