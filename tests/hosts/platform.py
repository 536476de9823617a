#!/usr/bin/env python3
"""Run the sessions and compare the bits on another platform, whose program is tests/hosts/host.c.

    tests/hosts/platform.py COMMAND...            the command with the library, such as `qemu-aarch64-static host ./libsqlite_ltr.so`
    tests/hosts/platform.py --static COMMAND...   of a host that contains the library

1. tests/hosts/session.sql: each statement gives the row or message of the file.
2. The first example of README.md prints what the page says.
3. tests/hosts/bits.sql: models and scores have the hashes of tests/data/bits.txt.

Needs Python 3.9. Run it in the root of the project.
"""

import re
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path


def run(command, mode, sql):
    """Return the lines that a host prints."""
    process = subprocess.run([*command, *mode], input=sql.encode(), stdout=subprocess.PIPE, check=False)
    return process.stdout.decode().replace("\r", "").splitlines()


def session():
    """Return statements of the session, with what each gives."""
    steps = []
    for line in Path("tests/hosts/session.sql").read_text(encoding="utf-8").splitlines():
        if line.startswith("--> "):
            steps[-1][1] = line[4:]
        elif line.startswith("--! "):
            steps[-1][1] = "error: " + line[4:]
        elif line and not line.startswith("--"):
            steps.append([line, ""])
    return steps


def readme():
    """Return the statements of the first example, and the rows that the page shows."""
    blocks = re.findall(r"```(sql|text)\n(.*?)```", Path("README.md").read_text(encoding="utf-8"), re.DOTALL)
    first = [kind for kind, _ in blocks].index("sql")
    data = Path("sql/text.sql").read_text(encoding="utf-8")
    shown = blocks[first + 1][1].splitlines()
    rules = [bool(row) and not row.strip(" -") for row in [*shown, ""]]
    # Without headers and the rules below them.
    rows = [row for at, row in enumerate(shown) if not rules[at] and not rules[at + 1]]
    return data + blocks[first][1], ["|".join(re.split(" {2,}", row.strip())) for row in rows]


def compare(what, found, wanted):
    """Print what differs; return the number of differences."""
    pairs = list(zip_longest(found, wanted, fillvalue="(nothing)"))
    different = [pair for pair in pairs if pair[0] != pair[1]]
    for pair in different[:20]:
        print(f"{what}: found {pair[0]}\n  expected {pair[1]}")
    print(f"{what}: {len(pairs) - len(different)} of {len(pairs)} as expected", flush=True)
    return len(different)


def main(command):
    """Compare everything."""
    steps = session()
    if command[0] == "--static":
        command = command[1:]
        steps = [[sql, row.replace("1|loadable", "1|static")] for sql, row in steps]
    found = run(command, [], "\n".join(sql for sql, _ in steps) + "\n")
    print("SQLite", found[0] if found else "prints nothing")
    differences = compare("session", found[1:], [wanted for _, wanted in steps])
    sql, rows = readme()
    differences += compare("README", run(command, ["shell"], sql), rows)
    wanted = Path("tests/data/bits.txt").read_text(encoding="utf-8").splitlines()
    bits = Path("tests/hosts/bits.sql").read_text(encoding="utf-8")
    differences += compare("models and scores", run(command, ["bits"], bits), wanted)
    return differences > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
