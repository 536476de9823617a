"""The models and expected numbers of this folder, by LightGBM 4.7.0, XGBoost 3.2.0 and CatBoost 1.2.10.

Usage: generate.py, in this folder, with these libraries and pandas.
"""

import json

import catboost
import lightgbm
import numpy as np
import pandas as pd
import xgboost

BRANDS = ["acme", "zenith", "o'neill", "10"]


def documents(seed, queries):
    random = np.random.default_rng(seed)
    n = 12 * queries
    price = np.round(random.lognormal(4, 1, n), 2)
    stars = random.integers(1, 6, n).astype(float)
    brand = random.integers(0, 4, n)
    price[random.random(n) < 0.1] = np.nan
    stars[random.random(n) < 0.1] = np.nan
    liking = np.nan_to_num(stars, nan=2.5) - np.nan_to_num(price, nan=60) / 60 + np.array([1, -1, 0.5, 0])[brand]
    relevance = np.digitize(liking + random.normal(size=n) / 2, [1, 2.5, 4])
    table = pd.DataFrame({"price": price, "stars": stars, "brand": pd.Categorical.from_codes(brand, BRANDS)})
    return table, relevance, np.repeat(np.arange(queries), 12)


train, grades, query = documents(1, 40)
test, test_grades, test_query = documents(2, 3)
sizes = np.bincount(query)
expected = {
    "columns": ["query_id", "doc_id", "relevance", "price", "stars", "brand"],
    "rows": [
        [int(q), row, int(grade), *(None if pd.isna(value) else value for value in values)]
        for row, (q, grade, values) in enumerate(zip(test_query, test_grades, test.values))
    ],
    "models": {},
}


def keep(name, scores, contributions):
    numbers = {"scores": [float(score) for score in scores]}
    numbers["contributions"] = [[float(value) for value in row] for row in contributions]
    expected["models"][name] = numbers


# LightGBM: sets of categories, and NaN as missing.
dataset = lightgbm.Dataset(train, grades, group=sizes)
options = {"objective": "lambdarank", "num_leaves": 8, "min_data_in_leaf": 10, "verbose": -1, "seed": 1, "min_data_per_group": 5, "cat_smooth": 1}
model = lightgbm.train(options, dataset, 6)
model.save_model("lightgbm.txt")
with open("lightgbm.json", "w") as file:
    json.dump(model.dump_model(), file, separators=(",", ":"))
for name in ["lightgbm.txt", "lightgbm.json"]:
    keep(name, model.predict(test, raw_score=True), model.predict(test, pred_contrib=True))

# XGBoost: 32-bit floats.
matrix = xgboost.DMatrix(train, grades, enable_categorical=True)
matrix.set_group(sizes)
model = xgboost.train({"objective": "rank:ndcg", "max_depth": 3, "seed": 1, "max_cat_to_onehot": 1}, matrix, 8)
model.save_model("xgboost.json")
rows = xgboost.DMatrix(test, enable_categorical=True)
keep("xgboost.json", model.predict(rows, output_margin=True), model.predict(rows, pred_contribs=True))

# CatBoost: oblivious trees, one-hot categories.
texts = lambda table: table.assign(brand=table["brand"].astype(str))
pool = catboost.Pool(texts(train), grades, group_id=query, cat_features=["brand"])
model = catboost.CatBoost({"loss_function": "YetiRank", "iterations": 6, "depth": 3, "one_hot_max_size": 10, "random_seed": 1, "verbose": 0, "allow_writing_files": False})
model.fit(pool)
model.save_model("catboost.json", format="json", pool=pool)
with open("catboost.json") as file:
    text = json.load(file)
with open("catboost.json", "w") as file:
    json.dump(text, file, separators=(",", ":"))
rows = catboost.Pool(texts(test), cat_features=["brand"])
shap = model.get_feature_importance(catboost.Pool(texts(test), test_grades, group_id=test_query, cat_features=["brand"]), type="ShapValues")
keep("catboost.json", model.predict(rows, prediction_type="RawFormulaVal"), shap)

with open("expected.json", "w") as file:
    json.dump(expected, file, separators=(",", ":"))
