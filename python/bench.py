#!/usr/bin/env python3
"""Measure the installed package: python -P python/bench.py [--wheel FILE] [--serving].

Prints the table "Python package" of docs/benchmarks.md; with --serving only the calls of an open connection, the table
of docs/guide/serving.md, and the load of the machine. Each time is the median of 31 fresh processes, except for
an open connection (3000 calls) and data frames (median of 5 calls). Needs pandas for the data frames.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import sqlite_ltr

PROCESSES = 31
ROUNDS = 3000
# A fresh process: import and load, then the first statement of a new connection. Prints milliseconds. The last figure
# is the processor time of import and load, which other processes of the machine hardly change.
FRESH = """\
import sys, time
clock, processor = time.perf_counter, time.process_time
start, used = clock(), processor()
import sqlite_ltr
imported = clock()
import sqlite3
connection = sqlite3.connect(sys.argv[1])
opened = clock()
sqlite_ltr.load(connection)
loaded, used = clock(), processor() - used
connection.execute(sys.argv[2]).fetchall()
first = clock()
connection.execute(sys.argv[2]).fetchall()
second = clock()
print(*(1000 * t for t in (imported - start, loaded - opened, first - loaded, second - first, used)))
"""
CANDIDATES = "SELECT * FROM candidates WHERE query_id = 7"
PLAIN = "SELECT doc_id, x1 + x2 AS score FROM candidates WHERE query_id = 7 ORDER BY score DESC"
RANKED = f"SELECT doc_id, score FROM ltr_rank('rank_svm', '{CANDIDATES}') ORDER BY rank"


def make_database(path: Path) -> None:
    """Store 100 queries with 100 documents and 5 features, and a model."""
    import sqlite3

    connection = sqlite3.connect(path)
    sqlite_ltr.load(connection)
    connection.executescript(
        """
        CREATE TABLE candidates(query_id, doc_id, relevance, x1, x2, x3, x4, x5, PRIMARY KEY (query_id, doc_id));
        WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
        INSERT INTO candidates SELECT i / 100, i % 100, i * 31 % 4, i * 31 % 4 + i * 17 % 101 / 50.0,
            i * 13 % 103 / 103.0, i * 7 % 107 / 107.0, i * 5 % 109 / 109.0, i * 3 % 113 / 113.0 FROM n;
        """
    )
    connection.execute("SELECT ltr_train('rank_svm', 'candidates', '{\"lambda\": 0.1}')")
    connection.commit()
    connection.close()


def fresh(database: Path, statement: str) -> list[float]:
    """Return milliseconds: import, load, the statement as the first of a connection, the same again, processor time."""
    command = [sys.executable, "-c", FRESH, str(database), statement]
    run = subprocess.run(command, capture_output=True, check=True, cwd=database.parent)
    return [float(value) for value in run.stdout.split()]


def seconds(call: Callable[[], object]) -> float:
    """Return the median time of five calls."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def measure_processes() -> None:
    """Measure import, load and the first ranking."""
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "bench.db"
        make_database(database)
        # The two statements alternate, so that the load of the machine is the same for both.
        runs = [(fresh(database, PLAIN), fresh(database, RANKED)) for _ in range(PROCESSES)]
    plain, ranked = ([statistics.median(column) for column in zip(*rows)] for rows in zip(*runs))
    print(f"| `import sqlite_ltr` (with `sqlite3`) | {ranked[0]:.1f} ms |")
    print(f"| `load(connection)` | {ranked[1]:.1f} ms |")
    print(f"| processor time of both | {ranked[4]:.1f} ms |")
    print(f"| first ranking of a connection: 100 candidates, 5 features | {ranked[2]:.2f} ms |")
    print(f"| a plain SELECT of the same rows, sorted, as the first statement | {plain[2]:.2f} ms |")
    print(f"| the same ranking again | {ranked[3]:.2f} ms |")
    print(f"| the same plain SELECT again | {plain[3]:.2f} ms |")


def measure_serving() -> None:
    """Measure small rankings on an open connection and a SELECT of the same rows, alternating."""
    import sqlite3

    rows = "SELECT * FROM candidates WHERE query_id = ?"
    calls = {
        "a SELECT of the 100 rows": rows,
        "`ltr_rank` of a table, columns `doc_id, score`": (
            "SELECT doc_id, score FROM ltr_rank('rank_svm', 'candidates') WHERE query_id = ? ORDER BY rank"
        ),
        "the same with all columns": (
            "SELECT * FROM ltr_rank('rank_svm', 'candidates') WHERE query_id = ? ORDER BY rank"
        ),
        "the same, 10 best documents": (
            "SELECT doc_id, score FROM ltr_rank('rank_svm', 'candidates') WHERE query_id = ? ORDER BY rank LIMIT 10"
        ),
        "`ltr_rank` of a SELECT": f"SELECT doc_id, score FROM ltr_rank('rank_svm', '{rows}', NULL, ?) ORDER BY rank",
        "`ltr_score` and ORDER BY": (
            "SELECT doc_id, ltr_score('rank_svm', ltr_vec(x1, x2, x3, x4, x5)) AS score FROM candidates"
            " WHERE query_id = ? ORDER BY score DESC"
        ),
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "bench.db"
        make_database(database)
        connection = sqlite3.connect(database)
        sqlite_ltr.load(connection)
        for call in range(ROUNDS):
            for name, statement in calls.items():
                start = time.perf_counter()
                connection.execute(statement, (call % 100,)).fetchall()
                times[name].append(1000 * (time.perf_counter() - start))
        connection.close()
    figures = {
        name: (statistics.median(values), statistics.quantiles(values, n=20)[-1]) for name, values in times.items()
    }
    plain = next(iter(figures.values()))
    print("| call | median | 95th percentile |\n|---|---|---|")
    for name, (median, high) in figures.items():
        print(f"| {name} | {median:.3f} ms ({median / plain[0]:.2f}) | {high:.3f} ms ({high / plain[1]:.2f}) |")


def measure_frames() -> None:
    """Measure a pandas data frame and the same rows in a table."""
    import numpy as np
    import pandas as pd

    chance = np.random.default_rng(0)
    rows, features = 20_000, 136
    frame = pd.DataFrame(chance.random((rows, features)), columns=[f"x{i}" for i in range(features)])
    frame.insert(0, "query_id", np.arange(rows) // 100)
    frame.insert(1, "relevance", (3 * frame["x0"] + chance.random(rows)).astype(int))
    options = {"lambda": 0.1, "tolerance": 0.1}
    model = sqlite_ltr.train(frame, algorithm="rank_svm", options=options)

    from sqlite_ltr._load import connect

    connection = connect()
    frame.to_sql("frame", connection, index=False)
    fit = seconds(
        lambda: connection.execute("SELECT ltr_fit('rank_svm', 'frame', ?)", (json.dumps(options),)).fetchall()
    )
    rank = seconds(lambda: connection.execute("SELECT * FROM ltr_rank(?, 'frame')", (model,)).fetchall())
    trained = seconds(lambda: sqlite_ltr.train(frame, algorithm="rank_svm", options=options))
    ranked = seconds(lambda: sqlite_ltr.rank(frame, model))
    print(f"| `train` of a frame: {rows:,} rows, {features} features, `rank_svm`, one lambda | {trained:.2f} s |")
    print(f"| `ltr_fit` of the same rows in a table | {fit:.2f} s |")
    print(f"| `rank` of this frame | {ranked:.2f} s |")
    print(f"| `ltr_rank` of the same rows in a table | {rank:.2f} s |")


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description="Measures the installed package.")
    parser.add_argument("--wheel", type=Path, help="the wheel, for its size")
    parser.add_argument("--serving", action="store_true", help="only the calls of an open connection")
    arguments = parser.parse_args()
    if arguments.serving:
        measure_serving()
        print("load of the last minute:", os.getloadavg()[0])
        return
    wheel = arguments.wheel
    print("| what | figure |\n|---|---|")
    if wheel:
        print(f"| wheel | {wheel.stat().st_size / 1e6:.2f} MB |")
    print(f"| library | {Path(sqlite_ltr.loadable_path()).stat().st_size / 1e6:.2f} MB |")
    measure_processes()
    measure_frames()
    measure_serving()


if __name__ == "__main__":
    main()
