"""The loadable library under other versions of SQLite, in the system's Python, whose library of SQLite is replaced.

versions.py LIBRARY [VERSION...]    prints a table of versions and tests; fails if a test does

SQLite's source comes with packages of npm. It is compiled once, into target/versions/.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[2]
# Versions of SQLite, and of better-sqlite3, which bundles it. From 3.49 on older trigram tokenizers are harmless.
PACKAGES = {
    "3.38.2": "7.5.1",
    "3.40.0": "8.0.1",
    "3.42.0": "8.4.0",
    "3.44.2": "9.2.2",
    "3.46.1": "11.3.0",
    "3.49.1": "11.9.1",
    "3.54.1": "13.2.0",
}
TESTS = {"slt": "slt.py", "fts": "fts.py", "views": "views.py", "sessions": "python.py"}
PYTHON = "/usr/bin/python3"
FLAGS = "-O1 -shared -fPIC -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_COLUMN_METADATA -DSQLITE_THREADSAFE=1 -Wl,-soname,libsqlite3.so.0"


def compile_sqlite(version):
    """The folder of the library of this version."""
    folder = ROOT / "target" / "versions" / version
    library = folder / "libsqlite3.so.0"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as temporary:
            package = f"better-sqlite3@{PACKAGES[version]}"
            subprocess.run(["npm", "pack", "--silent", package], cwd=temporary, check=True, stdout=subprocess.DEVNULL)
            (archive,) = pathlib.Path(temporary).glob("*.tgz")
            subprocess.run(["tar", "-xzf", archive.name, "package/deps/sqlite3"], cwd=temporary, check=True)
            source = f"{temporary}/package/deps/sqlite3/sqlite3.c"
            made = folder / "making"
            subprocess.run(["cc", *FLAGS.split(), "-o", made, source, "-ldl", "-lm", "-lpthread"], check=True)
            made.rename(library)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder)}
    command = [PYTHON, "-c", "import sqlite3; print(sqlite3.sqlite_version)"]
    found = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.strip()
    assert found == version, f"Python has SQLite {found}, not {version}: its module sqlite3 must use the shared library"
    return environment


def main():
    library, versions = os.path.abspath(sys.argv[1]), sys.argv[2:] or list(PACKAGES)
    table, failed = [["SQLite", *TESTS]], []
    for version in versions:
        environment, row = compile_sqlite(version), [version]
        for name, script in TESTS.items():
            began = time.monotonic()
            command = [PYTHON, str(ROOT / "tests" / "hosts" / script), library]
            outcome = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
            if outcome.returncode:
                failed.append(f"{version} {name}: exit {outcome.returncode}\n{outcome.stdout}{outcome.stderr[-3000:]}")
            row.append(f"{'FAILED' if outcome.returncode else 'passed'} {time.monotonic() - began:.0f} s")
            print(f"{version} {name}: {row[-1]}: {outcome.stdout.strip().splitlines()[-1:]}", flush=True)
        table.append(row)
    print()
    for row in table:
        print("".join(f"{cell:16}" for cell in row))
    print("\n".join(["", *failed]))
    sys.exit(bool(failed))


main()
