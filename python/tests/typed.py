"""Uses of the package that `mypy --strict` must accept. Not run."""

from __future__ import annotations

import sqlite3

import aiosqlite
import apsw
import pandas as pd
import polars as pl
import pyarrow as pa
import sqlalchemy

import sqlite_ltr
from sqlite_ltr.sklearn import LtrRanker


def uses(frame: pd.DataFrame) -> tuple[str, dict[str, float], float]:
    sqlite_ltr.load(sqlite3.connect(":memory:"))
    sqlite_ltr.load(apsw.Connection(":memory:"))
    sqlite_ltr.load(sqlalchemy.create_engine("sqlite://").raw_connection())
    model: sqlite_ltr.Model = sqlite_ltr.train(
        frame, "rank_svm", group=[2, 3], options={"lambda": 0.1}, validation=frame
    )
    ranked: pd.DataFrame = sqlite_ltr.rank(frame, bytes(model))
    ranked = model.rank(model.importance(frame))
    polars: pl.DataFrame = model.rank(pl.DataFrame())
    arrow: pa.Table = model.rank(pa.table({}))
    means: dict[str, float] = model.evaluate(polars)
    svg: str = model.plot("weights").save("weights.svg")
    model = sqlite_ltr.Model.load("shop.db", "shop").save("model.ltr")
    print(arrow, means, svg, model.explain(frame).shape, sqlite_ltr.import_model("model.txt").features)
    queries: pd.DataFrame = sqlite_ltr.evaluate(frame, model, per_query=True)
    compared: pd.DataFrame = sqlite_ltr.compare(queries, model, model)
    page: str = sqlite_ltr.report(sqlite_ltr.explain(compared, model, 0), model)
    ranker = LtrRanker("q_svm", options={"neighbors": 5}).fit(ranked, [1, 0], group=[2])
    try:
        model.export("onnx", "model.onnx")
    except sqlite_ltr.Error as error:
        driver: sqlite3.Error = error
        print(driver)
    path: str = page + sqlite_ltr.loadable_path() + sqlite_ltr.__version__
    return path, sqlite_ltr.evaluate(frame, model), ranker.score(frame, [1, 0], qid=["a", "a"])


async def uses_asyncio(connection: aiosqlite.Connection) -> None:
    await sqlite_ltr.load_async(connection)
