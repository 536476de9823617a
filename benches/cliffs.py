#!/usr/bin/env python3
"""How the CPU time of a training grows: every algorithm with its defaults, along each axis of the data.

    benches/cliffs.py LIBRARY [ALGORITHM...]

A line is an algorithm and an axis: seconds of one thread at each size, and between neighboring sizes the exponent of growth.
A line ends at the first size that takes more than LIMIT seconds, or is stopped after MOST; an exponent above STEEP is marked with !, a time that falls
by half or more with ?. Sizes below FAST seconds have no exponent. Each training runs in a process of its own.
"""

import json
import math
import os
import random
import resource
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

LIMIT = 10
MOST = 60
STEEP = 1.3
FAST = 0.05
ROWS = [1_000, 4_000, 16_000, 64_000, 256_000, 1_000_000]
# Sizes of each axis; the rest stays at the values of SHAPE.
AXES = {
    "rows": ROWS,
    "list": [10, 40, 160, 640, 2_560, 10_240, 40_960],
    "columns": [4, 16, 64, 256, 1_024],
    "categories": [4, 16, 64, 256, 1_024, 4_096],
    "queries features": [1, 2, 4, 8, 16],
    "ties": [2, 4, 16, 64, 1_024],
    "missing": [1, 2, 10, 50, 90],
    "grades": [2, 5, 25, 125, 1_000],
}
SHAPE = {"rows": 4_000, "list": 20, "columns": 10}


def shape(axis, size):
    """Rows, documents of a list, columns."""
    rows, length, columns = SHAPE["rows"], SHAPE["list"], SHAPE["columns"]
    if axis == "rows":
        rows = size
    elif axis == "list":
        # Two lists.
        rows, length = 2 * size, size
    elif axis == "columns":
        columns = size
    return rows, length, columns


def documents(axis, size):
    """Rows of query_id, doc_id, relevance and what else the axis has."""
    rows, length, columns = shape(axis, size)
    draw = random.Random(f"{axis} {size}")
    levels = size if axis == "ties" else 0
    missing = size / 100 if axis == "missing" else 0
    grades = size if axis == "grades" else 4
    for row in range(rows):
        query, document = divmod(row, length)
        values = [draw.random() for _ in range(columns)]
        # The grade depends on three features, on the query, and on noise.
        value = values[0] + values[1] * (query % 2) + values[2] ** 2 + draw.gauss(0, 0.2)
        grade = max(0, min(grades - 1, int(value / 3 * grades)))
        if levels:
            values = [int(value * levels) / levels for value in values]
        values = [math.nan if missing and draw.random() < missing else value for value in values]
        extra = []
        if axis == "categories":
            extra = [f"c{draw.randrange(size)}"]
        elif axis == "queries features":
            pattern = random.Random(query)
            extra = [pattern.random() for _ in range(size)]
        yield (query, document, grade, struct.pack(f"<{columns}f", *values), *extra)


def write(axis, size, file):
    db = sqlite3.connect(file)
    extra = {"categories": 1, "queries features": size}.get(axis, 0)
    names = ["query_id", "doc_id", "relevance", "features", *(f"e{number}" for number in range(extra))]
    db.execute(f"CREATE TABLE judgments ({', '.join(names)})")
    db.executemany(f"INSERT INTO judgments VALUES ({', '.join('?' * len(names))})", documents(axis, size))
    db.commit()


def options(axis, size):
    found = {"threads": 1}
    if axis == "missing":
        found["missing"] = "mean"
    if axis == "queries features":
        found["columns"] = {"query_features": [f"e{number}" for number in range(size)]}
    return json.dumps(found)


def seconds(library, algorithm, axis, size, file):
    """Of one training; None above LIMIT, and for data that the algorithm does not take."""
    arguments = [sys.executable, __file__, "--one", library, algorithm, axis, str(size), file]
    run = subprocess.run(arguments, capture_output=True, text=True)
    if run.returncode < 0:
        return None, f"more than {MOST} s"
    if run.returncode:
        return None, run.stderr.strip().splitlines()[-1]
    return float(run.stdout), ""


def one(library, algorithm, axis, size, file):
    resource.setrlimit(resource.RLIMIT_CPU, (MOST, MOST))
    db = sqlite3.connect(file)
    db.enable_load_extension(True)
    db.load_extension(library)
    started = time.process_time()
    db.execute("SELECT length(ltr_fit(?, 'judgments', ?))", (algorithm, options(axis, int(size)))).fetchone()
    print(time.process_time() - started)


def line(library, algorithm, axis, files):
    cells, last = [], None
    for size in AXES[axis]:
        took, refused = seconds(library, algorithm, axis, size, files[axis, size])
        if took is None:
            cells.append(f"{size}: {refused[:120]}")
            break
        cell = f"{size}: {took:.3f}"
        if last and last[1] > FAST:
            exponent = math.log(took / last[1]) / math.log(size / last[0])
            mark = "!" if exponent > STEEP else "?" if took < last[1] / 2 else ""
            cell += f" ({exponent:.2f}{mark})"
        cells.append(cell)
        last = size, took
        if took > LIMIT:
            break
    print(f"{algorithm:16} {axis:16}", *cells, sep="  ", flush=True)


def main(library, *algorithms):
    db = sqlite3.connect(":memory:")
    db.enable_load_extension(True)
    db.load_extension(library)
    names = [name for (name,) in db.execute("SELECT name FROM ltr_algorithms")]
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for axis, sizes in AXES.items():
            for size in sizes:
                files[axis, size] = os.path.join(folder, f"{axis} {size}.db")
                write(axis, size, files[axis, size])
        for algorithm in algorithms or names:
            for axis in AXES:
                line(library, algorithm, axis, files)


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        one(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
