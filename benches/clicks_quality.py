"""What training on clicks reaches: benches/clicks_quality.py LIBRARY DATA [SEEDS]

The first day of a search box: clicks_quality.py first LIBRARY DATABASE DRAW... [COLUMN=VALUE...], with a database of
`benches/data text`; only cells with one of the values of each column named run. `clicks_quality.py first-summary COLUMN,...
FILE...` makes a table from the JSON lines. See `first_day`.

Simulated clicks on MQ2008 and the MSLR sample (DATA is the folder of `LTR_DATA`). A ranker trained on 1 % of the training
queries ranks all documents; 100,000 impressions of random training queries; users look at rank r with probability r^-eta,
and click on a document of grade y that they look at with probability .1 + .9 (2^y - 1) / (2^max - 1). The propensities are
known. A row per seed and training: NDCG@10 on the validation and on the test queries, a query without a relevant document
counting 0. For every training lambda is chosen on the judged validation queries.

Needs numpy and lightgbm. Prints JSON lines; `clicks_quality.py summary FILE` makes the table from them.
"""

import itertools
import json
import random
import sqlite3
import struct
import sys
from collections import defaultdict

CLIP = 0.01
IMPRESSIONS = 100_000
NOISE = 0.1
LAMBDAS = [0.001, 0.01, 0.1, 1, 10]
GRADES = {"mq2008": 2, "mslr-sample": 4}


def load(db, folder, name, seed):
    """The tables train, vali and test. MQ2008 has five folds."""
    if name == "mq2008":
        parts = [[f"S{(seed + k) % 5 + 1}.txt" for k in numbers] for numbers in ([0, 1, 2], [3], [4])]
        width = 46
    else:
        parts, width = [["train.txt"], ["vali.txt"], ["test.txt"]], 136
    for table, files in zip(["train", "vali", "test"], parts):
        db.execute(f"DROP TABLE IF EXISTS {table}")
        db.execute(f"CREATE TABLE {table}(query_id, doc_id INTEGER PRIMARY KEY, relevance, features)")
        for file in files:
            rows = "SELECT query_id, NULL, relevance, features FROM ltr_letor(?, json_object('feature_count', ?))"
            db.execute(f"INSERT INTO {table} {rows}", (f"{folder}/{name}/{file}", width))


def train(db, algorithm, source, **options):
    options = {"name": "model", "validation": "vali", "undefined": "zero", "lambda": LAMBDAS, "threads": 1} | options
    db.execute("SELECT ltr_train(?, ?, ?)", (algorithm, source, json.dumps(options))).fetchone()


def ndcg(db, table):
    options = '{"undefined": "zero"}'
    sql = "SELECT value FROM ltr_evaluate('model', ?, ?) WHERE query_id IS NULL"
    return db.execute(sql, (table, options)).fetchone()[0]


class Log:
    """Impressions and clicks by document of the training queries. A document always has the same rank."""

    def __init__(self, db, name, seed, eta):
        import numpy as np

        rng = np.random.default_rng(1000 * seed + 7)
        rows = db.execute("SELECT query_id, doc_id, relevance FROM train ORDER BY query_id, doc_id").fetchall()
        self.query, self.doc = [row[0] for row in rows], [row[1] for row in rows]
        self.grade = np.array([row[2] for row in rows], dtype=float)
        queries, number = np.unique(self.query, return_inverse=True)
        differ = "SELECT query_id FROM train GROUP BY 1 HAVING max(relevance) > min(relevance) ORDER BY 1"
        differ = [row[0] for row in db.execute(differ)]
        chosen = rng.choice(differ, max(1, round(0.01 * len(queries))), replace=False).tolist()
        train(
            db,
            "rank_svm",
            f"SELECT * FROM train WHERE query_id IN ({json.dumps(chosen)[1:-1]})",
            **{"lambda": 0.01, "name": "model"},
        )
        ranks = dict(db.execute("SELECT doc_id, rank FROM ltr_rank('model', 'train')").fetchall())
        self.impressions = rng.multinomial(IMPRESSIONS, [1 / len(queries)] * len(queries))[number]
        self.propensity = np.array([ranks[doc] for doc in self.doc], dtype=float) ** -eta
        attractive = NOISE + (1 - NOISE) * (2**self.grade - 1) / (2 ** GRADES[name] - 1)
        self.clicks = rng.binomial(self.impressions, self.propensity * attractive)

    def rate(self, is_weighted):
        """Clicks per impression, each weighed by 1 / propensity or not."""
        import numpy as np

        weight = 1 / np.maximum(self.propensity, CLIP) if is_weighted else 1.0
        return self.clicks * weight / np.maximum(self.impressions, 1)

    def attractiveness(self):
        """The position-based model with known propensities and the prior of `ltr_judgments`."""
        import numpy as np

        n, c, p = self.impressions, self.clicks, self.propensity
        mean = c.sum() / (n * p).sum()
        a = np.full(len(n), mean)
        for _ in range(500):
            a = (2 * mean + c + (n - c) * a * (1 - p) / np.maximum(1 - a * p, 1e-12)) / (2 + n)
        return a


def store(db, log, rows):
    """The table clicked: documents of the log by number, with relevance and doc_weight, and their features."""
    db.execute("DROP TABLE IF EXISTS judgments")
    db.execute("CREATE TABLE judgments(doc_id, relevance, doc_weight)")
    rows = ((log.doc[number], float(relevance), float(weight)) for number, relevance, weight in rows)
    db.executemany("INSERT INTO judgments VALUES (?, ?, ?)", rows)
    db.execute("DROP TABLE IF EXISTS clicked")
    columns = "query_id, doc_id, j.relevance, j.doc_weight, features"
    db.execute(f"CREATE TABLE clicked AS SELECT {columns} FROM judgments AS j JOIN train USING (doc_id)")


def trainings(log):
    """Name, algorithm, rows and options of each training."""
    import numpy as np

    every = range(len(log.doc))
    by_rate = {"pair_weights": "grade"}
    for way, rate in [("naive", log.rate(False)), ("weighted", log.rate(True)), ("pbm", log.attractiveness())]:
        ones = [1.0] * len(rate)
        scaled = 4 * rate / np.quantile(rate, 0.99) if way == "naive" else 4 * rate
        yield f"rank_svm {way} rate", "rank_svm", list(zip(every, rate, ones)), by_rate
        yield f"list_net {way} rate", "list_net", list(zip(every, scaled, ones)), {}
        if way != "pbm":
            both = [(number, 1, rate[number]) for number in every] + [(number, 0, 0) for number in every]
            yield f"rank_svm {way} doc_weight", "rank_svm", both, {}


def boosted(db, values, seed):
    """LightGBM lambdarank on values of the training documents: NDCG@10 on vali and test."""
    import lightgbm
    import numpy as np

    def read(table):
        rows = db.execute(
            f"SELECT query_id, doc_id, relevance, features FROM {table} ORDER BY query_id, doc_id"
        ).fetchall()
        features = np.array([np.frombuffer(row[3], dtype="<f4") for row in rows])
        _, counts = np.unique([row[0] for row in rows], return_counts=True)
        return [row[:2] for row in rows], np.array([row[2] for row in rows]), features, counts

    _, own, features, counts = read("train")
    levels = np.round(30 * np.minimum(values / np.quantile(values, 0.99), 1)) if values is not None else own
    settings = {
        "objective": "lambdarank",
        "learning_rate": 0.05,
        "num_leaves": 15,
        "min_data_in_leaf": 50,
        "lambdarank_truncation_level": 20,
        "metric": "ndcg",
        "eval_at": [10],
        "seed": seed,
        "num_threads": 1,
        "deterministic": True,
        "verbose": -1,
    }
    if values is not None:
        settings["label_gain"] = list(range(31))
    model = lightgbm.train(settings, lightgbm.Dataset(features, levels, group=counts), num_boost_round=200)

    def measure(table, rounds):
        ids, relevance, features, _ = read(table)
        scores = model.predict(features, num_iteration=rounds)
        db.execute("CREATE TEMP TABLE scored(query_id, relevance, score)")
        rows = [(ids[k][0], float(relevance[k]), float(scores[k])) for k in range(len(ids))]
        db.executemany("INSERT INTO scored VALUES (?, ?, ?)", rows)
        sql = (
            "SELECT avg(coalesce(n, 0)) FROM (SELECT ltr_ndcg(relevance, score, 10) AS n FROM scored GROUP BY query_id)"
        )
        value = db.execute(sql).fetchone()[0]
        db.execute("DROP TABLE scored")
        return value

    best = max([10, 20, 40, 80, 120, 200], key=lambda rounds: measure("vali", rounds))
    return measure("vali", best), measure("test", best)


def run(db, folder, name, eta, seed):
    load(db, folder, name, seed)
    log = Log(db, name, seed, eta)

    def report(training, vali, test):
        row = {"data": name, "eta": eta, "seed": seed, "training": training, "vali": vali, "test": test}
        print(json.dumps(row), flush=True)

    report("logging", ndcg(db, "vali"), ndcg(db, "test"))
    for algorithm in ["rank_svm", "list_net"]:
        train(db, algorithm, "train")
        report(f"{algorithm} full", ndcg(db, "vali"), ndcg(db, "test"))
    for training, algorithm, rows, options in trainings(log):
        store(db, log, rows)
        train(db, algorithm, "clicked", **options)
        report(training, ndcg(db, "vali"), ndcg(db, "test"))
    values = {"full": None, "naive rate": log.rate(False), "weighted rate": log.rate(True)}
    for way, found in values.items():
        report(f"lambdarank {way}", *boosted(db, found, seed))


def summary(file, part):
    """Means over seeds, and the share of the gap between naive and full that is closed, with a bootstrap interval."""
    found = defaultdict(dict)
    with open(file) as lines:
        for line in lines:
            row = json.loads(line)
            found[row["data"], row["eta"], row["training"]][row["seed"]] = row[part]
    rng = random.Random(1)
    for (data, eta, training), values in found.items():
        words = training.split()
        numbers = list(values.values())
        mean = sum(numbers) / len(numbers)
        text = f"{data} eta {eta:g} {training:28} {mean:.4f} n={len(numbers)}"
        naive = f"{words[0]} naive {'doc_weight' if words[-1] == 'doc_weight' else 'rate'}"
        low, high = found.get((data, eta, naive)), found.get((data, eta, f"{words[0]} full"))
        if training not in ("logging", naive, f"{words[0]} full"):
            seeds = sorted(set(values) & set(low) & set(high))
            gaps = [high[seed] - low[seed] for seed in seeds]
            gains = [values[seed] - low[seed] for seed in seeds]
            gap = sum(gaps) / len(gaps)
            error = (sum((x - gap) ** 2 for x in gaps) / max(len(gaps) - 1, 1) / len(gaps)) ** 0.5
            shares = []
            for _ in range(2000):
                pick = rng.choices(range(len(seeds)), k=len(seeds))
                below = sum(gaps[k] for k in pick)
                shares.append(sum(gains[k] for k in pick) / below if below else 0)
            shares.sort()
            text += f"  gap {gap:.4f} (se {error:.4f})  closed {sum(gains) / sum(gaps):.2f} [{shares[50]:.2f}, {shares[1949]:.2f}]"
        print(text)


SHOWN, CANDIDATES = 10, 30
ORDERS, LISTS, USERS = (0.0, 0.02, 0.15, 1.0), (200, 2000), ("rank", "cascade", "fold")
COUNTERS = ("none", "same lists", "other queries", "none, and x")
TRAININGS = {
    "list_net": {},
    "rank_svm": {},
    "boosted_trees": {},
    "list_net, baseline": {"baseline": "bm25"},
    "boosted_trees, baseline": {"baseline": "bm25"},
    "true grades": {},
}


def candidates(db, path):
    """The table cands: the best candidates of each query by bm25, their features and grades. Returns queries with grades,
    and the features."""
    db.execute("ATTACH ? AS texts", (path,))
    db.execute("CREATE VIRTUAL TABLE docs USING fts5(title, text, id UNINDEXED, tokenize = 'porter')")
    db.execute("INSERT INTO docs(title, text, id) SELECT title, text, doc_id FROM texts.docs")
    found = f"""SELECT ?1, id, -rank, length(text), ltr_fts(docs) FROM docs
                 WHERE docs MATCH ltr_fts_query(?2) ORDER BY rank LIMIT {CANDIDATES}"""
    rows = []
    for query in db.execute("SELECT query_id, text FROM texts.queries").fetchall():
        rows += [row[:4] + struct.unpack(f"<{len(row[4]) // 4}f", row[4]) for row in db.execute(found, query)]
    names = [f"text{number}" for number in range(len(rows[0]) - 4)]
    db.execute(f"CREATE TABLE cands(query_id, doc_id, bm25, length, {', '.join(names)})")
    db.executemany(f"INSERT INTO cands VALUES ({', '.join('?' * len(rows[0]))})", rows)
    db.execute("ALTER TABLE cands ADD COLUMN grade DEFAULT 0")
    db.execute("ALTER TABLE cands ADD COLUMN x")
    db.execute(
        "UPDATE cands SET grade = coalesce((SELECT max(relevance) FROM texts.judgments AS j"
        " WHERE j.query_id = cands.query_id AND j.doc_id = cands.doc_id), 0)"
    )
    rng = random.Random("x")
    (most,) = db.execute("SELECT max(grade) FROM cands").fetchone()
    rows = db.execute("SELECT grade, rowid FROM cands").fetchall()
    db.executemany("UPDATE cands SET x = ? WHERE rowid = ?", [(grade / most + rng.gauss(0, 0.5), row) for grade, row in rows])
    differ = "SELECT query_id FROM cands GROUP BY 1 HAVING max(grade) > min(grade) ORDER BY 1"
    return [row[0] for row in db.execute(differ)], ", ".join(["bm25", "length", *names, "x"])


def clicks_of(rng, users, attractive):
    """The clicks on a list of documents by their attractiveness."""
    clicks, goes_on = [], True
    for place, attraction in enumerate(attractive):
        looks = {"rank": rng.random() < 1 / (place + 1), "cascade": goes_on, "fold": place < 5}[users]
        clicks.append(int(looks and rng.random() < attraction))
        goes_on &= not (clicks[-1] and rng.random() < 0.7) and rng.random() < 0.9
    return clicks


def first_log(db, rng, queries, shuffled, lists, users):
    """The table log of lists with the first ten by bm25, some of which are shuffled."""
    (most,) = db.execute("SELECT max(grade) FROM cands").fetchone()
    shown = {}
    for query in queries:
        rows = db.execute("SELECT doc_id, grade FROM cands WHERE query_id = ? ORDER BY bm25 DESC LIMIT ?", (query, SHOWN))
        shown[query] = [(doc, 0.05 + 0.65 * (2**grade - 1) / (2**most - 1)) for doc, grade in rows]
    db.execute("DROP TABLE IF EXISTS log")
    db.execute("CREATE TABLE log(impression, query_id, doc_id, position, clicked)")
    weights = [1 / (number + 1) ** 0.7 for number in range(len(queries))]
    for impression, query in enumerate(rng.choices(queries, weights, k=lists)):
        listed = list(shown[query])
        if rng.random() < shuffled:
            rng.shuffle(listed)
        clicks = clicks_of(rng, users, [attraction for _, attraction in listed])
        rows = [(impression, query, doc, at + 1, click) for at, ((doc, _), click) in enumerate(zip(listed, clicks))]
        db.executemany("INSERT INTO log VALUES (?, ?, ?, ?, ?)", rows)


def judged(db, lists, counter):
    """The table judged of the lists, with the feature doc_clicks. With a counter the first half of the lists counts clicks on
    each document, of all queries or of others than the row's, and the other half is judged."""
    half = lists // 2 if counter.startswith(("same", "other")) else 0
    db.execute("DELETE FROM counts")
    count = "SELECT doc_id, query_id, sum(clicked) FROM log WHERE impression < ? GROUP BY 1, 2"
    db.execute(f"INSERT INTO counts {count}", (half,))
    db.execute("DROP TABLE IF EXISTS judged")
    other = "AND c.query_id <> j.query_id" if counter.startswith("other") else ""
    db.execute(
        f"""CREATE TABLE judged AS SELECT query_id, doc_id, relevance, doc_weight, determined,
              (SELECT total(counted) FROM counts AS c WHERE c.doc_id = j.doc_id {other}) AS doc_clicks
              FROM ltr_judgments('SELECT * FROM log WHERE impression >= {half}') AS j"""
    )


def first_day(db, path, draw, only):
    """Half of the queries search, and see the ten best of bm25. Users look at rank r with probability 1 / r, or go down until
    satisfied, or look at the first five. The other half of the queries measures by true grades: all candidates in the order of
    the model, and only the ten that a search shows. x is a column that knows more than the text."""
    queries, features = candidates(db, path)
    rng = random.Random(f"split {draw}")
    rng.shuffle(queries)
    searched, measured = queries[::2], queries[1::2]
    db.execute("CREATE TABLE measured AS SELECT value AS query_id FROM json_each(?)", (json.dumps(measured),))
    db.execute("CREATE TABLE counts(doc_id, query_id, counted, PRIMARY KEY (doc_id, query_id))")
    db.execute(
        f"""CREATE VIEW test AS SELECT query_id, doc_id, grade, {features},
              row_number() OVER (PARTITION BY query_id ORDER BY bm25 DESC) AS place,
              (SELECT total(counted) FROM counts AS c WHERE c.doc_id = cands.doc_id) AS doc_clicks
              FROM cands JOIN measured USING (query_id)"""
    )
    measure = f"""SELECT avg(every), avg(shown), avg(served) FROM (
        SELECT ltr_ndcg(grade, score, 10) AS every, ltr_ndcg(grade, iif(place <= {SHOWN}, score, bm25 - 1e9), 10) AS shown,
               ltr_ndcg(grade, bm25, 10) AS served
          FROM ltr_rank('m', 'SELECT query_id, doc_id, doc_clicks, {features} FROM test') JOIN test USING (query_id, doc_id)
         GROUP BY query_id)"""

    def kept(column, values):
        return [value for value in values if str(value) in only.get(column, [str(value)])]

    logs = itertools.product(kept("shuffled", ORDERS), kept("lists", LISTS), kept("users", USERS))
    for shuffled, lists, users in logs:
        first_log(db, random.Random(f"{draw} {shuffled} {lists} {users}"), searched, shuffled, lists, users)
        for counter in kept("counter", COUNTERS):
            judged(db, lists, counter)
            ignored = [] if counter.startswith(("same", "other")) else ["doc_clicks"]
            ignored += [] if counter.endswith("x") else ["x"]
            for name in kept("training", TRAININGS):
                grade = "grade AS relevance" if name == "true grades" else "relevance, doc_weight, determined"
                source = f"SELECT query_id, doc_id, {grade}, doc_clicks, {features} FROM judged JOIN cands USING (query_id, doc_id)"
                options = json.dumps({"name": "m", "threads": 1, "columns": {"ignore": ignored}} | TRAININGS[name])
                algorithm = "list_net" if name == "true grades" else name.split(",")[0]
                cell = {"counter": counter, "shuffled": shuffled, "lists": lists, "users": users, "draw": draw, "training": name}
                try:
                    (report,) = db.execute("SELECT ltr_train(?, ?, ?)", (algorithm, source, options)).fetchone()
                    cell |= zip(("every", "shown", "served"), db.execute(measure).fetchone())
                    cell["warnings"] = json.loads(report)["warnings"]
                except sqlite3.OperationalError as error:
                    cell["error"] = str(error)
                print(json.dumps(cell), flush=True)


def first_summary(files, by):
    """Mean differences to what was served with their intervals of 95 % over draws, all candidates and those that were shown; how
    many draws, how many refused, and the share with a warning about the clicks. `by`: the columns of a cell."""
    found = defaultdict(lambda: defaultdict(list))
    for file in files:
        for row in map(json.loads, open(file)):
            found[tuple(str(row[column]) for column in ["training", *by])][file, row["draw"]].append(row)
    for key, draws in sorted(found.items()):
        texts, told = [], [row for rows in draws.values() for row in rows]
        kept = [row for row in told if "served" in row]
        for way in ("every", "shown"):
            # Cells of a draw share its queries, so a draw is one number.
            of_draws = [[row[way] - row["served"] for row in rows if "served" in row] for rows in draws.values()]
            gains = [sum(gains) / len(gains) for gains in of_draws if gains]
            mean, count = sum(gains) / len(gains), len(gains)
            error = 1.96 * (sum((x - mean) ** 2 for x in gains) / max(count - 1, 1) / count) ** 0.5
            mark = " WORSE" if mean + error < -0.005 else " better" if mean - error > 0 else ""
            texts.append(f"{mean:+.3f} [{mean - error:+.3f}, {mean + error:+.3f}]{mark}")
        warned = sum(any("clicks" in text for text in row["warnings"]) for row in kept) / len(kept)
        print(*key, *texts, f"n={len(gains)}, {len(told) - len(kept)} refused, {warned:.0%} warn", sep="\t")


def main():
    if sys.argv[1] == "first":
        only = defaultdict(list)
        for column, value in [text.split("=", 1) for text in sys.argv[4:] if "=" in text]:
            only[column].append(value)
        for draw in [text for text in sys.argv[4:] if "=" not in text]:
            db = sqlite3.connect(":memory:")
            db.enable_load_extension(True)
            db.load_extension(sys.argv[2])
            first_day(db, sys.argv[3], int(draw), only)
        return
    if sys.argv[1] == "first-summary":
        first_summary(sys.argv[3:], sys.argv[2].split(","))
        return
    if sys.argv[1] == "summary":
        summary(sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "test")
        return
    library, folder = sys.argv[1:3]
    db = sqlite3.connect(":memory:")
    db.enable_load_extension(True)
    db.load_extension(library)
    for name in GRADES:
        for seed in range(int(sys.argv[3]) if len(sys.argv) > 3 else 10):
            for eta in (1.0, 2.0):
                run(db, folder, name, eta, seed)


if __name__ == "__main__":
    main()
