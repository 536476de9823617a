"""What the tests of Spark, Ray and Dask share."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import random
import shutil
import signal
import sqlite3
import threading
from pathlib import Path

import pytest

import sqlite_ltr
from sqlite_ltr import _engine

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


def processes(word):
    """Return the processes below this one whose command has a word, and whether their parents have it too."""
    parents, found = {}, set()
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            number = int(path.name)
            parents[number] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if word in (path / "cmdline").read_text():
                found.add(number)

    def is_below(number):
        return number == os.getpid() or (number in parents and is_below(parents[number]))

    return {number: parents[number] in found for number in found if is_below(number)}


def send(signals, victims):
    for number in victims:
        os.kill(number, signals)


def before_round(monkeypatch, number, action):
    """Call a function in the driver before a round of the next training. Return a list that gets an item per round."""
    run, rounds = _engine.Training.run, []

    def observed(training, ask):
        def ask_in_order(state):
            rounds.append(len(state))
            if len(rounds) == number:
                action()
            return ask(state)

        return run(training, ask_in_order)

    monkeypatch.setattr(_engine.Training, "run", observed)
    return rounds


def kill_during_a_round(victims):
    """Stop processes, so that a round waits for them, and kill them a second later."""
    assert victims
    send(signal.SIGSTOP, victims)
    threading.Timer(1, send, [signal.SIGKILL, victims]).start()


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
