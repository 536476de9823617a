"""What the tests of Spark, Ray and Dask share."""

from __future__ import annotations

import importlib
import json
import os
import random
import shutil
import sqlite3

import pytest

import sqlite_ltr

BUCKETS = 16
METRICS = {"metric": ["ndcg@10", "map"]}


def need(package, java=False):
    """Import a package. Without it the tests of a file are skipped; LTR_REQUIRE_ENGINES makes that an error."""
    reason = "no Java" if java and shutil.which("java") is None and "JAVA_HOME" not in os.environ else None
    try:
        module = importlib.import_module(package)
    except ImportError:
        module, reason = None, reason or f"no package {package}"
    if reason is None:
        return module
    if os.environ.get("LTR_REQUIRE_ENGINES", "0") != "0":
        raise ImportError(f"LTR_REQUIRE_ENGINES is set, but there is {reason}")
    return pytest.skip(f"skipped: {reason}", allow_module_level=True)


def judged(identify=str, missing=False):
    """Return 300 queries with 3 to 12 documents. Documents with equal features have equal scores."""
    chance = random.Random(11)
    sizes = [chance.randint(3, 12) for _ in range(300)]
    rows = [(query, doc) for query, size in enumerate(sizes) for doc in range(size)]
    chance.shuffle(rows)
    x, y, z = ([round(chance.random(), 1) for _ in rows] for _ in range(3))
    return {
        "query_id": [identify(query * 7919) for query, _ in rows],
        "doc_id": [f"d{doc}" for _, doc in rows],
        "relevance": [int(2 * a + b + chance.random()) for a, b in zip(x, y)],
        "x": x,
        "y": [None if missing and chance.random() < 0.1 else value for value in y],
        "z": [value / 7 for value in z],
    }


class OneProcess:
    """The same in plain SQL, in one database."""

    def __init__(self, columns):
        self.connection = sqlite3.connect(":memory:")
        sqlite_ltr.load(self.connection)
        self.connection.execute(f"CREATE TABLE judged({', '.join(columns)})")
        values = ", ".join("?" * len(columns))
        self.connection.executemany(f"INSERT INTO judged VALUES ({values})", zip(*columns.values()))

    def train(self, algorithm, options):
        sql = "SELECT ltr_fit(?, 'judged', ?)"
        return self.connection.execute(sql, (algorithm, json.dumps(options))).fetchone()[0]

    def rank(self, model):
        sql = "SELECT query_id, doc_id, score, rank FROM ltr_rank(?, 'judged')"
        return {(query, doc): found for query, doc, *found in self.connection.execute(sql, (model,))}

    def evaluate(self, model):
        sql = "SELECT metric, value FROM ltr_evaluate(?, 'judged', ?) WHERE query_id IS NULL"
        return dict(self.connection.execute(sql, (model, json.dumps(METRICS))).fetchall())


def ranking(rows):
    """Return what `OneProcess.rank` returns, from the rows of an engine."""
    return {(row["query_id"], row["doc_id"]): [row["score"], row["rank"]] for row in rows}
