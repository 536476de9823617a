"""The examples of the docstrings run unchanged."""

from __future__ import annotations

import doctest
import importlib
import inspect
import json
import sqlite3

import pandas as pd
import pytest

import sqlite_ltr

MODULES = ["_error", "_load", "_rank", "_inspect", "_model", "_import", "_search", "_show", "_onnx", "sklearn"]
SHOP = """
    CREATE TABLE items(id INTEGER PRIMARY KEY, kind TEXT, x REAL);
    WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 80)
    INSERT INTO items SELECT i, 'k' || (i % 4), i * 7 % 11 FROM n;
    CREATE VIEW found AS SELECT q.query AS query_id, id AS doc_id, x FROM ltr_query AS q JOIN items ON kind = q.query;
    CREATE TABLE judged AS SELECT kind AS query, id AS doc, x > 5 AS relevance FROM items WHERE id < 70;
    SELECT ltr_train('rank_svm', 'judged', '{"name": "shop", "candidates": "found", "lambda": 1}');
"""


def hotels(first, queries):
    """Hotels whose relevance falls with the price and rises with the stars."""
    rows = [
        {
            "query_id": query,
            "doc_id": doc,
            "price": 0.5 * (query * 7 + doc * 5) % 7,
            "stars": (query + doc * 3) % 5 + 1.0,
        }
        for query in range(first, first + queries)
        for doc in range(6)
    ]
    frame = pd.DataFrame(rows)
    return frame.assign(relevance=((frame["stars"] - frame["price"]) / 1.5).clip(0, 3).astype(int))


def names():
    judged, connection = hotels(0, 40), sqlite3.connect(":memory:")
    sqlite_ltr.load(connection)
    connection.executescript(SHOP)
    return {
        "connection": connection,
        "json": json,
        "sqlite_ltr": sqlite_ltr,
        "judged": judged,
        "held_out": hotels(100, 20),
        "candidates": hotels(200, 5).drop(columns="relevance"),
        "model": sqlite_ltr.train(judged, "rank_svm", options={"lambda": 0.1}),
    }


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(f"sqlite_ltr.{name}")
    tests = [test for test in doctest.DocTestFinder().find(module, globs=names()) if test.examples]
    assert tests
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in tests:
        runner.run(test)
    assert runner.failures == 0


def test_every_function_has_an_example():
    public = {name: getattr(sqlite_ltr, name) for name in sqlite_ltr.__all__ if name != "__version__"}
    assert [name for name, what in public.items() if ">>> " not in (inspect.getdoc(what) or "")] == []
