"""Uses of the package that `mypy --strict` must accept. Not run."""

from __future__ import annotations

import sqlite3

import apsw
import pandas as pd
import sqlalchemy

import sqlite_ltr
from sqlite_ltr.sklearn import LtrRanker


def uses(frame: pd.DataFrame) -> tuple[str, dict[str, float], float]:
    sqlite_ltr.load(sqlite3.connect(":memory:"))
    sqlite_ltr.load(apsw.Connection(":memory:"))
    sqlite_ltr.load(sqlalchemy.create_engine("sqlite://").raw_connection())
    model: bytes = sqlite_ltr.train(frame, group=[2, 3], options={"lambda": 0.1})
    ranked: pd.DataFrame = sqlite_ltr.rank(frame, model)
    queries: pd.DataFrame = sqlite_ltr.evaluate(frame, model, per_query=True)
    compared: pd.DataFrame = sqlite_ltr.compare(queries, model, model)
    page: str = sqlite_ltr.report(sqlite_ltr.explain(compared, model, 0), model)
    ranker = LtrRanker("q_svm", options={"neighbors": 5}).fit(ranked, [1, 0], group=[2])
    path: str = page + sqlite_ltr.loadable_path() + sqlite_ltr.__version__
    return path, sqlite_ltr.evaluate(frame, model), ranker.score(frame, [1, 0], qid=["a", "a"])
