"""Whether the documents that min_probability leaves are as often relevant as promised, on test queries.

    benches/probability.py LIBRARY DATA [SET [ALGORITHM ...]]

DATA is the folder of the data; SET is yandex (default), mslr, mq2008, dating, electricity or qbf-2011. A document is relevant from
grade 2 (mq2008 and electricity 1, dating 3.2, qbf-2011 3). The last three have a different split for each seed. For each
promised precision the cutoff is the lowest at which the mean probability of the test documents above it is the promise: no test
grade is read for it. A line has the precision of these documents, and their number. LightGBM is the binary objective with
scikit-learn's isotonic map of scores of five folds; it runs if both are installed. "x" is the seconds of the training with the
option, divided by the seconds without.
"""

import json
import sqlite3
import sys
import time
from pathlib import Path

LIBRARY, DATA = sys.argv[1], Path(sys.argv[2])
SET = sys.argv[3] if len(sys.argv) > 3 else "yandex"
ALGORITHMS = sys.argv[4:] or ["boosted_trees", "lambdamart", "list_net", "regression", "auto", "LightGBM"]
SETS = {
    "yandex": ("yandex", ["train.txt"], ["test.txt"], 2),
    "mslr": ("mslr-sample", ["train.txt"], ["test.txt"], 2),
    "mq2008": ("mq2008", ["S1.txt", "S2.txt", "S3.txt"], ["S5.txt"], 1),
}
DATABASES = {"dating": 3.2, "electricity": 1, "qbf-2011": 3}
PROMISES, SEEDS = [0.4, 0.5, 0.6], range(3)

db = sqlite3.connect(":memory:")
db.enable_load_extension(True)
db.load_extension(LIBRARY)
if SET in DATABASES:
    THRESHOLD = DATABASES[SET]
    db.execute("ATTACH ? AS data", [str(DATA / "queries" / f"{SET}.db")])
    columns = [column for (column,) in db.execute("SELECT name FROM pragma_table_info('rows', 'data') WHERE name LIKE 'x%'")]
else:
    FOLDER, TRAIN, TEST, THRESHOLD = SETS[SET]
    for name, files in (("train", TRAIN), ("test", TEST)):
        union = " UNION ALL ".join("SELECT * FROM ltr_letor(?)" for _ in files)
        db.execute(f"CREATE TABLE {name} AS {union}", [str(DATA / FOLDER / file) for file in files])


def split(seed):
    """Makes the tables of a seed; the test set has the validation part too."""
    for name, sign in (("train", "="), ("test", "<>")) if SET in DATABASES else ():
        db.execute(f"DROP TABLE IF EXISTS {name}")
        vector = f"ltr_vec({', '.join(columns)})"
        rows = f"SELECT query_id, doc_id, relevance, {vector} AS features FROM data.rows JOIN data.split USING (query_id)"
        db.execute(f"CREATE TABLE {name} AS {rows} WHERE seed = ? AND part {sign} 'train'", [seed])


def precisions(rows):
    """The precision at each promise, from probability and relevance of each document."""
    rows, found = sorted(rows, reverse=True), []
    for promise in PROMISES:
        promised, relevant, best = 0.0, 0, None
        for count, (probability, is_relevant) in enumerate(rows, 1):
            promised, relevant = promised + probability, relevant + is_relevant
            last = count == len(rows) or rows[count][0] < probability
            if last and promised >= promise * count:
                best = relevant / count, count
        found.append(best)
    return found


def ours(algorithm, seed):
    seconds = []
    for more in ({}, {"probability": True, "threshold": THRESHOLD}):
        options = json.dumps({"name": "m", "seed": seed, **more})
        start = time.process_time()
        report = json.loads(db.execute("SELECT ltr_train(?, 'train', ?)", (algorithm, options)).fetchone()[0])
        seconds.append(time.process_time() - start)
    found = report["probability"]
    times = f"x{seconds[1] / seconds[0]:.2f}"
    if "problem" in found:
        return f"{times} refused: gain {found['gain']:.4f}, error {found['error_of_gain']:.4f}", None
    sql = """SELECT r.probability, t.relevance >= ? FROM ltr_rank('m', 'SELECT * FROM test') AS r JOIN test AS t USING (query_id, doc_id)"""
    rows = db.execute(sql, (THRESHOLD,)).fetchall()
    return f"{times} {found['map']}, {found['knots']} knots", rows


def arrays(name):
    import numpy as np

    rows = db.execute(f"SELECT query_id, relevance, features FROM {name} ORDER BY query_id, doc_id").fetchall()
    x = np.array([np.frombuffer(features, "<f4") for _, _, features in rows])
    return np.unique([str(query) for query, _, _ in rows], return_inverse=True)[1], np.array([float(r >= THRESHOLD) for _, r, _ in rows]), x


def lightgbm(seed):
    import lightgbm as lgb
    import numpy as np
    from sklearn.isotonic import IsotonicRegression

    (query, y, x), (_, test_y, test_x) = arrays("train"), arrays("test")

    def fit(rows):
        options = {"objective": "binary", "learning_rate": 0.05, "num_leaves": 31, "seed": seed, "verbose": -1}
        return lgb.train(options, lgb.Dataset(x[rows], y[rows]), 100)

    fold = (np.random.RandomState(seed).permutation(query.max() + 1) % 5)[query]
    scores = np.zeros(len(y))
    for part in range(5):
        scores[fold == part] = fit(fold != part).predict(x[fold == part])
    to_probability = IsotonicRegression(out_of_bounds="clip").fit(scores, y)
    return "isotonic", list(zip(to_probability.predict(fit(fold >= 0).predict(test_x)), test_y))


print(f"{SET}, promised {PROMISES}")
for algorithm in ALGORITHMS:
    for seed in SEEDS:
        split(seed)
        try:
            told, rows = lightgbm(seed) if algorithm == "LightGBM" else ours(algorithm, seed)
        except ImportError as missing:
            print(f"{algorithm}: {missing}")
            break
        found = [] if rows is None else precisions(rows)
        shown = [f"{one[0]:.3f} ({one[1]})" if one else "none" for one in found]
        print(f"{algorithm:14}{seed}  {told:40} {'  '.join(shown)}", flush=True)
