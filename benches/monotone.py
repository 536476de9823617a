"""What monotone features cost and keep: `boosted_trees`, `lambdamart`, `auto` and linear functions, compared with peers.

    benches/monotone.py LIBRARY [SEEDS]

In each of 5 simulated shops (250 queries to train on, 250 to test on, 20 documents each) the grade falls with the price and
rises with stars and fit; 5 % of the prices are missing, and two columns are noise. A row: test NDCG@10 with the constraints,
minus without them (mean and standard error over the shops), and the share of test documents whose score moves against a
sign when one feature moves and the rest of the query stays, without and with. Peers are used if they are installed: lightgbm, xgboost, catboost.
"""

import json
import sqlite3
import sys

import numpy as np
from trees import ndcg

SIGNS = {"price": -1, "stars": 1, "fit": 1}
NAMES = ["price", "stars", "fit", "age", "noise"]
QUERIES, DOCUMENTS, TREES = 250, 20, 100
OURS = {
    "boosted_trees": {"trees": TREES, "missing": "branch"},
    "lambdamart": {"trees": TREES, "missing": "branch"},
    "auto": {"missing": "mean"},
    "list_net": {"missing": "mean"},
    "regression": {"missing": "mean"},
}


def shop(seed):
    random = np.random.default_rng(seed)
    n = 2 * QUERIES * DOCUMENTS
    x = random.random((n, len(NAMES)))
    x[:, 1] = np.round(4 * x[:, 1]) / 4
    value = 2 * x[:, 2] - 1.5 * x[:, 0] ** 2 + np.sqrt(x[:, 1]) * (0.5 + x[:, 2]) + np.sin(6 * x[:, 3]) / 2
    grades = np.clip(np.round(value + random.normal(0, 0.5, n) + 0.5), 0, 4)
    x[random.random(n) < 0.05, 0] = np.nan
    queries = np.arange(n) // DOCUMENTS
    test = queries >= QUERIES
    return (x[~test], grades[~test], queries[~test]), (x[test], grades[test], queries[test])


def ours(library, algorithm):
    db = sqlite3.connect(":memory:")
    db.enable_load_extension(True)
    db.load_extension(library)
    columns = ", ".join(NAMES)

    def table(x, grades, queries):
        db.execute("DROP TABLE IF EXISTS rows")
        db.execute(f"CREATE TABLE rows(query_id, doc_id INTEGER PRIMARY KEY, relevance, {columns})")
        rows = zip(queries.tolist(), grades.tolist(), x.tolist())
        values = ((q, i, g, *(None if v != v else v for v in row)) for i, (q, g, row) in enumerate(rows))
        db.executemany(f"INSERT INTO rows VALUES (?, ?, ?{', ?' * len(NAMES)})", values)

    def fit(data, constrained, seed):
        table(*data)
        options = {**OURS[algorithm], "seed": seed, **({"monotone": SIGNS} if constrained else {})}
        (model,) = db.execute("SELECT ltr_fit(?, 'rows', ?)", (algorithm, json.dumps(options))).fetchone()

        def predict(x):
            table(x, np.zeros(len(x)), np.arange(len(x)) // DOCUMENTS)
            sql = f"SELECT score FROM ltr_rank(?, 'SELECT query_id, doc_id, {columns} FROM rows') ORDER BY doc_id"
            return np.array([score for (score,) in db.execute(sql, (model,))])

        return predict

    return fit


def lightgbm(data, constrained, seed):
    import lightgbm

    x, grades, queries = data
    given = {"objective": "lambdarank", "learning_rate": 0.1, "num_leaves": 31, "seed": seed, "verbose": -1, "num_threads": 2}
    if constrained:
        given["monotone_constraints"] = [SIGNS.get(name, 0) for name in NAMES]
    return lightgbm.train(given, lightgbm.Dataset(x, grades, group=np.unique(queries, return_counts=True)[1]), TREES).predict


def xgboost(data, constrained, seed):
    import xgboost

    x, grades, queries = data
    given = {"objective": "rank:ndcg", "eta": 0.1, "max_depth": 6, "seed": seed, "nthread": 2}
    if constrained:
        given["monotone_constraints"] = str(tuple(SIGNS.get(name, 0) for name in NAMES))
    model = xgboost.train(given, xgboost.DMatrix(x, grades, qid=queries), TREES)
    return lambda x: model.predict(xgboost.DMatrix(x))


def catboost(data, constrained, seed):
    from catboost import CatBoost, Pool

    x, grades, queries = data
    given = {"loss_function": "QueryRMSE", "iterations": TREES, "learning_rate": 0.1, "random_seed": seed, "thread_count": 2}
    if constrained:
        given["monotone_constraints"] = [SIGNS.get(name, 0) for name in NAMES]
    model = CatBoost({**given, "verbose": False, "allow_writing_files": False})
    model.fit(Pool(x, grades, group_id=queries))
    return model.predict


def against(predict, x, seed):
    """The share of documents whose score moves against a sign when one feature moves and the rest of the query stays."""
    random = np.random.default_rng(seed + 1000)
    before, wrong = predict(x), []
    for at in range(0, DOCUMENTS, 4):
        rows = np.arange(at, len(x), DOCUMENTS)
        columns = random.integers(0, len(SIGNS), len(rows))
        other = x.copy()
        other[rows, columns] += random.random(len(rows)) / 2
        rise = np.array(list(SIGNS.values()))[columns] * (predict(other)[rows] - before[rows])
        wrong.append(rise < -1e-12 * np.maximum(1, np.abs(before[rows])))
    return np.mean(wrong)


def main(library, seeds=5):
    systems = {name: ours(library, name) for name in OURS}
    for peer in (lightgbm, xgboost, catboost):
        try:
            __import__(peer.__name__)
            systems[peer.__name__] = peer
        except ImportError:
            print(f"{peer.__name__} is not installed")
    print("| | NDCG@10 without | with, minus without | against a sign, without | with |\n|---|---|---|---|---|")
    for name, fit in systems.items():
        found = []
        for seed in range(int(seeds)):
            train, (x, grades, queries) = shop(seed)
            row = []
            for constrained in (False, True):
                predict = fit(train, constrained, seed)
                row += [ndcg(grades, queries, predict(x)), against(predict, x, seed)]
            found.append(row)
        free, free_against, kept, kept_against = np.mean(found, axis=0)
        error = np.std([row[2] - row[0] for row in found], ddof=1) / np.sqrt(len(found))
        print(f"| {name} | {free:.4f} | {kept - free:+.4f} ({error:.4f}) | {free_against:.3f} | {kept_against:.5f} |", flush=True)


main(*sys.argv[1:])
