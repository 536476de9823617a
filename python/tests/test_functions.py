"""The functions for data frames other than `train` and `rank` return what SQL returns, in the same kind of frame."""

from __future__ import annotations

import inspect
import json
import math
import sqlite3

import numpy as np
import pandas as pd
import pytest
from data import DOCUMENTS, QUERIES, judgments
from test_frames import KINDS, OPTIONS, fit, in_sql, values

import sqlite_ltr
from sqlite_ltr import compare, cross_validate, evaluate, explain, fts_features, importance, rank, report, train
from sqlite_ltr.sklearn import LtrRanker

pytestmark = pytest.mark.filterwarnings("ignore:on validation ndcg", "ignore:source 'frame' contains the training rows")
SEVERAL = ["pandas", "polars", "pyarrow", "columns", "rows"]


def table(frame, columns):
    return list(zip(*(values(frame, name) for name in columns)))


def test_dir_and_docstrings_show_all_functions():
    shown = {name: getattr(sqlite_ltr, name) for name in dir(sqlite_ltr) if not name.startswith("_")}
    assert set(shown) == {*sqlite_ltr.__all__} - {"__version__"}
    assert all(inspect.getdoc(function) for function in shown.values())
    assert all(inspect.signature(function) for function in shown.values() if not inspect.isclass(function))
    with pytest.raises(AttributeError, match="has no attribute 'xgboost'"):
        _ = sqlite_ltr.xgboost


@pytest.mark.parametrize("kind", SEVERAL)
def test_tables_match_sql(kind):
    columns = judgments()
    frame, a, b = KINDS[kind](columns), fit(columns), train(columns, algorithm="list_net", options=OPTIONS)
    names = ["feature", "value", "contribution", "standard_error"]
    pair = ["feature", "value_a", "value_b", "contribution", "standard_error"]
    folds = {**OPTIONS, "folds": 3}
    for found, head, source, arguments in [
        (evaluate(frame, a, per_query=True), ["query_id", "metric", "value"],
         "ltr_evaluate(?, 'frame') WHERE query_id IS NOT NULL", (a,)),
        (compare(frame, a, b), ["metric", "n", "difference", "p_value"], "ltr_compare(?, ?, 'frame')", (a, b)),
        (explain(frame, a, 32), names, "ltr_explain(?, 'frame', 3, 2)", (a,)),
        (explain(frame, a, 32, above=35), pair, "ltr_explain_rank(?, 'frame', 3, 2, 5)", (a,)),
        (importance(frame, a), ["feature", "metric", "n", "loss"], "ltr_importance(?, 'frame')", (a,)),
        (cross_validate(frame, algorithm="rank_svm", options=folds), ["setting", "fold", "metric", "value"],
         "ltr_cross_validate('rank_svm', 'frame', ?)", (json.dumps(folds),)),
    ]:  # fmt: skip
        assert type(found) is type(frame)
        expected = in_sql(columns, f"SELECT {', '.join(head)} FROM {source}", arguments)
        missing = [tuple(None if value != value else value for value in row) for row in table(found, head)]
        assert missing == expected


def test_groups_in_place_of_queries():
    columns = judgments()
    model, groups = fit(columns), [DOCUMENTS] * QUERIES
    frame = pd.DataFrame(columns).drop(columns=["query_id", "doc_id"])
    assert explain(frame, model, 32, group=groups).equals(explain(pd.DataFrame(columns), model, 32))
    assert len(evaluate(frame, model, group=groups, per_query=True)) == QUERIES
    assert "<html" in report(frame, model, group=groups)
    alone = pd.DataFrame(columns).loc[30:39].drop(columns="query_id")
    with pytest.warns(UserWarning, match="one query"):
        ranked = rank(alone, model)
    assert explain(alone, model, 2)["contribution"].sum() == pytest.approx(ranked["score"].iloc[2])


def test_rows_that_cannot_be_explained():
    columns = judgments()
    with pytest.raises(ValueError, match="no row 200: the data frame has the rows 0 to 199"):
        explain(columns, fit(columns), 200)
    with pytest.raises(ValueError, match="rows 3 and 30 belong to different queries: 0 and 3"):
        explain(columns, fit(columns), 3, above=30)


@pytest.mark.parametrize("kind", SEVERAL)
def test_categories_are_explained(kind):
    columns = {**judgments(), "color": ["red", "blue"] * (QUERIES * DOCUMENTS // 2)}
    found = explain(KINDS[kind](columns), fit(columns), 1)
    assert values(found, "feature") == ["(base)", "x", "y", "color"]
    assert values(found, "value")[-1] == "blue"


def test_ratings_are_explained():
    ratings = judgments()
    ratings = {"user": ratings["query_id"], "item": ratings["doc_id"], "rating": ratings["relevance"]}
    model = train(ratings, algorithm="cofi_rank")
    explained = explain(ratings, model, 12)
    assert math.fsum(explained["contribution"]) == pytest.approx(rank(ratings, model)["score"][12])


@pytest.mark.parametrize("kind", SEVERAL)
def test_judgments_of_a_log(kind):
    log = {"impression": [], "query_id": [], "doc_id": [], "position": [], "clicked": []}
    chance = np.random.default_rng(1)
    for impression in range(200):
        for position, doc in enumerate(chance.permutation(5), 1):
            click = int(chance.random() < (0.1 + 0.15 * doc) / position)
            for column, value in zip(log.values(), (impression, impression % 2, int(doc), position, click)):
                column.append(value)
    found = sqlite_ltr.judgments(KINDS[kind](log))
    assert type(found) is type(KINDS[kind](log))
    head = ["query_id", "doc_id", "relevance", "impressions", "clicks"]
    assert table(found, head) == in_sql(log, f"SELECT {', '.join(head)} FROM ltr_judgments('frame')", ())


@pytest.mark.parametrize("kind", SEVERAL)
def test_features_of_texts(kind):
    documents = {
        "sku": ["a", "b", "c"],
        "title": ["Red running shoes", "Blue shoes", "Red, red bag"],
        "text": ["light", "for shoes", None],
    }
    queries = ["red shoes", "blue", "red shoes", "green"]
    found = fts_features(KINDS[kind](documents), queries, text=["title", "text"], doc="sku")
    assert type(found) is type(KINDS[kind](documents))
    assert sorted(table(found, ["query_id", "doc_id", "title_coverage", "text_hits"])) == [
        ("blue", "b", 1, 0),
        ("red shoes", "a", 1, 0),
        ("red shoes", "b", 0.5, 1),
        ("red shoes", "c", 0.5, 0),
    ]
    best = fts_features(documents, ["running shoe"], text="title", k=1, tokenize="porter unicode61")
    assert best["doc_id"] == [0]


class TestEstimator:
    def ranker(self, algorithm="rank_svm", **options):
        columns = judgments()
        frame = pd.DataFrame(columns)[["x", "y"]]
        return LtrRanker(algorithm, options=options).fit(frame, columns["relevance"], qid=columns["query_id"])

    @pytest.mark.parametrize("scale", ["quantile", "none", "quantile_minmax"])
    def test_linear_models_have_weights(self, scale):
        ranker = self.ranker(scale=scale)
        assert ranker.coef_.shape == ranker.get_feature_names_out().shape
        assert list(ranker.get_feature_names_out()[:2]) == ["x", "y"]
        assert ranker.feature_importances_[0] > 0.9
        assert ranker.feature_importances_.sum() == pytest.approx(1)

    def test_trees_have_splits(self):
        ranker = self.ranker("boosted_trees")
        assert not hasattr(ranker, "coef_")
        assert ranker.feature_importances_[0] > ranker.feature_importances_[1]
        assert list(ranker.get_feature_names_out(["x", "y"])) == ["x", "y"]
        with pytest.raises(ValueError, match="the model has the features x, y"):
            ranker.get_feature_names_out(["y", "x"])

    @pytest.mark.parametrize("algorithm", ["q_svm", "rank_svm"])
    def test_other_models_have_neither(self, algorithm):
        ranker = self.ranker(algorithm, kernel="gaussian")
        with pytest.raises(AttributeError, match=f"the model of {algorithm} is neither linear nor"):
            _ = ranker.feature_importances_
        assert not hasattr(ranker, "coef_")


def test_a_search_is_the_sql_function():
    connection = sqlite3.connect(":memory:")
    sqlite_ltr.load(connection)
    connection.executescript(
        """
        CREATE TABLE items(id INTEGER PRIMARY KEY, kind TEXT, x REAL);
        WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 80)
        INSERT INTO items SELECT i, 'k' || (i % 4), i * 7 % 11 FROM n;
        CREATE VIEW found AS
        SELECT q.query AS query_id, id AS doc_id, x FROM ltr_query AS q JOIN items ON kind = q.query
         WHERE id > coalesce(json_extract(q.params, '$.above'), 0);
        CREATE TABLE judged AS SELECT kind AS query, id AS doc, x > 5 AS relevance FROM items WHERE id < 70;
        SELECT ltr_train('rank_svm', 'judged', '{"name": "shop", "candidates": "found", "lambda": 1}');
        """
    )
    ranked = sqlite_ltr.search(connection, "shop", "k3", options={"k": 5})
    assert [rank for rank, _, _ in ranked] == [1, 2, 3, 4, 5]
    (model,) = connection.execute("SELECT model FROM ltr_models").fetchone()
    assert sqlite_ltr.search(connection, model, "k3", options={"k": 5}) == ranked
    assert all(doc > 40 for _, doc, _ in sqlite_ltr.search(connection, "shop", "k3", options={"params": {"above": 40}}))
    connection.execute("ALTER TABLE items ADD COLUMN color")
    with pytest.warns(UserWarning, match="changed since the training: items"):
        assert sqlite_ltr.search(connection, "shop", "k3", options={"k": 5}) == ranked
    with pytest.raises(sqlite3.OperationalError, match="unknown model 'none'"):
        sqlite_ltr.search(connection, "none", "k3")
