#!/usr/bin/env python3
"""Make the wheels: the package with a built library, and the plugins.

    python/build.py --library target/release/libsqlite_ltr.so --platform manylinux_2_28_x86_64 \
        --notices target/packages/notices --out target/packages

The wheel of `sqlite-ltr` is for one platform and every Python 3, and has at most 2.5 MB. The wheels of
`python/plugins/` are pure Python.
Needs Python 3.11 with pip; pip gets the build backend (hatchling) from PyPI. Prints the path of each wheel.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

PYTHON = Path(__file__).resolve().parent
LICENSES = ("LICENSE-APACHE", "LICENSE-MIT")
# Where the library is.
NOTICES = (*LICENSES, "THIRD-PARTY-LICENSES", "sbom.cdx.json")
LARGEST_WHEEL = 2_500_000
# SQLite finds the entry point by the name of the file, so the name is fixed.
LIBRARIES = {".so": "libsqlite_ltr.so", ".dylib": "libsqlite_ltr.dylib", ".dll": "sqlite_ltr.dll"}


def crate() -> dict[str, Any]:
    """Return the section of Cargo.toml with the version and, once there is one, the address of the repository."""
    with (PYTHON.parent / "Cargo.toml").open("rb") as file:
        package: dict[str, Any] = tomllib.load(file)["package"]
        return package


def copy_project(project: Path, notices: list[Path], repository: str | None, to: Path) -> None:
    """Copy a Python project and the notices to an empty folder, so that no build writes into the sources."""
    shutil.copytree(project, to, ignore=shutil.ignore_patterns("plugins", "tests", "__pycache__", ".*"))
    for notice in notices:
        shutil.copy(notice, to)
    if repository is not None:
        with (to / "pyproject.toml").open("a") as file:
            file.write(f'\n[project.urls]\nRepository = "{repository}"\n')


def compress(wheel: Path, out: Path) -> Path:
    """Copy a wheel to the folder `out`, with the strongest compression of zlib."""
    path = out / wheel.name
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as target:
        for entry in source.infolist():
            target.writestr(entry, source.read(entry), zipfile.ZIP_DEFLATED, compresslevel=9)
    size = path.stat().st_size
    if size > LARGEST_WHEEL:
        raise SystemExit(f"{path}: {size} bytes are more than {LARGEST_WHEEL}")
    return path


def make(project: Path, platform: str, out: Path) -> Path:
    """Make the wheel of a folder that has all its files."""
    environment = {**os.environ, "SQLITE_LTR_VERSION": crate()["version"], "SQLITE_LTR_PLATFORM": platform}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, str(project)]
        subprocess.run(command, env=environment, check=True)
        (wheel,) = Path(folder).glob("*.whl")
        return compress(wheel, out)


def main() -> None:
    """Make all wheels."""
    parser = argparse.ArgumentParser(description="Makes the wheels of sqlite-ltr and of its plugins.")
    parser.add_argument("--library", type=Path, required=True, help="built library: .so, .dylib or .dll")
    parser.add_argument("--platform", required=True, help="platform of the wheel, such as manylinux_2_28_x86_64")
    parser.add_argument("--notices", type=Path, required=True, help=f"folder with {', '.join(NOTICES)}")
    parser.add_argument("--out", type=Path, required=True, help="folder for the wheels")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    repository = crate().get("repository")
    with tempfile.TemporaryDirectory() as temporary:
        package = Path(temporary) / "sqlite-ltr"
        copy_project(PYTHON, [arguments.notices / name for name in NOTICES], repository, package)
        shutil.copy(arguments.library, package / "sqlite_ltr" / LIBRARIES[arguments.library.suffix])
        print(make(package, arguments.platform, arguments.out))
        for plugin in sorted(path.parent for path in PYTHON.glob("plugins/*/pyproject.toml")):
            copy = Path(temporary) / plugin.name
            copy_project(plugin, [arguments.notices / name for name in LICENSES], repository, copy)
            print(make(copy, "any", arguments.out))


if __name__ == "__main__":
    main()
