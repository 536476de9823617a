"""Test NDCG@10 of boosted_trees, auto, CatBoost, LightGBM and XGBoost, each tuned by the same five folds.

    benches/compare_trees.py LIBRARY DATA SET PYTHON [SYSTEM...]
    benches/compare_trees.py LIBRARY --package PYTHON [SYSTEM...]

DATA is the folder of the data, SET one of yandex, mslr, mq2008 (its five folds), msn (two files, each in turn the test);
--package takes msn from a package of PyPI, without a folder of data. PYTHON is an interpreter with numpy, catboost,
lightgbm, xgboost and pip; SYSTEM is a name of SYSTEMS, by default all. The training set is the training and validation
part. The peers choose rate, depth and number of trees by five folds over its queries, and are fitted again on all of it. A
query without a relevant document is left out of validation and counts 0 on test. Figures are means of three seeds; times
cover the choice and the first fit, with two threads. Each system runs in a separate process.
"""

import json
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path

from data import sets
from trees import ndcg, run, table, used

# Folder, number of features.
SETS = {"yandex": ("yandex", 50), "mslr": ("mslr-sample", 136), "mq2008": ("mq2008", 46), "msn": ("msn", 136)}
# Where --package keeps its files.
PACKAGED = Path(__file__).parents[1] / "target" / "data"
SEEDS = range(3)
FOLDS = 5
THREADS = 2
# Learning rate and depth; 2^depth leaves for trees that are not oblivious, at most 31 of them.
GRID = [(0.05, 6), (0.1, 6), (0.1, 4)]
TREES = range(30, 301, 30)


def parts(name, data):
    """Files to train on and to test on, for each fold of the data."""
    folder = os.path.join(data, SETS[name][0])
    if name == "msn":
        files = [f"{folder}/{file}" for file, _, _ in sets.SETS[name]["files"]]
        yield from ((files[:1], files[1]), (files[1:], files[0]))
        return
    if name != "mq2008":
        yield [f"{folder}/train.txt", f"{folder}/vali.txt"], f"{folder}/test.txt"
        return
    for fold in range(5):
        files = [f"{folder}/S{(fold + i) % 5 + 1}.txt" for i in range(5)]
        yield files[:4], files[4]


def connect(library, file):
    db = sqlite3.connect(file)
    db.enable_load_extension(True)
    db.load_extension(library)
    return db


def write(library, file, name, train, test):
    """A database with tables train and test."""
    db = connect(library, file)
    for to, files in (("train", train), ("test", [test])):
        db.execute(f"CREATE TABLE {to} (query_id, doc_id, relevance, features)")
        for path in files:
            rows = "SELECT query_id, doc_id, relevance, features FROM ltr_letor(?, json_object('feature_count', ?))"
            db.execute(f"INSERT INTO {to} {rows}", (path, SETS[name][1]))
    db.commit()


class CatBoost:
    def __init__(self, loss):
        self.loss = loss

    def train(self, x, y, q, rate, depth, trees, seed):
        from catboost import CatBoost, Pool

        given = {"loss_function": self.loss, "iterations": trees, "learning_rate": rate, "depth": depth}
        always = {"random_seed": seed, "thread_count": THREADS, "verbose": False, "allow_writing_files": False}
        model = CatBoost({**given, **always})
        model.fit(Pool(x, y, group_id=q))
        return lambda x, trees: model.predict(x, ntree_end=trees)


class LightGBM:
    def __init__(self, objective):
        self.objective = objective

    def train(self, x, y, q, rate, depth, trees, seed):
        import lightgbm as lgb
        import numpy as np

        given = {"objective": self.objective, "learning_rate": rate, "num_leaves": min(31, 1 << depth), "seed": seed}
        # Without a part of features or rows the seed has no effect.
        parts = {"feature_fraction": 0.5, "bagging_fraction": 0.8, "bagging_freq": 1}
        always = {"verbose": -1, "num_threads": THREADS, "deterministic": True}
        data = lgb.Dataset(x, y, group=np.unique(q, return_counts=True)[1])
        model = lgb.train({**given, **parts, **always}, data, num_boost_round=trees)
        return lambda x, trees: model.predict(x, num_iteration=trees)


class XGBoost:
    def __init__(self, objective):
        self.objective = objective

    def train(self, x, y, q, rate, depth, trees, seed):
        import xgboost as xgb

        given = {"objective": self.objective, "eta": rate, "max_depth": depth, "seed": seed}
        always = {"subsample": 0.8, "colsample_bytree": 0.5, "nthread": THREADS, "verbosity": 0}
        model = xgb.train({**given, **always}, xgb.DMatrix(x, y, qid=q), num_boost_round=trees)
        return lambda x, trees: model.predict(xgb.DMatrix(x), iteration_range=(0, trees))


PEERS = {
    "CatBoost QueryRMSE": CatBoost("QueryRMSE"),
    "CatBoost YetiRank": CatBoost("YetiRank"),
    "LightGBM lambdarank": LightGBM("lambdarank"),
    "LightGBM regression": LightGBM("regression"),
    "XGBoost rank:ndcg": XGBoost("rank:ndcg"),
}
SYSTEMS = ["boosted_trees", "auto", *PEERS]


def peer(file, name):
    import numpy as np

    system = PEERS[name]
    (x, y, q), (test_x, test_y, test_q) = (table(file, part, "without") for part in ("train", "test"))
    started = used(), time.perf_counter()
    # 1. The choice.
    queries, numbers = np.unique(q, return_inverse=True)
    fold = np.random.default_rng(0).permutation(len(queries))[numbers] % FOLDS
    found = {}
    for rate, depth in GRID:
        scores = np.zeros((len(TREES), len(q)))
        for number in range(FOLDS):
            rest, held_out = fold != number, fold == number
            predict = system.train(x[rest], y[rest], q[rest], rate, depth, TREES[-1], 0)
            for row, trees in zip(scores, TREES):
                row[held_out] = predict(x[held_out], trees)
        found.update({(rate, depth, trees): ndcg(y, q, row) for row, trees in zip(scores, TREES)})
    chosen = max(found, key=found.get)
    # 2. All rows.
    values = []
    for seed in SEEDS:
        predict = system.train(x, y, q, *chosen, seed)
        if seed == 0:
            spent = used() - started[0], time.perf_counter() - started[1]
        values.append(ndcg(test_y, test_q, predict(test_x, chosen[2]), undefined=0.0))
    report(values, spent, chosen, found[chosen])


def ours(library, file, algorithm):
    db = connect(library, file)
    metric = "SELECT value FROM ltr_evaluate(?, 'test', '{\"undefined\": \"zero\"}') WHERE query_id IS NULL AND metric = 'ndcg@10'"
    values = []
    for seed in SEEDS:
        started = used(), time.perf_counter()
        options = json.dumps({"seed": seed, "threads": THREADS})
        (model,) = db.execute("SELECT ltr_fit(?, 'train', ?)", (algorithm, options)).fetchone()
        if seed == 0:
            spent = used() - started[0], time.perf_counter() - started[1]
        values.append(db.execute(metric, (model,)).fetchone()[0])
    report(values, spent, None, None)


def report(values, spent, chosen, validated):
    row = {"values": values, "cpu": spent[0], "wall": spent[1], "chosen": chosen, "validated": validated}
    print(json.dumps(row), flush=True)


def compare(library, data, name, python, systems):
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for train, test in parts(name, data):
            files.append(os.path.join(folder, f"{len(files)}.db"))
            write(library, files[-1], name, train, test)
        for system in systems:
            ends = (python, "peer") if system in PEERS else (sys.executable, "ours", library)
            show(name, system, [run(*ends, file, system, script=__file__) for file in files])


def show(name, system, rows):
    """Means over the folds of the data, and then over seeds."""
    seeds = [statistics.mean(values) for values in zip(*(row["values"] for row in rows))]
    cpu, wall = (statistics.mean(row[key] for row in rows) for key in ("cpu", "wall"))
    chosen = [(*row["chosen"], round(row["validated"], 4)) for row in rows if row["chosen"]]
    line = f"{name}  {statistics.mean(seeds):.4f}  {cpu:6.1f} CPU-s  {wall:6.1f} s  {system}  {chosen or ''}"
    print(line, flush=True)


def main():
    if sys.argv[1] in ("ours", "peer"):
        globals()[sys.argv[1]](*sys.argv[2:])
        return
    library, data, *rest = sys.argv[1:]
    if data == "--package":
        sets.package(PACKAGED, rest[0])
        data, rest = str(PACKAGED), ["msn", *rest]
    name, python, *systems = rest
    compare(library, data, name, python, systems or SYSTEMS)


if __name__ == "__main__":
    main()
