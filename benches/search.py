#!/usr/bin/env python3
"""Times of a search: python3 benches/search.py LIBRARY

A plain SELECT of the candidates and their features, `ltr_search`, and `ltr_rank` of the same SELECT, for 10, 100 and 1,000
candidates: medians of 300 different queries, in turn, and the largest of the fastest 99 %. Then 1,000 different texts on
100,000 documents in an FTS5 table.
"""

import random
import sqlite3
import statistics
import sys
import time

DOCUMENTS = 100_000
FEATURES = "f1, f2, f3, f4, f5"


def connect(library: str) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.enable_load_extension(True)
    connection.load_extension(library)
    return connection


def seconds(connection: sqlite3.Connection, sql: str, arguments: tuple) -> float:
    begin = time.perf_counter()
    connection.execute(sql, arguments).fetchall()
    return time.perf_counter() - begin


def show(name: str, times: list[float], beside: list[float]) -> None:
    times = sorted(times)
    ratio = statistics.median(times) / statistics.median(beside)
    print(f"| {name} | {1e3 * statistics.median(times):.3f} | {1e3 * times[int(0.99 * len(times)) - 1]:.3f} | {ratio:.2f} |")


def lists(library: str, candidates: int) -> None:
    connection = connect(library)
    connection.executescript(
        f"""
        CREATE TABLE items(list INTEGER, id INTEGER, {FEATURES}, PRIMARY KEY (list, id)) WITHOUT ROWID;
        WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 300 * {candidates} - 1)
        INSERT INTO items SELECT i / {candidates}, i, i * 7 % 1009, i * 11 % 997, i * 13 % 991, i * 17 % 983, i * 19 % 977 FROM n;
        CREATE VIEW found AS SELECT q.query AS query_id, id AS doc_id, {FEATURES} FROM ltr_query AS q JOIN items ON list = q.query;
        CREATE TABLE judged AS SELECT list AS query, id AS doc, f1 > 500 AS relevance FROM items WHERE list < 20;
        SELECT ltr_train('rank_svm', 'judged', '{{"name": "m", "candidates": "found", "lambda": 1}}');
        """
    )
    source = f"SELECT list AS query_id, id AS doc_id, {FEATURES} FROM items WHERE list = ?1"
    calls = {
        "SELECT": source,
        "ltr_search": "SELECT rank, doc_id, score FROM ltr_search('m', ?1)",
        "ltr_rank": f"SELECT rank, doc_id, score FROM ltr_rank('m', '{source}', NULL, ?1)",
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    for query in range(300):
        for name, sql in calls.items():
            times[name].append(seconds(connection, sql, (query,)))
    print(f"\n| {candidates} candidates | median ms | 99 % ms | ratio |\n|---|---|---|---|")
    for name in calls:
        show(name, times[name], times["SELECT"])


def texts(library: str) -> None:
    draw = random.Random(7)
    words = [f"w{number}" for number in range(20_000)]
    weights = [1 / (rank + 10) for rank in range(len(words))]
    connection = connect(library)
    connection.executescript(
        """
        CREATE VIRTUAL TABLE docs USING fts5(title, body);
        CREATE TABLE items(id INTEGER PRIMARY KEY, price REAL);
        CREATE TABLE judged(query TEXT, doc INTEGER, relevance INTEGER);
        CREATE VIEW found AS
        WITH matches AS MATERIALIZED (
            SELECT query, docs.rowid AS id, bm25(docs) AS bm25, ltr_fts(docs) AS text
              FROM ltr_query JOIN docs ON docs MATCH ltr_fts_query(query))
        SELECT query AS query_id, id AS doc_id, ltr_vec(text, price) AS features
          FROM (SELECT *, row_number() OVER (PARTITION BY query ORDER BY bm25) AS place FROM matches)
          JOIN items USING (id) WHERE place <= 100;
        """
    )
    for row in range(DOCUMENTS):
        title, body = draw.choices(words, weights, k=5), draw.choices(words, weights, k=25)
        connection.execute("INSERT INTO docs(rowid, title, body) VALUES (?, ?, ?)", (row, " ".join(title), " ".join(body)))
        connection.execute("INSERT INTO items VALUES (?, ?)", (row, draw.random()))
    best = "SELECT rowid FROM docs WHERE docs MATCH ltr_fts_query(?1) ORDER BY rank LIMIT 100"
    for _ in range(30):
        text = " ".join(draw.sample(words[200:2000], 2))
        for (doc,) in connection.execute(best, (text,)).fetchall()[:20]:
            connection.execute("INSERT INTO judged VALUES (?, ?, ?)", (text, doc, draw.randrange(3)))
    train = 'SELECT ltr_train(\'rank_svm\', \'judged\', \'{"name": "m", "candidates": "found", "lambda": 1}\')'
    connection.execute(train).fetchone()
    times: dict[str, list[float]] = {"bm25, best 100": [], "ltr_search": []}
    for _ in range(1000):
        text = " ".join(draw.sample(words[200:2000], 2))
        times["bm25, best 100"].append(seconds(connection, best, (text,)))
        times["ltr_search"].append(seconds(connection, "SELECT rank, doc_id, score FROM ltr_search('m', ?1)", (text,)))
    print(f"\n| 1,000 texts, {DOCUMENTS:,} documents | median ms | 99 % ms | ratio |\n|---|---|---|---|")
    for name in times:
        show(name, times[name], times["bm25, best 100"])


def main() -> None:
    library = sys.argv[1].removesuffix(".so")
    for candidates in (10, 100, 1000):
        lists(library, candidates)
    texts(library)


if __name__ == "__main__":
    main()
