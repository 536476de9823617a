"""Imported models of LightGBM, XGBoost and CatBoost have the scores and contributions of their libraries.

LTR_MODELS: how many random models of each library, default 8.
"""

from __future__ import annotations

import json
import os
import random
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from test_pages import ROOT, examples

import sqlite_ltr

MODELS = range(int(os.environ.get("LTR_MODELS", "8")))
BRANDS = ["acme", "zenith", "o'neill", "10", "", "mt. fuji"]
EXPLAINED = 40


def frame(seed, rows, cities):
    """Return numbers with holes and ties, two categories, and grades that depend on both."""
    chance = np.random.default_rng(seed)
    table = pd.DataFrame({f"x{i}": chance.normal(size=rows) * 10.0 ** chance.integers(-3, 4) for i in range(3)})
    table["small"] = chance.integers(-2, 3, rows).astype(float)
    table["zeros"] = chance.random(rows) * (chance.random(rows) < 0.5)
    liking = table["small"] + 2 * table["zeros"] + np.sign(table["x0"])
    for name in table:
        table[name] = table[name].mask(chance.random(rows) < 0.15)
    brand, city = chance.integers(0, len(BRANDS), rows), chance.integers(0, cities, rows)
    table["brand"] = pd.Categorical.from_codes(np.where(chance.random(rows) < 0.1, -1, brand), BRANDS)
    table["city"] = pd.Categorical.from_codes(city, [f"city {i}" for i in range(cities)])
    liking += np.sin(brand) + np.cos(city) + chance.normal(size=rows)
    return table, np.digitize(liking, np.quantile(liking, [0.4, 0.7, 0.9]))


class Data:
    """Training rows in queries of 10, and rows to score: some values also occur in training."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        cities, kind = self.draw.choice([3, 40, 90]), self.draw.choice(["numbers", "all"])
        self.train, self.grades = frame(seed, 600, cities)
        self.rows, _ = frame(seed + 1000, 1000, cities)
        self.rows.iloc[:300] = self.train.iloc[:300]
        if kind == "numbers":
            self.train, self.rows = (table.drop(columns=["brand", "city"]) for table in (self.train, self.rows))
        self.categories = [name for name in ("brand", "city") if name in self.train]
        self.queries = np.arange(600) // 10

    def options(self, **choices):
        return {name: self.draw.choice(values) for name, values in choices.items()}


class Imported:
    """A model that was imported into a database with the rows."""

    def __init__(self, text, rows, **options):
        self.connection = sqlite3.connect(":memory:")
        sqlite_ltr.load(self.connection)
        rows.astype(object).where(rows.notna(), None).to_sql("shop", self.connection, index_label="doc_id")
        self.connection.execute("SELECT ltr_import(?, ?)", (text, json.dumps({"name": "m", **options})))

    def scores(self):
        sql = "SELECT score FROM ltr_rank('m', 'shop') ORDER BY doc_id"
        return np.array(self.connection.execute(sql).fetchall())[:, 0]

    def contributions(self, names):
        """Return the contribution of each feature and then the base, as the libraries do."""
        found = np.zeros((EXPLAINED, len(names) + 1))
        for doc in range(EXPLAINED):
            sql = (
                "SELECT feature, contribution FROM ltr_explain('m', 'SELECT * FROM shop WHERE doc_id = ' || ?, NULL, ?)"
            )
            for feature, value in self.connection.execute(sql, (doc, doc)):
                found[doc, [*names, "(base)"].index(feature)] = value
        return found

    def exported(self, form):
        return self.connection.execute("SELECT ltr_export('m', ?)", (form,)).fetchone()[0]


class ImportedCatBoost(Imported):
    """One of CatBoost."""


def check_scores(model, scores, size):
    """Scores within 1e-12 of the sum of the largest leaves of the trees."""
    assert np.abs(model.scores() - scores).max() <= 1e-12 * size


def check_contributions(model, data, contributions, scores):
    """Contributions add up to the score, and are within 1e-5 of the range of the library's.

    CatBoost's own do not add up for some rows of trees that are not symmetric. Ours do, and are left alone there.
    """
    explained, theirs, scores = model.contributions(data.train.columns), contributions[:EXPLAINED], scores[:EXPLAINED]
    reach = max(np.ptp(contributions[:, :-1]), 1e-6)
    tolerance = 1e-5 * max(reach, np.abs(scores).max())
    assert np.abs(explained.sum(axis=1) - scores).max() <= tolerance
    adds_up = np.abs(theirs.sum(axis=1) - scores) <= tolerance
    assert adds_up.all() or isinstance(model, ImportedCatBoost)
    assert np.abs(explained - theirs)[adds_up].max(initial=0) <= 1e-5 * reach


@pytest.mark.parametrize("seed", MODELS)
def test_lightgbm(seed):
    data = Data(seed)
    options = data.options(
        objective=["lambdarank", "rank_xendcg", "regression", "binary", "poisson", "huber", "tweedie", "cross_entropy"],
        boosting=["gbdt", "gbdt", "dart", "rf"],
        num_leaves=[2, 7, 31],
        zero_as_missing=[False, False, True],
        use_missing=[True, True, False],
        max_cat_to_onehot=[1, 4],
        min_data_in_leaf=[1, 20],
        extra_trees=[False, True],
        learning_rate=[0.05, 0.3],
    )
    options |= {"seed": seed, "verbose": -1, "cat_smooth": 1, "min_data_per_group": 5, "num_threads": 1}
    options |= {"bagging_freq": 1, "bagging_fraction": 0.7} if options["boosting"] == "rf" else {}
    grades = np.minimum(data.grades, 1) if options["objective"] in ("binary", "cross_entropy") else data.grades
    rounds = data.draw.choice([1, 10, 30])
    booster = lightgbm.train(options, lightgbm.Dataset(data.train, grades, group=np.bincount(data.queries)), rounds)
    size = booster.trees_to_dataframe().groupby("tree_index")["value"].agg(lambda leaves: leaves.abs().max()).sum()
    # A forest is a mean; with these arguments LightGBM returns the sum.
    trees = booster.num_trees() if options["boosting"] == "rf" else 1
    scores = booster.predict(data.rows, raw_score=True) / trees
    contributions = booster.predict(data.rows, pred_contrib=True) / trees
    for text in (booster.model_to_string(), json.dumps(booster.dump_model())):
        model = Imported(text, data.rows)
        check_scores(model, scores, size)
        check_contributions(model, data, contributions, scores)


@pytest.mark.parametrize("seed", MODELS)
def test_xgboost(seed):
    data = Data(seed)
    options = data.options(
        objective=["rank:ndcg", "rank:pairwise", "reg:squarederror", "binary:logistic", "count:poisson", "reg:tweedie"],
        booster=["gbtree", "gbtree", "dart"],
        max_depth=[1, 4, 8],
        tree_method=["hist", "approx"],
        grow_policy=["depthwise", "lossguide"],
        max_cat_to_onehot=[1, 10],
        num_parallel_tree=[1, 1, 4],
        subsample=[1, 0.7],
        min_child_weight=[0, 2],
        learning_rate=[0.1, 0.5],
    )
    options |= {"seed": seed, "nthread": 1}
    options |= {"rate_drop": 0.3} if options["booster"] == "dart" else {}
    options |= {"base_score": 0.3} if data.draw.random() < 0.3 else {}
    grades = np.minimum(data.grades, 1) if options["objective"] == "binary:logistic" else data.grades
    matrix = xgboost.DMatrix(data.train, grades, qid=data.queries, enable_categorical=True)
    booster = xgboost.train(options, matrix, data.draw.choice([1, 10, 30]))
    rows = xgboost.DMatrix(data.rows, enable_categorical=True)
    text, scores = bytes(booster.save_raw("json")), booster.predict(rows, output_margin=True)
    model = Imported(text, data.rows)
    assert np.array_equal(model.scores().astype("f4"), scores)
    check_contributions(model, data, booster.predict(rows, pred_contribs=True), scores)


@pytest.mark.parametrize("seed", MODELS)
def test_catboost(seed, tmp_path):
    data = Data(seed)
    options = data.options(
        loss_function=["YetiRank", "QueryRMSE", "PairLogit", "RMSE", "Logloss", "MAE", "Poisson", "QuerySoftMax"],
        depth=[1, 3, 6],
        nan_mode=["Min", "Max"],
        grow_policy=["SymmetricTree", "SymmetricTree", "Depthwise", "Lossguide"],
        iterations=[1, 10, 30],
        learning_rate=[0.1, 0.5],
        boost_from_average=[True, False],
    )
    if options["loss_function"] not in ("RMSE", "MAE"):
        del options["boost_from_average"]
    if options["grow_policy"] != "SymmetricTree" and options["loss_function"] in ("YetiRank", "PairLogit"):
        options["loss_function"] = "QueryRMSE"
    options |= {"random_seed": seed, "one_hot_max_size": 200, "verbose": 0, "thread_count": 1}

    def pool(table, **labels):
        texts = table.assign(**{name: table[name].astype(object).fillna("none") for name in data.categories})
        return catboost.Pool(texts, cat_features=data.categories, **labels), texts

    grades = np.minimum(data.grades, 1) if options["loss_function"] in ("Logloss", "QuerySoftMax") else data.grades
    train, _ = pool(data.train, label=grades, group_id=data.queries)
    booster = catboost.CatBoost({**options, "train_dir": str(tmp_path)}).fit(train)
    booster.save_model(str(tmp_path / "model.json"), format="json", pool=train)
    rows, texts = pool(data.rows, label=np.arange(1000) % 2, group_id=np.arange(1000) // 10)
    text = (tmp_path / "model.json").read_text()
    trees = json.loads(text)
    leaves = [tree["leaf_values"] for tree in trees.get("oblivious_trees", [])] or [booster.get_leaf_values()]
    size = sum(np.abs(values).max() for values in leaves) + abs(trees["scale_and_bias"][1][0])
    scores = booster.predict(rows, prediction_type="RawFormulaVal")
    contributions = booster.get_feature_importance(rows, type="ShapValues", shap_calc_type="Regular")
    model = ImportedCatBoost(text, texts)
    check_scores(model, scores, size)
    check_contributions(model, data, contributions, scores)


@pytest.mark.parametrize("seed", MODELS)
def test_exports_are_read_by_xgboost(seed):
    """`boosted_trees`, and every second time an imported model, on rows of 32-bit floats: within 1e-6 of the leaves."""
    data = Data(seed)
    table, rows = (part.drop(columns=data.categories).astype("f4").astype(float) for part in (data.train, data.rows))
    if seed % 2:
        dataset = lightgbm.Dataset(table, data.grades)
        text = lightgbm.train({"verbose": -1, "num_leaves": 8, "seed": seed}, dataset, 20).model_to_string()
        model = Imported(text, rows)
    else:
        options = {"missing": "branch", "trees": 30, "depth": data.draw.choice([2, 6])}
        frame = table.assign(query_id=data.queries, relevance=data.grades)
        trained = sqlite_ltr.train(frame, algorithm="boosted_trees", options=options)
        model = Imported(exported(trained, "json"), rows)
    scores = model.scores()
    booster = xgboost.Booster()
    booster.load_model(bytearray(model.exported("xgboost").encode()))
    nodes = booster.trees_to_dataframe()
    leaves = nodes[nodes["Feature"] == "Leaf"]  # XGBoost has the values of leaves as gains
    size = leaves.groupby("Tree")["Gain"].agg(lambda values: values.abs().max()).sum()
    assert np.abs(booster.predict(xgboost.DMatrix(rows), output_margin=True) - scores).max() <= 1e-6 * size


def exported(model, form):
    connection = sqlite3.connect(":memory:")
    sqlite_ltr.load(connection)
    return connection.execute("SELECT ltr_export(?, ?)", (model, form)).fetchone()[0]


def refused(name, table, grades, path):
    """Return the file of a model that has no form here."""
    if name == "statistics":
        options = {"iterations": 2, "one_hot_max_size": 1, "verbose": 0, "allow_writing_files": False}
        pool = catboost.Pool(pd.DataFrame({"brand": np.arange(300) % 9 + grades}), grades, cat_features=["brand"])
        catboost.CatBoost(options).fit(pool).save_model(path, format="json", pool=pool)
        return path.read_text()
    if name.startswith("xgboost"):
        options = (
            {"booster": "gblinear"} if name == "xgboost linear" else {"objective": "multi:softprob", "num_class": 4}
        )
        return bytes(xgboost.train(options, xgboost.DMatrix(table, grades), 2).save_raw("json"))
    options = {"linear_tree": True} if name == "linear" else {"objective": "multiclass", "num_class": 4}
    return lightgbm.train({**options, "verbose": -1}, lightgbm.Dataset(table, grades), 2).model_to_string()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("linear", "linear functions in leaves"),
        ("multiclass", "the model has 4 scores"),
        ("xgboost linear", "the booster 'gblinear'"),
        ("xgboost multiclass", "the model has 4 scores"),
        ("statistics", "target statistics of categories"),
    ],
)
def test_what_cannot_be_kept_is_refused(name, message, tmp_path):
    table, grades = frame(5, 300, 3)
    table = table.drop(columns=["brand", "city"])
    with pytest.raises(sqlite3.OperationalError, match=message):
        Imported(refused(name, table.fillna(0), grades, tmp_path / "model.json"), table)


def test_the_page_of_imports(tmp_path, monkeypatch):
    """The example of docs/guide/export.md, unchanged."""
    monkeypatch.chdir(tmp_path)
    shop = sqlite3.connect("shop.db")
    shop.executescript((ROOT / "sql" / "hotels.sql").read_text())
    judged, rows = (pd.read_sql(f"SELECT * FROM {name}", shop) for name in ("judgments", "candidates"))
    features, sizes = ["price", "stars"], judged.groupby("query_id").size()
    matrix = xgboost.DMatrix(judged[features], judged["relevance"], qid=judged["query_id"])
    pool = catboost.Pool(judged[features], judged["relevance"], group_id=judged["query_id"])
    names = {
        "lightgbm_booster": lightgbm.LGBMRanker(verbose=-1)
        .fit(judged[features], judged["relevance"], group=sizes)
        .booster_,
        "xgboost_booster": xgboost.train({"objective": "rank:ndcg"}, matrix, 20),
        "catboost_model": catboost.CatBoostRanker(20, verbose=0, allow_writing_files=False).fit(pool),
        "train_pool": pool,
    }
    expected = {
        "lightgbm": names["lightgbm_booster"].predict(rows[features], raw_score=True),
        "xgboost": names["xgboost_booster"].predict(xgboost.DMatrix(rows[features]), output_margin=True),
        "catboost": names["catboost_model"].predict(rows[features]),
    }
    (example,) = (block for block in examples("docs/guide/export.md") if "lightgbm_booster" in block)
    exec(compile(example, "export.md", "exec"), names)
    for name, scores in expected.items():
        sql = f"SELECT score FROM candidates JOIN ltr_rank('{name}', 'candidates') USING (query_id, doc_id)"
        found = np.array(names["connection"].execute(f"{sql} ORDER BY candidates.rowid").fetchall())[:, 0]
        np.testing.assert_allclose(found, scores, rtol=0, atol=1e-12)
    assert names["ranking"].fetchone()


def test_mq2008_end_to_end():
    """The program of docs/guide/export.md, without `auto`, which takes a minute."""
    folder = os.environ.get("LTR_DATA")
    if folder is None:
        pytest.skip("LTR_DATA is not set")
    program = [sys.executable, ROOT / "examples" / "lightgbm_mq2008.py", Path(folder) / "mq2008", "boosted_trees"]
    printed = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    assert "16 trees, 2874 rows, largest difference of scores: 0.0" in printed
    assert re.search(r"lightgbm boosted_trees ndcg@10 +105 +0.730 +0.732", printed)
