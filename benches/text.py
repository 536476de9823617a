"""What `ltr_fts` costs compared with `bm25()`, in one run: benches/text.py LIBRARY [ROWS]

Random texts with word frequencies of Zipf's law. Each figure is the median of nine runs; the statements alternate, so that a
busy machine slows all of them.
"""

import random
import sqlite3
import statistics
import sys
import time

LIBRARY = sys.argv[1]
ROWS = int(sys.argv[2]) if len(sys.argv) > 2 else 50_000
RUNS = 9
QUERIES = {
    "one word": "w20",
    "two words, any": "w20 OR w60",
    "four words, any": "w20 OR w60 OR w100 OR w500",
    "frequent words": "w1 OR w2",
    "all of two": "w5 w20",
    "phrase": '"w1 w2"',
    "prefix": "w50*",
}


def table(db, name, columns, lengths):
    rng = random.Random(1)
    words = [f"w{number}" for number in range(1, 20_001)]
    weights = [1 / number for number in range(1, 20_001)]
    names = [f"c{number}" for number in range(columns)]
    db.execute(f"CREATE VIRTUAL TABLE {name} USING fts5({', '.join(names)})")
    marks = ", ".join("?" for _ in names)
    rows = ([" ".join(rng.choices(words, weights, k=length)) for length in lengths] for _ in range(ROWS))
    with db:
        db.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)


def seconds(db, sql, query):
    started = time.perf_counter()
    rows = sum(1 for _ in db.execute(sql, (query,)))
    return time.perf_counter() - started, rows


def main():
    db = sqlite3.connect(":memory:")
    db.enable_load_extension(True)
    db.load_extension(LIBRARY)
    for name, columns, lengths in [("short", 1, [10]), ("two", 2, [8, 60]), ("five", 5, [8, 30, 30, 5, 100])]:
        table(db, name, columns, lengths)
        print(f"{ROWS} rows, {columns} columns of {lengths} words")
        for label, query in QUERIES.items():
            calls = {"rows": "rowid", "bm25": f"bm25({name})", "ltr_fts": f"ltr_fts({name})"}
            times = {call: [] for call in calls}
            for _ in range(RUNS):
                for call, expression in calls.items():
                    took, rows = seconds(db, f"SELECT {expression} FROM {name} WHERE {name} MATCH ?", query)
                    times[call].append(took)
            middle = {call: statistics.median(values) for call, values in times.items()}
            ratio = middle["ltr_fts"] / middle["bm25"]
            print(
                f"  {label:16} {rows:6} matches: ltr_fts {middle['ltr_fts'] / rows * 1e6:6.2f} us/row "
                f"= {rows / middle['ltr_fts']:9.0f} rows/s, {ratio:.2f} x bm25, rows alone {middle['rows'] / rows * 1e6:.2f} us/row"
            )


main()
