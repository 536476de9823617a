#!/usr/bin/env python3
"""Make the wheels: the package with a built library, and the plugins. Make the source distribution of the package.

    python/build.py --library target/loadable/libsqlite_ltr.so --platform linux-x64 --version "$(packaging/version)" \
        --notices target/packages/notices --out target/packages

Platforms: packaging/platforms.json.

The wheel of `sqlite-ltr` is for one platform and every Python 3, and has at most 4.26 MB on Linux x86-64. The wheels of
`python/plugins/` are pure Python. The source distribution has the crate; pip compiles it where no wheel fits.
Needs Rust, and Python 3.11 with pip and build, which get the build backend (hatchling) from PyPI. Prints the path of
each file.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PYTHON = Path(__file__).resolve().parent
ROOT = PYTHON.parent
LICENSES = ("LICENSE-APACHE", "LICENSE-MIT")
# Where the library is.
NOTICES = (*LICENSES, "THIRD-PARTY-LICENSES", "sbom.cdx.json")
LARGEST_WHEEL = 4_379_000
PLATFORMS = json.loads((ROOT / "packaging/platforms.json").read_text(encoding="utf-8"))


def copy_project(project: Path, notices: list[Path], repository: str, to: Path) -> None:
    """Copy a Python project and the notices to an empty folder, so that no build writes into the sources."""
    shutil.copytree(project, to, ignore=shutil.ignore_patterns("plugins", "tests", "__pycache__", ".*"))
    for notice in notices:
        shutil.copy(notice, to)
    if repository:
        files = f"{repository}/blob/main"
        urls = {
            "Repository": repository,
            "Documentation": f"{files}/docs/guide/python.md",
            "Changelog": f"{files}/CHANGELOG.md",
            "Issues": f"{repository}/issues",
        }
        with (to / "pyproject.toml").open("a") as file:
            file.write("\n[project.urls]\n" + "".join(f'{name} = "{address}"\n' for name, address in urls.items()))


def compress(wheel: Path, out: Path) -> Path:
    """Copy a wheel to the folder `out`, with the strongest compression of zlib."""
    path = out / wheel.name
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as target:
        for entry in source.infolist():
            target.writestr(entry, source.read(entry), zipfile.ZIP_DEFLATED, compresslevel=9)
    size = path.stat().st_size
    if size > LARGEST_WHEEL and wheel.name.endswith("linux_2_28_x86_64.whl"):
        raise SystemExit(f"{path}: {size} bytes are more than {LARGEST_WHEEL}")
    return path


def make(project: Path, tag: str, version: str, out: Path) -> Path:
    """Make the wheel of a folder that has all its files. The tag names the platform, such as `any`."""
    environment = {**os.environ, "SQLITE_LTR_VERSION": version, "SQLITE_LTR_PLATFORM": tag}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, str(project)]
        subprocess.run(command, env=environment, check=True)
        (wheel,) = Path(folder).glob("*.whl")
        return compress(wheel, out)


def make_source(project: Path, version: str, out: Path) -> Path:
    """Make the source distribution of a folder that has all its files but the crate."""
    with tempfile.TemporaryDirectory() as folder:
        crate = ["cargo", "package", "--quiet", "--no-verify", "--allow-dirty", "--locked", "--target-dir", folder]
        subprocess.run(crate, cwd=ROOT, check=True)
        shutil.unpack_archive(next(Path(folder).glob("package/*.crate")), folder, "gztar")
        shutil.move(Path(folder) / f"sqlite-ltr-{version}", project / "rust")
        shutil.copytree(ROOT / ".cargo", project / "rust" / ".cargo")
        environment = {**os.environ, "SQLITE_LTR_VERSION": version}
        command = [sys.executable, "-m", "build", "--sdist", "--outdir", folder, str(project)]
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
        return Path(shutil.copy(next(Path(folder).glob("*.tar.gz")), out))


def main() -> None:
    """Make all packages."""
    parser = argparse.ArgumentParser(description="Makes the wheels of sqlite-ltr and of its plugins.")
    parser.add_argument("--library", type=Path, required=True, help="built library: .so, .dylib or .dll")
    parser.add_argument("--platform", required=True, choices=PLATFORMS, help="platform of the library")
    parser.add_argument("--version", required=True, help="version of the packages, as packaging/version prints it")
    parser.add_argument("--repository", default="", help="address of the repository, for the metadata")
    parser.add_argument("--notices", type=Path, required=True, help=f"folder with {', '.join(NOTICES)}")
    parser.add_argument("--out", type=Path, required=True, help="folder for the wheels")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    platform, repository = PLATFORMS[arguments.platform], arguments.repository
    with tempfile.TemporaryDirectory() as temporary:
        package = Path(temporary) / "sqlite-ltr"
        copy_project(PYTHON, [arguments.notices / name for name in NOTICES], repository, package)
        print(make_source(package, arguments.version, arguments.out))
        shutil.copy(arguments.library, package / "sqlite_ltr" / platform["library"])
        print(make(package, platform["wheel"], arguments.version, arguments.out))
        for plugin in sorted(path.parent for path in PYTHON.glob("plugins/*/pyproject.toml")):
            copy = Path(temporary) / plugin.name
            copy_project(plugin, [arguments.notices / name for name in LICENSES], repository, copy)
            print(make(copy, "any", arguments.version, arguments.out))


if __name__ == "__main__":
    main()
