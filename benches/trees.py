"""Boosted trees compared with CatBoost and LightGBM, in one run.

    benches/trees.py LIBRARY interactions FILE [PYTHON]    600,000 documents x 136: NDCG@10, processor and wall seconds, memory
    benches/trees.py LIBRARY kinds SCRIPT [PYTHON]         queries of three kinds, with and without query features
    benches/trees.py LIBRARY rank FILE [PYTHON]            100,000 documents of a file ranked by 240 trees, on one thread

FILE is a database with tables train, validation and test (query_id, doc_id, relevance, features as BLOBs); SCRIPT writes such
a database of kinds, with query_features. PYTHON is an interpreter with numpy, catboost and lightgbm; without it only the
library runs. Each training is a separate process.
"""

import json
import os
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

CELLS = [(queries, noise) for queries in (60, 300, 2000) for noise in (0.1, 0.3, 0.6)]
SOURCES = {
    "without": "SELECT query_id, doc_id, relevance, features FROM {}",
    "with": "SELECT query_id, doc_id, relevance, ltr_vec(features, query_features) AS features FROM {}",
}


def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def finish(name, started, score):
    """Prints one row; `score` is called after the clock has stopped."""
    cpu, wall = used() - started[0], time.perf_counter() - started[1]
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"name": name, "cpu": cpu, "wall": wall, "mb": megabytes, "ndcg": score()}), flush=True)


def ours(library, file, kind, options):
    db = sqlite3.connect(file)
    db.enable_load_extension(True)
    db.load_extension(library)
    train, test = (SOURCES[kind].format(table) for table in ("train", "test"))
    if "trees" not in json.loads(options):
        validation = SOURCES[kind].format("validation")
        options = json.dumps(dict(json.loads(options), validation=validation))
    started = used(), time.perf_counter()
    (model,) = db.execute("SELECT ltr_fit('boosted_trees', ?, ?)", (train, options)).fetchone()
    metric = "SELECT value FROM ltr_evaluate(?, ?) WHERE query_id IS NULL AND metric = 'ndcg@10'"
    finish(f"boosted_trees {options}", started, lambda: db.execute(metric, (model, test)).fetchone()[0])


def table(file, name, kind):
    import numpy as np

    db = sqlite3.connect(file)
    columns = "features, query_features" if kind == "with" else "features"
    queries, grades, rows = [], [], []
    sql = f"SELECT query_id, relevance, {columns} FROM {name} ORDER BY query_id, doc_id"
    for query, grade, *vectors in db.execute(sql):
        queries.append(query)
        grades.append(grade)
        rows.append(b"".join(vectors))
    return np.frombuffer(b"".join(rows), "<f4").reshape(len(rows), -1), np.array(grades), np.array(queries)


def ndcg(grades, queries, scores, undefined=None):
    """The mean over queries; those without a relevant document count `undefined`, by default they are left out."""
    import numpy as np

    values = []
    for rows in np.split(np.arange(len(queries)), np.flatnonzero(np.diff(queries)) + 1):
        gains = 2.0 ** grades[rows] - 1
        discounts = 1 / np.log2(np.arange(2, 12))
        ideal = np.sort(gains)[::-1][:10]
        found = gains[np.argsort(-scores[rows], kind="stable")][:10]
        if ideal[0] > 0:
            values.append((found @ discounts[: len(found)]) / (ideal @ discounts[: len(ideal)]))
        elif undefined is not None:
            values.append(undefined)
    return float(np.mean(values))


def catboost(file, kind, options):
    from catboost import CatBoost, Pool

    options = json.loads(options)
    started = used(), time.perf_counter()
    x, y, q = table(file, "train", kind)
    validation = None
    if "iterations" not in options:
        held_out = table(file, "validation", kind)
        validation = Pool(held_out[0], held_out[1], group_id=held_out[2])
    given = {"loss_function": "QueryRMSE", "depth": 6, "verbose": False, "thread_count": 2, "allow_writing_files": False}
    model = CatBoost({**given, **options})
    early = {} if validation is None else {"eval_set": validation, "early_stopping_rounds": 100}
    model.fit(Pool(x, y, group_id=q), **early)
    x, y, q = table(file, "test", kind)
    finish(f"CatBoost QueryRMSE {options}", started, lambda: ndcg(y, q, model.predict(x)))


def lightgbm(file, kind, options):
    import lightgbm as lgb
    import numpy as np

    options = json.loads(options)
    started = used(), time.perf_counter()
    x, y, q = table(file, "train", kind)
    groups = np.unique(q, return_counts=True)[1]
    trees = options.pop("iterations")
    given = {"objective": "lambdarank", "num_leaves": 64, "verbose": -1, "num_threads": 2, "deterministic": True}
    model = lgb.train({**given, **options}, lgb.Dataset(x, y, group=groups), num_boost_round=trees)
    x, y, q = table(file, "test", kind)
    finish(f"LightGBM lambdarank {options} {trees}", started, lambda: ndcg(y, q, model.predict(x)))


def ours_train(library, file, source):
    db = sqlite3.connect(file)
    db.enable_load_extension(True)
    db.load_extension(library)
    db.execute("ATTACH ? AS source", (source,))
    db.execute("CREATE TABLE documents AS SELECT query_id, doc_id, features FROM source.train LIMIT 100000")
    judged = "SELECT query_id, doc_id, relevance, features FROM source.train LIMIT 24000"
    db.execute("SELECT ltr_train('boosted_trees', ?, ?)", (judged, json.dumps({"name": "trees", "trees": 240}))).fetchone()
    db.commit()
    print("{}")


def catboost_train(file, source):
    from catboost import CatBoost, Pool

    x, y, q = table(source, "(SELECT * FROM train LIMIT 24000)", "without")
    model = CatBoost({"loss_function": "QueryRMSE", "iterations": 240, "depth": 6, "verbose": 0, "thread_count": 2})
    model.fit(Pool(x, y, group_id=q))
    model.save_model(file)
    print("{}")


def ours_rank(library, file):
    started = used(), time.perf_counter()
    db = sqlite3.connect(file)
    db.enable_load_extension(True)
    db.load_extension(library)
    sql = """SELECT query_id, doc_id, score FROM ltr_rank('trees', 'documents', '{"threads": 1}')"""
    rows = db.execute(sql).fetchall()
    finish("ltr_rank", started, lambda: len(rows))


def catboost_rank(model, file):
    import numpy as np
    from catboost import CatBoost

    started = used(), time.perf_counter()
    catboost = CatBoost().load_model(model)
    rows = sqlite3.connect(file).execute("SELECT query_id, doc_id, features FROM documents").fetchall()
    queries = np.array([row[0] for row in rows])
    x = np.frombuffer(b"".join([row[2] for row in rows]), "<f4").reshape(len(rows), -1)
    scores = catboost.predict(x, thread_count=1)
    order = np.lexsort((-scores, queries))
    ranked = [(rows[row][0], rows[row][1], score) for row, score in zip(order.tolist(), scores[order].tolist())]
    finish("sqlite3, numpy and CatBoost.predict", started, lambda: len(ranked))


def rank(library, source, python):
    with tempfile.TemporaryDirectory() as folder:
        file, model = os.path.join(folder, "documents.db"), os.path.join(folder, "model.cbm")
        run(sys.executable, "ours_train", library, file, source)
        if python:
            run(python, "catboost_train", model, source)
        rows = []
        for _ in range(5):
            rows.append(run(sys.executable, "ours_rank", library, file))
            if python:
                rows.append(run(python, "catboost_rank", model, file))
    for name in sorted({row["name"] for row in rows}):
        cpu, wall = (min(row[key] for row in rows if row["name"] == name) for key in ("cpu", "wall"))
        print(f"{cpu:.3f} CPU-s  {wall:.3f} s  {name}, least of 5 runs")


def run(python, *arguments, script=__file__):
    """The row of a training in a separate process."""
    output = subprocess.run([python, script, *arguments], check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])


def interactions(library, file, python):
    settings = [{"trees": 240}, {"trees": 240, "learning_rate": 0.15}, {"trees": 400}]
    rows = [run(sys.executable, "ours", library, file, "without", json.dumps(given)) for given in settings]
    if python:
        for rate in ({}, {"learning_rate": 0.15}, {"learning_rate": 0.25}):
            options = json.dumps({"iterations": 240, **rate})
            rows += [run(python, peer, file, "without", options) for peer in ("catboost", "lightgbm")]
    for row in rows:
        print("{ndcg:.4f}  {cpu:6.1f} CPU-s  {wall:6.1f} s  {mb:5.0f} MB  {name}".format(**row))


def kinds(library, script, python):
    print("queries  noise  without    with  CatBoost with")
    for queries, noise in CELLS:
        values = {"without": [], "with": [], "catboost": []}
        for seed in range(3):
            with tempfile.TemporaryDirectory() as folder:
                file = os.path.join(folder, "kinds.db")
                subprocess.run([python, script, "kinds", file, str(queries), str(noise), str(seed)], check=True)
                options = json.dumps({"seed": seed})
                for kind in SOURCES:
                    values[kind].append(run(sys.executable, "ours", library, file, kind, options)["ndcg"])
                given = json.dumps({"random_seed": seed, "learning_rate": 0.08})
                values["catboost"].append(run(python, "catboost", file, "with", given)["ndcg"])
        means = {name: statistics.mean(found) for name, found in values.items()}
        print(f"{queries:7}  {noise:5}  {means['without']:.4f}  {means['with']:.4f}  {means['catboost']:.4f}", flush=True)


def main():
    if sys.argv[1] in ("ours", "catboost", "lightgbm", "ours_train", "catboost_train", "ours_rank", "catboost_rank"):
        globals()[sys.argv[1]](*sys.argv[2:])
        return
    library, what, file = sys.argv[1:4]
    python = sys.argv[4] if len(sys.argv) > 4 else None
    {"interactions": interactions, "kinds": kinds, "rank": rank}[what](library, file, python)


if __name__ == "__main__":
    main()
