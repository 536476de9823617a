"""Quality and speed of the shop of examples/shop: benches/shop.py LIBRARY [SEEDS]

1. NDCG@10 by hidden grades on 60 searches per seed that are not in the log, mean over SEEDS (default 10) with its
   interval of 95 % (Student's t over seeds). All rankings order the same candidates: the best 100 products of FTS5.
   * bm25: the order of FTS5.
   * clicks: the model of shop.sql, whose log always has the order of BM25.
   * clicks, 10 % of the lists shuffled: the same with 1,000 of the 10,000 lists in a random order.
   * clicks, then a week: `clicks`, and again from this log and 2,000 lists that mix its order with BM25 (ltr_interleave).
   * true grades: the same algorithm with hidden grades of all candidates of the logged searches, instead of clicks.
   * LightGBM lambdarank on the rows and labels of the model of shop.sql; leaves and rate by cross-validation over the
     searches on these labels, rounds by early stopping. Left out without the module lightgbm.
   The share of the gap is (clicks - bm25) / (true grades - bm25).
2. Which algorithm? Cross-validation on the judgments from clicks of the seeds 11 to 13, which are not among the
   SEEDS. No hidden grade is read. The option --choose prints this table only.
3. A served search against FTS5 alone: statements that alternate, medians of all searches that are not in the log.
"""

import argparse
import itertools
import json
import math
import pathlib
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

EXAMPLE = pathlib.Path(__file__).resolve().parents[1] / "examples" / "shop"
sys.path.insert(0, str(EXAMPLE))
import generate  # noqa: E402
import shop  # noqa: E402

# Student's t, 97.5 %, for 1 to 9 degrees of freedom.
T = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26]
FOUND = """SELECT {q} AS query_id, rowid AS doc_id, -rank AS score, ltr_fts(docs) AS text
             FROM docs WHERE docs MATCH ltr_fts_query({q}) ORDER BY rank LIMIT 100"""
SERVED = """SELECT doc_id, rank FROM ltr_rank('shop', 'WITH found AS MATERIALIZED (
    SELECT rowid AS doc_id, ltr_fts(docs) AS text FROM docs WHERE docs MATCH ltr_fts_query(?1) ORDER BY rank LIMIT 100)
  SELECT doc_id, ltr_vec(text, p.features) AS features FROM found JOIN properties AS p USING (doc_id)',
  '{"k": 10}', ?1) ORDER BY rank"""
ALONE = "SELECT rowid FROM docs WHERE docs MATCH ltr_fts_query(?1) ORDER BY bm25(docs) LIMIT 10"
PAGE = """SELECT p.* FROM docs JOIN products AS p ON p.id = docs.rowid
           WHERE docs MATCH ltr_fts_query(?1) ORDER BY bm25(docs) LIMIT 10"""
MATCHES = "SELECT count(*) FROM docs WHERE docs MATCH ltr_fts_query(?1)"
BOTH = '''SELECT impression, query_id, doc_id, position, clicked FROM log
          UNION ALL SELECT impression, query_id, doc_id, rank, clicked FROM visits'''
WEEK = 2000
LOGGED = """SELECT query_id, j.doc_id, relevance, doc_weight, determined, ltr_vec(ltr_fts(docs), p.features) AS features
              FROM (SELECT DISTINCT query_id FROM judgments) AS searches
              JOIN docs ON docs MATCH ltr_fts_query(query_id)
              JOIN properties AS p ON p.doc_id = docs.rowid
              JOIN judgments AS j USING (query_id, doc_id)"""


def make(folder, library, seed, shuffled=0.0):
    """The database of shop.sql with the hidden grades, made in the sqlite3 shell."""
    generate.generate(folder, seed, shuffled=shuffled)
    script = (EXAMPLE / "shop.sql").read_text(encoding="utf-8").replace("./libsqlite_ltr", str(library))
    script += """
CREATE TABLE grades (query_id TEXT, doc_id INTEGER, grade INTEGER, held_back INTEGER, PRIMARY KEY (query_id, doc_id));
.import --csv --skip 1 grades.csv grades
"""
    subprocess.run(["sqlite3", "shop.db"], input=script, cwd=folder, text=True, check=True, stdout=subprocess.DEVNULL)
    db = sqlite3.connect(pathlib.Path(folder, "shop.db"), isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(str(library))
    return db


def collect(db):
    """Tables of rows: `logged` (labels from clicks), `truth` (logged searches, hidden grades), `held` (the others)."""
    db.execute(f"CREATE TABLE logged AS {LOGGED}")
    for table, held in [("truth", 0), ("held", 1)]:
        db.execute(f"CREATE TABLE {table} (query_id, doc_id, score, features, relevance)")
        searches = [row[0] for row in db.execute("SELECT DISTINCT query_id FROM grades WHERE held_back = ?", (held,))]
        for text in searches:
            db.execute(
                f"""WITH found AS MATERIALIZED ({FOUND.format(q="?1")})
                INSERT INTO {table} SELECT query_id, doc_id, score, ltr_vec(text, p.features), coalesce(grade, 0)
                FROM found JOIN properties AS p USING (doc_id) LEFT JOIN grades USING (query_id, doc_id)""",
                (text,),
            )
    db.execute("CREATE TEMP TABLE scores (query_id, doc_id, value)")


def ndcg(db):
    """NDCG@10 of temp.scores. The ideal list has the grades of all products, found or not."""
    gains = {}
    for text, grade in db.execute("SELECT query_id, grade FROM grades WHERE held_back ORDER BY grade DESC"):
        gains.setdefault(text, []).append(2**grade - 1)
    lists = {text: [] for text in gains}
    ranked = """SELECT query_id, relevance FROM held JOIN scores USING (query_id, doc_id)
                 ORDER BY query_id, value DESC, doc_id"""
    for text, grade in db.execute(ranked):
        lists[text].append(2**grade - 1)

    def dcg(values):
        return sum(gain / math.log2(place + 2) for place, gain in enumerate(values[:10]))

    return statistics.mean(dcg(lists[text]) / dcg(ideal) for text, ideal in gains.items())


def score(db, sql, rows=()):
    db.execute("DELETE FROM scores")
    if rows:
        db.executemany(sql, rows)
    else:
        db.execute(sql)
    return ndcg(db)


def by_model(db, name):
    source = "SELECT query_id, doc_id, features FROM held"
    return score(db, f"INSERT INTO scores SELECT query_id, doc_id, score FROM ltr_rank('{name}', '{source}')")


def lambdarank(db):
    """Scores of held-back rows by LightGBM, or None without the module."""
    try:
        import lightgbm
        import numpy
    except ImportError:
        return None
    rows = db.execute(
        "SELECT query_id, relevance, doc_weight, features FROM logged ORDER BY query_id, doc_id"
    ).fetchall()
    x = numpy.array([numpy.frombuffer(row[3], numpy.float32) for row in rows])
    y, weight = numpy.array([row[1] for row in rows]), numpy.array([row[2] for row in rows])
    group = [len(list(part)) for _, part in itertools.groupby(row[0] for row in rows)]
    fold = numpy.repeat(numpy.arange(len(group)) % 5, group)
    query_fold = numpy.arange(len(group)) % 5

    def data(keep, reference=None):
        sizes = [size for size, f in zip(group, query_fold) if keep(f)]
        mask = keep(fold)
        return lightgbm.Dataset(x[mask], y[mask], weight=weight[mask], group=sizes, reference=reference)

    best = None
    for leaves, rate in itertools.product([4, 8, 16], [0.05, 0.1]):
        options = {
            "objective": "lambdarank", "metric": "ndcg", "eval_at": [10], "num_leaves": leaves, "learning_rate": rate,
            "verbosity": -1, "num_threads": 1, "deterministic": True, "seed": 1,
        }  # fmt: skip
        values, rounds = [], []
        for part in range(5):
            inside = data(lambda f, part=part: f != part)
            outside = data(lambda f, part=part: f == part, inside)
            stop = lightgbm.early_stopping(30, verbose=False)
            model = lightgbm.train(options, inside, 300, valid_sets=[outside], callbacks=[stop])
            values.append(model.best_score["valid_0"]["ndcg@10"])
            rounds.append(model.best_iteration)
        if best is None or statistics.mean(values) > best[0]:
            best = statistics.mean(values), options, round(statistics.mean(rounds))
    model = lightgbm.train(best[1], data(lambda f: f >= 0), best[2])
    held = db.execute("SELECT query_id, doc_id, features FROM held").fetchall()
    values = model.predict(numpy.array([numpy.frombuffer(row[2], numpy.float32) for row in held]))
    return [(row[0], row[1], float(value)) for row, value in zip(held, values)]


def week(folder, library, seed):
    """Trains `week`: the model of shop.sql after lists that mix its order with BM25, on searches as frequent as in the log."""
    store = shop.Shop(str(pathlib.Path(folder, "shop.db")), str(library))
    grades = {row[:2]: row[2] for row in map(tuple, store.db.execute("SELECT query_id, doc_id, grade FROM grades"))}
    texts = [row[0] for row in store.db.execute("SELECT query_id FROM log GROUP BY impression ORDER BY impression")]
    rng = random.Random(seed)
    with store.db:
        store.db.execute("BEGIN")
        for number in range(WEEK):
            text, impression = rng.choice(texts), f"visitor {number}"
            for row in store.serve(text, impression):
                if rng.random() < generate.ATTRACTION[grades.get((text, row["doc_id"]), 0)] / row["rank"]:
                    store.click(impression, row["doc_id"])
        store.db.execute("DROP TABLE judgments")
        store.db.execute("CREATE TABLE judgments AS SELECT * FROM ltr_judgments(?)", (BOTH,))
    (algorithm,) = store.db.execute("SELECT report ->> 'algorithm' FROM ltr_models WHERE name = 'shop'").fetchone()
    store.db.execute("SELECT ltr_train(?, ?, '{\"name\": \"week\"}')", (algorithm, LOGGED)).fetchall()
    store.db.close()


def quality(db):
    collect(db)
    source = "SELECT query_id, doc_id, relevance, features FROM truth"
    algorithm = db.execute("SELECT report ->> 'algorithm' FROM ltr_models WHERE name = 'shop'").fetchone()[0]
    db.execute('SELECT ltr_train(?, ?, \'{"name": "truth"}\')', (algorithm, source)).fetchall()
    values = {
        "bm25": score(db, "INSERT INTO scores SELECT query_id, doc_id, score FROM held"),
        "clicks": by_model(db, "shop"),
        "true grades": by_model(db, "truth"),
    }
    rows = lambdarank(db)
    if rows:
        values["LightGBM lambdarank, clicks"] = score(db, "INSERT INTO scores VALUES (?, ?, ?)", rows)
    values["share of the gap"] = (values["clicks"] - values["bm25"]) / (values["true grades"] - values["bm25"])
    return values


def choose(db):
    """NDCG@10 of algorithms on held-out judgments from clicks."""
    db.execute(f"CREATE TABLE logged AS {LOGGED}")
    result = {}
    scales = ["quantile", "standard", "quantile_minmax"]
    for algorithm, scale in itertools.product(["rank_svm", "regression", "list_net"], scales):
        weights = [0.1, 0.01, 0.001, 0.0001]
        options = json.dumps({"scale": scale, "lambda": weights})
        sql = """SELECT max(value) FROM (SELECT avg(value) AS value FROM ltr_cross_validate(?, 'logged', ?)
                                          GROUP BY setting)"""
        result[f"{algorithm}, {scale}"] = db.execute(sql, (algorithm, options)).fetchone()[0]
    return result


def seconds(db, sql, text):
    started = time.perf_counter()
    db.execute(sql, (text,)).fetchall()
    return time.perf_counter() - started


def speed(db, repeats=20):
    searches = [row[0] for row in db.execute("SELECT DISTINCT query_id FROM grades WHERE held_back")]
    calls = {"FTS5 alone": ALONE, "FTS5 and the columns of 10 products": PAGE, "served list": SERVED}
    times = {name: [] for name in calls}
    for _ in range(repeats):
        for text in searches:
            for name, sql in calls.items():
                times[name].append(seconds(db, sql, text))
    matches = [db.execute(MATCHES, (text,)).fetchone()[0] for text in searches]
    print(f"matches per search: {min(matches)} to {max(matches)}, median {statistics.median(matches):.0f}")
    for name, values in times.items():
        ratio = statistics.median(one / other for one, other in zip(values, times["FTS5 alone"]))
        print(f"{name:36} {statistics.median(values) * 1e3:.3f} ms, median of paired ratios {ratio:.2f}")


def show(tables):
    for name in tables[0]:
        values = [table[name] for table in tables]
        text = f"{name:30} {statistics.mean(values):.3f}"
        if len(values) > 1:
            text += f" +- {T[len(values) - 2] * statistics.stdev(values) / math.sqrt(len(values)):.3f}"
        print(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("seeds", type=int, nargs="?", default=10, choices=range(1, 11))
    parser.add_argument("--choose", action="store_true")
    options = parser.parse_args()
    library = options.library.resolve()
    tables = []
    for seed in [11, 12, 13] if options.choose else range(1, options.seeds + 1):
        with tempfile.TemporaryDirectory() as folder:
            db = make(folder, library, seed)
            tables.append(choose(db) if options.choose else quality(db))
            if not options.choose:
                week(folder, library, seed)
                tables[-1]["clicks, then a week"] = by_model(db, "week")
            print(f"seed {seed}: " + ", ".join(f"{name} {value:.3f}" for name, value in tables[-1].items()), flush=True)
            if not options.choose and seed == 1:
                speed(db)
            db.close()
        if not options.choose:
            with tempfile.TemporaryDirectory() as folder:
                db = make(folder, library, seed, shuffled=0.1)
                collect(db)
                tables[-1]["clicks, 10 % of the lists shuffled"] = by_model(db, "shop")
                db.close()
    print(f"mean of {len(tables)} seeds")
    show(tables)


main()
