#!/usr/bin/env python3
"""Write the notices of a library: our licenses, the licenses of what is linked into it, and an SBOM.

    packaging/notices.py --target x86_64-unknown-linux-gnu --out target/packages/notices [--zig FOLDER]

Writes LICENSE-APACHE, LICENSE-MIT, THIRD-PARTY-LICENSES and sbom.cdx.json (CycloneDX 1.6). The crates are those that
`cargo tree` finds for the library: no macros, build scripts or tests. `--zig` is the folder of the package ziglang, if
zig is the linker: it adds LLVM's libunwind, and on Windows MinGW. Needs Python 3.11 and cargo. Equal inputs give equal files.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import shutil
import subprocess
import tomllib
import uuid
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FEATURES = ("--features", "loadable", "--locked")
LICENSE_FILE = re.compile(r"(LICEN[CS]E|COPYING|NOTICE|UNLICENSE)([-.].*)?", re.IGNORECASE)
INTRODUCTION = """\
The library of sqlite-ltr contains the software listed here. sqlite-ltr itself: LICENSE-MIT and LICENSE-APACHE.
Each text of a license follows once, below the names of what it covers.
"""


@dataclass
class Part:
    """Software that is linked into the library, most often a crate."""

    name: str
    version: str
    license: str
    description: str
    folder: Path
    checksum: str | None = None
    kind: str = "cargo"
    dependencies: set[str] = field(default_factory=set)

    @property
    def key(self) -> str:
        """Return the name and version, as `cargo tree` prints them."""
        return f"{self.name} v{self.version}"

    @property
    def purl(self) -> str:
        """Return the package URL."""
        return f"pkg:{self.kind}/{self.name}@{self.version}"


def output(*command: str) -> str:
    """Return what a command prints, run in the folder of the project."""
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def crates(target: str) -> list[Part]:
    """Return the crates linked into the library, sqlite-ltr first."""
    # 1. Everything that cargo knows about all packages.
    metadata = json.loads(output("cargo", "metadata", "--format-version=1", *FEATURES))
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    checksums = {f"{one['name']} v{one['version']}": one.get("checksum") for one in lock["package"]}
    known = {
        f"{one['name']} v{one['version']}": Part(
            name=one["name"],
            version=one["version"],
            # The old form of an expression has a slash.
            license=(one["license"] or "").replace("/", " OR "),
            description=(one["description"] or "").strip(),
            folder=Path(one["manifest_path"]).parent,
            checksum=checksums[f"{one['name']} v{one['version']}"],
        )
        for one in metadata["packages"]
    }
    # 2. The tree of what is linked: a line is the depth, the name and the version.
    tree = output(
        "cargo",
        "tree",
        "--edges=normal,no-proc-macro",
        f"--target={target}",
        "--prefix=depth",
        "--no-dedupe",
        *FEATURES,
    )
    linked: dict[str, Part] = {}
    path: list[Part] = []
    for depth, key in re.findall(r"^(\d+)(\S+ v\S+)", tree, re.MULTILINE):
        crate = linked.setdefault(key, known[key])
        del path[int(depth) :]
        if path:
            path[-1].dependencies.add(crate.purl)
        path.append(crate)
    own, *others = linked.values()
    return [own, *sorted(others, key=lambda part: part.key)]


def normalize(text: str) -> str:
    """Return a text without differences of line ends and trailing spaces."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def standard_library() -> Part:
    """Return the Rust standard library; its notices come with rustc."""
    version = output("rustc", "--version").split()[1]
    folder = Path(output("rustc", "--print", "sysroot").strip()) / "share/doc/rust"
    return Part("rust-std", version, "MIT OR Apache-2.0", "The Rust standard library", folder, kind="generic")


def linked_by_zig(zig: Path, target: str) -> list[Part]:
    """Return what zig links: a library in place of the system's libgcc_s, and on Windows the start of a library."""
    version = re.search(r"clang version ([\d.]+)", output(str(zig / "zig"), "cc", "--version"))
    assert version is not None
    about, terms = "Unwinds the stack after a panic", "Apache-2.0 WITH LLVM-exception"
    parts = [Part("llvm-libunwind", version[1], terms, about, zig / "lib/libunwind", kind="generic")]
    if "-windows-" in target:
        header = (zig / "lib/libc/include/any-windows-any/_mingw_mac.h").read_text(encoding="utf-8")
        numbers = re.findall(r"__MINGW64_VERSION_(?:MAJOR|MINOR|BUGFIX)\s+(\d+)", header)
        about = "Starts programs and libraries of Windows"
        parts.append(Part("mingw-w64", ".".join(numbers), "ZPL-2.1", about, zig / "lib/libc/mingw", kind="generic"))
    return parts


def license_texts(part: Part) -> list[tuple[str, str]]:
    """Return the license texts of a part, each with the name of what it covers."""
    # 1. The standard library has one page, with the licenses of the crates that are in it.
    page = part.folder / "COPYRIGHT-library.html"
    if page.exists():
        sections = re.findall(r"<h3>\W*(\S+)</h3>(.*?)(?=<h3>|\Z)", page.read_text(encoding="utf-8"), re.DOTALL)
        texts = [
            (f"{name} ({part.key})", html.unescape(text))
            for name, section in sections
            for text in re.findall(r"<pre>(.*?)</pre>", section, re.DOTALL)
        ]
    # 2. All others have files.
    else:
        files = sorted(path for path in part.folder.iterdir() if path.is_file() and LICENSE_FILE.fullmatch(path.name))
        texts = [(part.key, path.read_text(encoding="utf-8")) for path in files]
    if not texts:
        raise SystemExit(f"{part.key} has no license file in {part.folder}")
    return texts


def third_party(parts: list[Part]) -> str:
    """Return the content of THIRD-PARTY-LICENSES."""
    covers: dict[str, list[str]] = defaultdict(list)
    for part in parts:
        for name, text in license_texts(part):
            names = covers[normalize(text)]
            if name not in names:
                names.append(name)
    width = max(len(part.key) for part in parts)
    table = "\n".join(f"{part.key:{width}}  {part.license}" for part in parts)
    chapters = ["\n".join(names) + "\n" + "-" * 80 + "\n" + text for text, names in covers.items()]
    rule = "\n\n" + "=" * 80 + "\n"
    return rule.join([INTRODUCTION + "\n" + table, *chapters]) + "\n"


def component(part: Part) -> dict[str, object]:
    """Return a part as a component of CycloneDX."""
    value: dict[str, object] = {
        "type": "library",
        "bom-ref": part.purl,
        "name": part.name,
        "version": part.version,
        "description": part.description,
        "scope": "required",
        "licenses": [{"expression": part.license}],
        "purl": part.purl,
    }
    if part.checksum:
        value["hashes"] = [{"alg": "SHA-256", "content": part.checksum}]
    return value


def sbom(own: Part, parts: list[Part], target: str) -> dict[str, object]:
    """Return the bill of materials. It has no date, so that equal sources give an equal file."""
    components = [component(part) for part in parts]
    content = json.dumps([own.purl, target, components], sort_keys=True)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}",
        "version": 1,
        "metadata": {
            "component": component(own),
            "properties": [{"name": "sqlite-ltr:target", "value": target}],
        },
        "components": components,
        "dependencies": [{"ref": part.purl, "dependsOn": sorted(part.dependencies)} for part in [own, *parts]],
    }


def write(path: Path, text: str) -> None:
    """Write a text file, the same on every system."""
    path.write_text(text, encoding="utf-8", newline="\n")


def main() -> None:
    """Write all files."""
    parser = argparse.ArgumentParser(description="Writes licenses and an SBOM of the library.")
    parser.add_argument("--target", required=True, help="target of rustc, such as x86_64-unknown-linux-gnu")
    parser.add_argument("--out", type=Path, required=True, help="folder for the files")
    parser.add_argument("--zig", type=Path, help="folder of the package ziglang, if zig is the linker")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    # 1. Our licenses.
    for name in ("LICENSE-APACHE", "LICENSE-MIT"):
        shutil.copy(ROOT / name, arguments.out / name)
    # 2. Everything else that is linked: crates, and what the compiler and the linker add.
    own, *parts = crates(arguments.target)
    added = [standard_library()] + (linked_by_zig(arguments.zig, arguments.target) if arguments.zig else [])
    own.dependencies |= {part.purl for part in added}
    parts += added
    write(arguments.out / "THIRD-PARTY-LICENSES", third_party(parts))
    bill = json.dumps(sbom(own, parts, arguments.target), indent=2, ensure_ascii=False)
    write(arguments.out / "sbom.cdx.json", bill + "\n")


if __name__ == "__main__":
    main()
