"""What users of LightGBM, XGBoost, scikit-learn and pandas write by habit works, or the error names the way."""

from __future__ import annotations

import asyncio
import datetime
import io
import pickle
import re
import sqlite3
import types

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from data import DOCUMENTS, QUERIES, judgments
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GroupKFold, RandomizedSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import sqlite_ltr
from sqlite_ltr import Model, train
from sqlite_ltr.sklearn import LtrRanker

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")

FRAME = pd.DataFrame(judgments())
X, Y, QID = FRAME[["x", "y"]], FRAME["relevance"], FRAME["query_id"]
GROUP = [DOCUMENTS] * QUERIES
HELD_OUT = FRAME.assign(query_id=QID + 100)
MODEL = train(FRAME, "rank_svm", options={"lambda": 0.1})
SHOP = FRAME.assign(color=["red", "blue"] * 100)


def fitted(algorithm="rank_svm", **parameters):
    return LtrRanker(algorithm, **parameters).fit(X, Y, qid=QID)


def search(ranker, grid, features=X):
    with sklearn.config_context(enable_metadata_routing=True):
        found = RandomizedSearchCV(ranker, grid, n_iter=2, cv=GroupKFold(2), random_state=0)
        return found.fit(features, Y, qid=QID, groups=QID).best_score_ > 0.8


def scores_by_fold(ranker):
    with sklearn.config_context(enable_metadata_routing=True):
        return cross_val_score(ranker, X, Y, cv=GroupKFold(3), params={"qid": QID, "groups": QID}).min() > 0.8


def columns_of_kinds():
    features = SHOP[["x", "color"]]
    encode = ColumnTransformer([("color", OneHotEncoder(), ["color"])], remainder="passthrough")
    pipeline = make_pipeline(encode, LtrRanker("boosted_trees", trees=10))
    return len(pipeline.fit(features, Y, ltrranker__qid=QID).predict(features)) == len(FRAME)


def study():
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial):
        ranker = LtrRanker("boosted_trees", trees=10, depth=trial.suggest_int("depth", 1, 4)).fit(X, Y, qid=QID)
        return ranker.score(X, Y, qid=QID)

    found = optuna.create_study(direction="maximize")
    found.optimize(objective, n_trials=2)
    return found.best_value > 0.9


def missing():
    holes = X.assign(x=X["x"].where(X["x"] > 0.1))
    ranker = LtrRanker("boosted_trees", trees=10).fit(holes, Y, qid=QID)
    same = train(holes.assign(query_id=QID, relevance=Y), "boosted_trees", trees=10)
    return np.allclose(ranker.predict(holes), same.predict(holes))


def held_out(parameters=(), **arguments):
    ranker = LtrRanker("boosted_trees", **dict(parameters)).fit(X, Y, qid=QID, eval_set=[(X, Y)], **arguments)
    return ranker.evals_result_["valid_0"]["ndcg@10"] > 0.9


def from_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    ranker = lightgbm.LGBMRanker(n_estimators=5, min_child_samples=5, verbose=-1).fit(X, Y, group=GROUP)
    found = sqlite_ltr.import_model(ranker), sqlite_ltr.import_model(ranker.booster_)
    return all(np.allclose(model.predict(X), ranker.predict(X)) for model in found)


def from_xgboost():
    xgboost = pytest.importorskip("xgboost")
    ranker = xgboost.XGBRanker(n_estimators=5).fit(X, Y, qid=QID)
    return np.allclose(sqlite_ltr.import_model(ranker).predict(X), ranker.predict(X, output_margin=True), atol=1e-5)


def from_a_file(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    ranker = lightgbm.LGBMRanker(n_estimators=5, min_child_samples=5, verbose=-1).fit(X, Y, group=GROUP)
    ranker.booster_.save_model(tmp_path / "model.txt")
    return sqlite_ltr.import_model(tmp_path / "model.txt") == sqlite_ltr.import_model(str(tmp_path / "model.txt"))


def to_xgboost(tmp_path):
    xgboost = pytest.importorskip("xgboost")
    model = train(FRAME, "boosted_trees", trees=5)
    model.export("xgboost", tmp_path / "model.json")
    booster = xgboost.Booster(model_file=str(tmp_path / "model.json"))
    return np.allclose(booster.predict(xgboost.DMatrix(X), output_margin=True), model.predict(X), atol=1e-5)


def to_lightgbm(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    holes = FRAME.assign(x=FRAME["x"].where(FRAME["x"] > 0.1))
    model = train(holes, "boosted_trees", trees=5)
    model.export("lightgbm", tmp_path / "model.txt")
    booster = lightgbm.Booster(model_file=str(tmp_path / "model.txt"))
    back = sqlite_ltr.import_model(booster)
    assert np.abs(back.predict(holes) - model.predict(holes)).max() < 1e-12
    return np.abs(booster.predict(holes[["x", "y"]]) - model.predict(holes)).max() < 1e-12


def to_onnx(tmp_path):
    MODEL.export("onnx", tmp_path / "model.onnx")
    return (tmp_path / "model.onnx").stat().st_size > 0


def saved(tmp_path):
    return Model.load(MODEL.save(tmp_path / "model.ltr") and tmp_path / "model.ltr") == MODEL


def into_sql(tmp_path):
    MODEL.save(tmp_path / "shop.db", "shop")
    return Model.load(tmp_path / "shop.db", "shop").report["name"] == "shop"


def into_a_connection():
    connection = sqlite3.connect(":memory:")
    sqlite_ltr.load(connection)
    MODEL.save(connection, "shop")
    return connection.execute("SELECT model FROM ltr_models WHERE name = 'shop' AND active").fetchone() == (MODEL,)


def in_a_notebook():
    parts = MODEL._repr_html_(), MODEL.plot("weights")._repr_svg_(), sqlite_ltr.report(HELD_OUT, MODEL)._repr_html_()
    return all(part.startswith("<") for part in parts)


def with_duration(kind):
    spans = [kind(seconds=row % 7) for row in range(len(FRAME))]
    return "span" in train(FRAME.assign(span=pd.Series(spans, dtype=object)), "rank_svm", lambda_=1).features


def with_aiosqlite():
    aiosqlite = pytest.importorskip("aiosqlite")

    async def version():
        async with aiosqlite.connect(":memory:") as connection:
            await sqlite_ltr.load_async(connection)
            return await connection.execute_fetchall("SELECT ltr_version()")

    return asyncio.run(version())


def with_an_async_engine():
    sqlalchemy = pytest.importorskip("sqlalchemy.ext.asyncio", exc_type=ImportError)
    pytest.importorskip("aiosqlite")
    from sqlalchemy import event

    async def version():
        engine = sqlalchemy.create_async_engine("sqlite+aiosqlite://")
        event.listen(engine.sync_engine, "connect", lambda connection, _: sqlite_ltr.load(connection))
        async with engine.connect() as connection:
            return (await connection.exec_driver_sql("SELECT ltr_version()")).scalar()

    return asyncio.run(version())


# What works, and is true.
WORKS = {
    "the model prints a line": lambda: re.fullmatch(r"<Model rank_svm: 2 features, 20 queries>", repr(MODEL)),
    "model.predict of a frame": lambda: MODEL.predict(X).shape == (len(X),),
    "model.predict of an array": lambda: (MODEL.predict(X.to_numpy()) == MODEL.predict(X)).all(),
    "model.predict of polars": lambda: (MODEL.predict(pl.from_pandas(X)) == MODEL.predict(X)).all(),
    "model.rank of pyarrow": lambda: MODEL.rank(pa.Table.from_pandas(FRAME)).num_rows == len(FRAME),
    "model.evaluate": lambda: MODEL.evaluate(HELD_OUT)["ndcg@10"] > 0.9,
    "the algorithm by position": lambda: train(FRAME, "rank_svm", options={"lambda": 0.1}) == MODEL,
    "options by name": lambda: train(FRAME, "rank_svm", lambda_=0.1) == MODEL,
    "group sizes": lambda: train(FRAME.drop(columns="query_id"), "rank_svm", group=GROUP),
    "a validation frame": lambda: (
        train(FRAME, "rank_svm", validation=HELD_OUT).report["validation"]["queries"] == QUERIES
    ),
    "pickle": lambda: pickle.loads(pickle.dumps(MODEL)).report == MODEL.report,
    "pickle to a file": lambda: pickle.dump(MODEL, io.BytesIO()) is None,
    "model.save and Model.load": saved,
    "a model saved into a database": into_sql,
    "feature names": lambda: MODEL.features == ["x", "y"],
    "pred_contrib": lambda: MODEL.explain(X).shape == (len(X), 3),
    "pred_contrib of an array": lambda: (MODEL.explain(X.to_numpy()) == MODEL.explain(X)).all(),
    "a column as the baseline": lambda: (
        sqlite_ltr.compare(HELD_OUT, MODEL, None, options={"columns": {"score": "y"}})["ci_low"][0] > 0
    ),
    "the score of today": lambda: sqlite_ltr.evaluate(HELD_OUT.assign(score=HELD_OUT["x"]), None)["ndcg@10"] > 0.9,
    "a model saved into an open connection": into_a_connection,
    "importance": lambda: list(MODEL.importance(HELD_OUT)["feature"]) == ["x", "y"],
    "a notebook shows models, plots and reports": in_a_notebook,
    "warnings of the training": lambda: train(FRAME.assign(n=range(200)), "rank_svm").warnings,
    "cross-validation of settings": lambda: len(
        sqlite_ltr.cross_validate(FRAME, "rank_svm", lambda_=[0.1, 1], folds=2)
    ),
    "import of LGBMRanker and its booster": from_lightgbm,
    "import of XGBRanker": from_xgboost,
    "import of a file by Path and str": from_a_file,
    "export to XGBoost": to_xgboost,
    "export to LightGBM": to_lightgbm,
    "export to ONNX": to_onnx,
    "export to SQL": lambda: MODEL.export("sql").startswith("CASE"),
    "options as parameters of the estimator": lambda: fitted("boosted_trees", trees=5).get_params()["trees"] == 5,
    "set_params of an option": lambda: (
        LtrRanker().set_params(lambda_=1, algorithm="q_svm").get_params()["lambda_"] == 1
    ),
    "RandomizedSearchCV": lambda: search(LtrRanker("boosted_trees", trees=5), {"depth": [1, 2, 3]}),
    "cross_val_score without set_fit_request": lambda: scores_by_fold(LtrRanker(lambda_=0.1)),
    "Optuna": study,
    "ColumnTransformer": columns_of_kinds,
    "a scaler before the ranker": lambda: search(
        make_pipeline(StandardScaler(), LtrRanker()), {"ltrranker__lambda_": [0.1, 1]}
    ),
    "sample_weight": lambda: LtrRanker("list_net", lambda_=1).fit(X, Y, qid=QID, sample_weight=1 + Y).model_,
    "eval_set as LightGBM has it": lambda: held_out(eval_group=[GROUP]),
    "eval_set as XGBoost has it": lambda: held_out(eval_qid=[QID]),
    "eval_set with a number of trees": lambda: held_out({"trees": 20}, eval_qid=[QID]),
    "feature_importances_": lambda: fitted().feature_importances_.argmax() == 0,
    "feature_names_in_, n_features_in_": lambda: (
        (list(fitted().feature_names_in_), fitted().n_features_in_) == (["x", "y"], 2)
    ),
    "NaN in trees": missing,
    "Timedelta of pandas": lambda: with_duration(pd.Timedelta),
    "timedelta": lambda: with_duration(datetime.timedelta),
    "aiosqlite": with_aiosqlite,
    "an asynchronous engine": with_an_async_engine,
    "except sqlite3.Error": lambda: issubclass(sqlite_ltr.Error, sqlite3.Error),
}


@pytest.mark.parametrize("habit", WORKS)
def test_a_habit_works(habit, tmp_path):
    run = WORKS[habit]
    assert run(tmp_path) if run.__code__.co_argcount else run()


def refused(module, name, call):
    """A call with an object of a library that is not installed here."""
    return lambda: call(types.new_class(name, (), {}, lambda body: body.update(__module__=module))())


# What is refused: the call, and what the message says.
REFUSED = {
    "another name of the relevance": (
        lambda: train(FRAME.rename(columns={"relevance": "stars"})),
        r'^train\(\): the frame: no relevance column among .* or use relevance="\.\.\."$',
    ),
    "another name of the query": (lambda: train(FRAME.rename(columns={"query_id": "search"})), 'use query="..."'),
    "no relevance to measure": (
        lambda: MODEL.evaluate(HELD_OUT.drop(columns="relevance")),
        r'^evaluate\(\): .*query_id, doc_id, x, y; .* use options={"columns": {"relevance": "\.\.\."}}$',
    ),
    "a missing feature": (
        lambda: MODEL.rank(FRAME.drop(columns="x")),
        "feature columns that are missing: x; the columns",
    ),
    "n_estimators": (lambda: train(FRAME, "boosted_trees", n_estimators=9), "option 'n_estimators': it is trees here"),
    "num_leaves": (lambda: fitted("boosted_trees", num_leaves=9), "it is depth here"),
    "random_state": (lambda: fitted(random_state=1), "it is seed here"),
    "a misspelled option": (lambda: train(FRAME, lamda=1), "unknown option 'lamda', did you mean 'lambda'"),
    "an algorithm of another library": (lambda: train(FRAME, "lightgbm"), "did you mean 'boosted_trees'"),
    "the path of a model": (lambda: sqlite_ltr.rank(FRAME, "model.ltr"), r"Model\.load\("),
    "an estimator as a model": (lambda: sqlite_ltr.rank(FRAME, LtrRanker()), "model_ of an LtrRanker"),
    "importance without data": (lambda: MODEL.plot("importance"), r'model\.plot\("importance", held_out\)'),
    "an unknown plot": (lambda: MODEL.plot("roc", HELD_OUT), "known: validation, training, weights"),
    "an unknown format": (lambda: MODEL.export("pmml"), "known: json, sql"),
    "the query in the index": (lambda: train(FRAME.set_index(["query_id", "doc_id"])), r"pass df\.reset_index\(\)"),
    "an array for train": (lambda: train(X.to_numpy()), r"LtrRanker of sqlite_ltr.sklearn takes dense arrays"),
    "an array of other width": (lambda: MODEL.predict(np.ones((2, 3))), "3 columns, the model the features x, y"),
    "NaN without an option": (
        lambda: train(FRAME.assign(x=np.nan).assign(x=FRAME["x"].where(FRAME["x"] > 0.1)), "rank_svm"),
        'use the option "missing"',
    ),
    "several eval_sets": (
        lambda: LtrRanker().fit(X, Y, qid=QID, eval_set=[(X, Y), (X, Y)]),
        r"eval_set has 2 pairs \(X, y\); give one",
    ),
    "import of another thing": (
        lambda: sqlite_ltr.import_model(object()),
        "LightGBM, XGBoost or CatBoost, or the path",
    ),
    "a connection for train": (
        lambda: train(sqlite3.connect(":memory:"), "rank_svm"),
        r"pandas\.read_sql\(sql, connection\)",
    ),
    "SQL for train": (lambda: train("SELECT * FROM judgments"), r"pandas\.read_sql\(sql, connection\)"),
    "a column as a model": (lambda: sqlite_ltr.evaluate(HELD_OUT, None), r'options={"columns": {"score": "\.\.\."}}'),
    **{
        f"{name} of fit": (lambda name=name: LtrRanker().fit(X, Y, qid=QID, **{name: 1}), way)
        for name, way in {
            "callbacks": "the number of trees is chosen on eval_set",
            "eval_at": r"model_\.evaluate",
            "categorical_feature": "of texts or of a categorical type",
            "feature_name": "data frame",
            "init_model": "from the start",
        }.items()
    },
    "pred_contrib of predict": (lambda: fitted().predict(X, pred_contrib=True), r"here: model_\.explain\(X\)"),
    "a misspelled argument of fit": (lambda: LtrRanker().fit(X, Y, qids=QID), "unexpected keyword argument 'qids'$"),
    "a path for load": (lambda: sqlite_ltr.load("shop.db"), r"sqlite3\.connect\("),
    "an engine of SQLAlchemy": (
        refused("sqlalchemy.engine", "Engine", sqlite_ltr.load),
        r"sqlalchemy\.event\.listen\(",
    ),
    "a connection of Django": (refused("django.utils", "Proxy", sqlite_ltr.load), r"connection_created"),
    "a database of peewee": (refused("peewee", "SqliteDatabase", sqlite_ltr.load), r"load_extension\("),
    "load_async of sqlite3": (
        lambda: asyncio.run(sqlite_ltr.load_async(sqlite3.connect(":memory:"))),
        r"sqlite_ltr\.load\(connection\)",
    ),
}


@pytest.mark.parametrize("habit", REFUSED)
def test_a_refusal_names_the_way(habit):
    call, message = REFUSED[habit]
    with pytest.raises((sqlite_ltr.Error, ValueError, TypeError), match=message):
        call()
