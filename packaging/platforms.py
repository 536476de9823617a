#!/usr/bin/env python3
"""Read packaging/platforms.json.

    packaging/platforms.py shell [NAME]   assignments for a shell: PLATFORM, target, glibc, wheel, library.
                                          Without a NAME or with an empty one: of this machine. `wasm32` is a
                                          platform too, without packages.
    packaging/platforms.py matrix         the matrix of .github/workflows/release.yml, as JSON
    packaging/platforms.py sqlpkg         the file of the package manager sqlpkg, for its archives in the current folder
    packaging/platforms.py check          compares deny.toml: it must name the targets of all platforms

A platform has the names that npm gives to its system, processor and C library (`os`, `cpu`, `libc`), the file name of
the library, the target of rustc, the oldest glibc, the tag of the wheel, and the runner and the tests of its release.
Needs Python 3.11.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shlex
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLATFORMS: dict[str, dict[str, str]] = json.loads((ROOT / "packaging/platforms.json").read_text(encoding="utf-8"))


def this_machine() -> str:
    """Return the name of this machine's platform, if there is one."""
    cpu = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine().lower(), platform.machine())
    musl = "-musl" if sys.platform == "linux" and platform.libc_ver()[0] != "glibc" else ""
    return f"{sys.platform}-{cpu}{musl}"


def shell(name: str = "") -> str:
    """Return assignments for a shell."""
    name = name or this_machine()
    platforms = {**PLATFORMS, "wasm32": {"target": "wasm32-wasip1"}}
    if name not in platforms:
        sys.exit(f"unknown platform '{name}'; packaging/platforms.json has {', '.join(platforms)}")
    fields = ("target", "glibc", "wheel", "library")
    values = {"PLATFORM": name, **{field: platforms[name].get(field, "") for field in fields}}
    return "\n".join(f"{key}={shlex.quote(value)}" for key, value in values.items())


def matrix() -> str:
    """Return the matrix of the release workflow."""
    fields = ("target", "runner", "test")
    rows = [{"platform": name, **{field: row[field] for field in fields}} for name, row in PLATFORMS.items()]
    return json.dumps({"include": rows})


def sqlpkg() -> str:
    """Return the package of sqlpkg. It names systems and processors as Go does, and knows no musl."""
    crate = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["package"]
    files, checksums = {}, {}
    for name, row in PLATFORMS.items():
        archive = Path(f"sqlpkg-{name}-{crate['version']}.zip")
        if row.get("libc") != "musl" and archive.exists():
            system, cpu = row["os"].replace("win32", "windows"), row["cpu"].replace("x64", "amd64")
            files[f"{system}-{cpu}"] = archive.name
            checksums[archive.name] = f"sha256-{hashlib.sha256(archive.read_bytes()).hexdigest()}"
    package = {
        "owner": crate["repository"].split("/")[-2],
        "name": crate["name"],
        **{field: crate[field] for field in ("version", "repository", "license", "description", "keywords")},
        "assets": {"path": "{repository}/releases/download/v{version}", "files": files, "checksums": checksums},
    }
    return json.dumps(package, indent=2)


def check() -> str:
    """Compare the targets in deny.toml, whose format allows no reading of other files."""
    wanted = sorted(row["target"] for row in PLATFORMS.values())
    found = tomllib.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))["graph"]["targets"]
    if sorted(found) != wanted:
        sys.exit(f"deny.toml: the targets are {sorted(found)}; packaging/platforms.json has {wanted}")
    return "deny.toml has the targets of all platforms"


if __name__ == "__main__":
    # A shell on Windows keeps `\r`.
    sys.stdout.reconfigure(newline="\n")
    command, *arguments = sys.argv[1:]
    print({"shell": shell, "matrix": matrix, "sqlpkg": sqlpkg, "check": check}[command](*arguments))
