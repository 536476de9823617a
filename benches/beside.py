"""What a user waits for, compared with other libraries: CPU seconds of one thread, in one run.

    benches/beside.py LIBRARY[,LIBRARY...] DATA [PYTHON] [CASE...]

DATA is the folder of the data (MQ2008 and the sample of MSLR are read). PYTHON is an interpreter with numpy, lightgbm,
xgboost and catboost, which predict and whose models are imported; without it only own models are measured.
Each figure is the median of RUNS separate processes; libraries and peers alternate. CASE is the start of the name of a case.
The last column is the first column over the last library, the one before it over the peer.
"""

import json
import os
import platform
import sqlite3
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from functools import partial

RUNS = 5
PARTS = {
    "train": (46, ["mq2008/S1.txt", "mq2008/S2.txt", "mq2008/S3.txt", "mq2008/S4.txt"]),
    "test": (46, ["mq2008/S5.txt"]),
    "mslr": (136, ["mslr-sample/train.txt", "mslr-sample/vali.txt"]),
}
# Name: algorithm and options.
MODELS = {
    "linear": ("rank_svm", {"lambda": 0.01}),
    "trees": ("boosted_trees", {"trees": 240}),
    "gaussian": ("rank_svm", {"kernel": "gaussian", "lambda": 0.001}),
    "auto": ("auto", {}),
}
PEERS = ["lightgbm", "xgboost", "catboost"]
TREES = 500
PEER_ROUNDS = 20


def connect(library, file):
    db = sqlite3.connect(file)
    db.enable_load_extension(True)
    db.load_extension(library)
    return db


def drain(db, sql, parameters=()):
    for _ in db.execute(sql, parameters):
        pass


def fill(library, data, file):
    """Tables of rows, tables of simulated rows, and own models."""
    db = connect(library, file)
    for table, (width, files) in PARTS.items():
        db.execute(f"CREATE TABLE {table} (query_id, doc_id, relevance, features)")
        for path in files:
            rows = "SELECT query_id, doc_id, relevance, features FROM ltr_letor(?, json_object('feature_count', ?))"
            db.execute(f"INSERT INTO {table} {rows}", (os.path.join(data, path), width))
    # A pseudo-random number of 0 to 1 for each row and column, and grades that depend on three of them.
    noise = "(abs(({0} * 7919 + {1}) * ({0} + 104729) * 31) % 9973) / 9973.0"
    for table, queries, documents, width in (("long", 2, 5000, 20), ("queries", 100, 20, 40)):
        columns = ", ".join(noise.format("d", column) + f" AS x{column}" for column in range(width))
        q = ", ".join(noise.format("(q + 11)", column) + f" AS q{column}" for column in range(2))
        db.execute(
            f"""CREATE TABLE {table} AS SELECT q AS query_id, d AS doc_id,
                   CAST(2 * x0 + 2 * x1 * (q0 > .5) + x2 * 1.9 AS INTEGER) AS relevance, * FROM (SELECT *, {columns}, {q}
                   FROM (SELECT value / {documents} AS q, value AS d FROM json_each(
                       (WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {queries * documents} - 1)
                        SELECT json_group_array(i) FROM n))))"""
        )
        db.execute(f"ALTER TABLE {table} DROP COLUMN q")
        db.execute(f"ALTER TABLE {table} DROP COLUMN d")
    db.commit()
    for name, (algorithm, options) in MODELS.items():
        drain(db, "SELECT ltr_train(?, 'train', ?)", (algorithm, json.dumps({"name": name, **options})))
    db.commit()


def repeated(db, sql, parameters, rounds):
    """Seconds of a call after the first."""
    drain(db, sql, parameters)
    started = time.process_time()
    for _ in range(rounds):
        drain(db, sql, parameters)
    return (time.process_time() - started) / rounds


def once(db, sql, parameters=()):
    started = time.process_time()
    drain(db, sql, parameters)
    return time.process_time() - started


def importance(model):
    return lambda db: once(db, "SELECT * FROM ltr_importance(?, 'test', '{\"threads\": 1}')", (model,))


def fit(algorithm, table, **options):
    options = json.dumps({"threads": 1, **options})
    return lambda db: once(db, "SELECT length(ltr_fit(?, ?, ?))", (algorithm, table, options))


def rank(model, source="test"):
    sql = "SELECT score FROM ltr_rank(?, ?, '{\"threads\": 1}')"
    return lambda db: repeated(db, sql, (model, source), 5)


def rank_columns(db):
    """46 columns in place of one vector."""
    columns = ", ".join(f"x{column}" for column in range(46))
    db.execute(f"CREATE TEMP TABLE wide (query_id, doc_id, relevance, {columns})")
    for query, document, relevance, features in db.execute("SELECT * FROM test").fetchall():
        values = struct.unpack("<46f", features)
        db.execute(f"INSERT INTO wide VALUES (?, ?, ?{', ?' * 46})", (query, document, relevance, *values))
    drain(db, "SELECT ltr_train('rank_svm', 'wide', '{\"name\": \"wide\", \"lambda\": 0.01}')")
    return rank("wide", "wide")(db)


def score(model):
    return lambda db: repeated(db, "SELECT ltr_score(?, features) FROM test", (model,), 5)


def ten(model):
    sql = "SELECT doc_id, score FROM ltr_rank(?, 'ten')"

    def run(db):
        db.execute("CREATE TEMP TABLE ten AS SELECT * FROM test LIMIT 10")
        return repeated(db, sql, (model,), 2000)

    return run


# Name of a case: what it does, and the library compared with it.
CASES = {
    **{f"importance {model}": (importance(model), None) for model in [*MODELS, *PEERS]},
    "choice list_net": (fit("list_net", "mslr"), None),
    "choice rank_svm": (fit("rank_svm", "mslr"), None),
    "2 lists of 5000": (fit("rank_svm", "long"), None),
    "2 lists of 5000, list_net": (fit("list_net", "long"), None),
    "q_svm 100 queries": (fit("q_svm", "queries", columns={"query_features": ["q0", "q1"]}), None),
    "q_svm mslr": (fit("q_svm", "mslr"), None),
    "direct mslr": (fit("direct", "mslr"), None),
    "lambdamart train": (fit("lambdamart", "train"), "lightgbm train"),
    "lambdamart mslr": (fit("lambdamart", "mslr"), "lightgbm mslr"),
    "boosted_trees train": (fit("boosted_trees", "train"), "lightgbm train"),
    "boosted_trees mslr": (fit("boosted_trees", "mslr"), "lightgbm mslr"),
    "auto train": (fit("auto", "train"), None),
    "rank 46 columns": (rank_columns, None),
    **{f"rank {model}": (rank(model), model if model in PEERS else None) for model in [*MODELS, *PEERS]},
    **{f"score {model}": (score(model), model if model in PEERS else None) for model in [*MODELS, *PEERS]},
    **{f"ten {model}": (ten(model), None) for model in ("linear", "trees", "gaussian")},
}


# In the interpreter with the peers.


def rows(db, table):
    import numpy as np

    found = db.execute(f"SELECT query_id, relevance, features FROM {table} ORDER BY query_id, doc_id").fetchall()
    x = np.array([np.frombuffer(row[2], "<f4") for row in found])
    queries = np.array([row[0] for row in found])
    return x, np.array([row[1] for row in found]), queries


def train_peer(file, table):
    """Prints the seconds of 500 trees of LightGBM."""
    import lightgbm
    import numpy as np

    x, y, queries = rows(sqlite3.connect(file), table)
    sizes = np.diff(np.flatnonzero(np.r_[True, queries[1:] != queries[:-1], True]))
    given = {"objective": "lambdarank", "num_threads": 1, "verbose": -1, "learning_rate": 0.05}
    started = time.process_time()
    lightgbm.train(given, lightgbm.Dataset(x, y, group=sizes), TREES)
    print(time.process_time() - started)


def peer(name, file, folder):
    """Trains and saves a model, or predicts with the saved one; prints the seconds of a prediction."""
    import numpy as np

    if " " in name:
        return train_peer(file, name.split()[1])
    db = sqlite3.connect(file)
    saved = os.path.join(folder, name)
    x, y, queries = rows(db, "test" if os.path.exists(saved) else "train")
    sizes = np.diff(np.flatnonzero(np.r_[True, queries[1:] != queries[:-1], True]))
    if name == "lightgbm":
        import lightgbm

        if not os.path.exists(saved):
            given = {"objective": "lambdarank", "num_threads": 1, "verbose": -1, "learning_rate": 0.05}
            return lightgbm.train(given, lightgbm.Dataset(x, y, group=sizes), TREES).save_model(saved)
        model = lightgbm.Booster(model_file=saved)
        predict = partial(model.predict, x, num_threads=1)
    elif name == "xgboost":
        import xgboost

        if not os.path.exists(saved):
            matrix = xgboost.DMatrix(x, y)
            matrix.set_group(sizes)
            given = {"objective": "rank:ndcg", "nthread": 1, "eta": 0.05, "max_depth": 6}
            text = xgboost.train(given, matrix, TREES).save_raw("json")
            return open(saved, "wb").write(text)
        model = xgboost.Booster({"nthread": 1})
        model.load_model(bytearray(open(saved, "rb").read()))
        predict = partial(model.inplace_predict, x)
    else:
        from catboost import CatBoost, Pool

        if not os.path.exists(saved):
            given = {"loss_function": "YetiRank", "iterations": TREES, "thread_count": 1}
            model = CatBoost({**given, "verbose": False, "allow_writing_files": False})
            return model.fit(Pool(x, y, group_id=queries)).save_model(saved, format="json")
        model = CatBoost()
        model.load_model(saved, format="json")
        predict = partial(model.predict, x, thread_count=1)
    predict()
    started = time.process_time()
    for _ in range(PEER_ROUNDS):
        predict()
    print((time.process_time() - started) / PEER_ROUNDS)


def child(python, *arguments):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    run = subprocess.run([python, __file__, *arguments], capture_output=True, text=True, env=environment)
    if run.returncode:
        return None
    return float(run.stdout or 0)


def processor():
    if os.path.exists("/proc/cpuinfo"):
        lines = [line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
        return lines[0]
    return platform.processor()


def main(libraries, data, *rest):
    libraries = libraries.split(",")
    python, rest = (rest[0], rest[1:]) if rest and os.path.exists(rest[0]) else (None, rest)
    with tempfile.TemporaryDirectory() as folder:
        # Each library has a file of its own: one doesn't read the models of the other.
        files = [os.path.join(folder, f"{number}.db") for number in range(len(libraries))]
        for library, file in zip(libraries, files, strict=True):
            fill(library, data, file)
        known = set(MODELS)
        for name in PEERS if python else []:
            if child(python, "--peer", name, files[0], folder) is None:
                continue
            text = open(os.path.join(folder, name), encoding="utf-8").read()
            for library, file in zip(libraries, files, strict=True):
                db = connect(library, file)
                drain(db, "SELECT ltr_import(?, ?)", (text, json.dumps({"name": name})))
                db.commit()
            known.add(name)
        print(f"{processor()}; load {os.getloadavg()[0]:.1f}; medians of {RUNS}, seconds")
        print(f"{'case':26}", *(f"{os.path.basename(name)[-10:]:>11}" for name in libraries), f"{'peer':>11}")
        for name, (_, beside) in CASES.items():
            if rest and not name.startswith(tuple(rest)):
                continue
            if name.split()[-1] in PEERS and name.split()[-1] not in known:
                continue
            found = [[] for _ in [*libraries, "peer"]]
            for _ in range(RUNS):
                for own, library, file in zip(found, libraries, files, strict=False):
                    own.append(child(sys.executable, "--case", name, library, file))
                if beside and python:
                    found[-1].append(child(python, "--peer", beside, files[0], folder))
            medians = [statistics.median(values) if values and None not in values else None for values in found]
            cells = [f"{median:11.6f}" if median is not None else f"{'-':>11}" for median in medians]
            own = medians[len(libraries) - 1]
            ratios = [f"{other / own:7.2f}" if own and other else f"{'-':>7}" for other in (medians[-1], medians[0])]
            print(f"{name:26}", *cells, *ratios, flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--case":
        print(CASES[sys.argv[2]][0](connect(sys.argv[3], sys.argv[4])))
    elif sys.argv[1] == "--peer":
        peer(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
