"""The tables of docs/experiments.md, through SQL: benches/papers.py LIBRARY DATA [PART...]

DATA is the folder of `LTR_DATA`. Parts: example_1 and example_2 (tables 1, 2 and 5 of Dai & Wang at gamma = 0, three
replications), novel (their observed and novel queries, scenario III, gamma = 0.2), times (their table 4: CPU time of
whole trainings), movielens (five splits, users with more than N + 10 ratings) and kernels (table 1 of Olinto & Fokoue on the
MSLR sample). Without a part all of them. The simulations have the reading of examples/paper_q_svm, and the methods of Dai & Wang
have the options of the paper (`PAPER`). "default" is `q_svm` with its own prior, lambda and neighbors.
"""

import json
import math
import random
import resource
import sqlite3
import sys

REPLICATIONS = 3
METHODS = ["rank_svm", "indv_svm", "knn_svm", "q_svm"]
# The paper shrinks functions to zero. By default these two shrink to a function with products of features (rule 4.12).
PAPER = {"knn_svm": {"prior": "zero"}, "q_svm": {"prior": "zero"}}


def connect(library):
    db = sqlite3.connect(":memory:")
    db.enable_load_extension(True)
    db.load_extension(library)
    return db


def seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def normal(rng, n, variance):
    return [rng.gauss(0, math.sqrt(variance)) for _ in range(n)]


def block(scenario, query, b, n):
    """The mean of beta: ones in the block of the query's group."""
    groups = {"I": 1, "II": 2, "III": 4}[scenario]
    group = query * groups // n
    return [1.0 if i * groups // b == group else 0.0 for i in range(b)]


def score_2(x):
    """The four functions of example 2."""
    sines = [math.sin(math.pi * u) for u in x]
    cosine, sine = math.cos(math.pi * x[3]), sines[3]
    last = 0.1 * sine + 0.2 * cosine + 0.3 * sine**2 + 0.4 * cosine**3 + 0.5 * sine**3
    return [x[0], (2 * x[1] - 1) ** 2, sines[2] / (2 - sines[2]), last]


def simulate(db, example, scenario, n, documents, b, seed, novel=0.0):
    """Tables train, vali and test; of novel queries all documents are in test."""
    rng = random.Random(seed)
    shared, columns = {}, ", ".join([f"x{i}" for i in range(b)] + [f"q_{i}" for i in range(b)])
    for name in ("train", "vali", "test"):
        db.execute(f"DROP TABLE IF EXISTS {name}")
        db.execute(f"CREATE TABLE {name}(query_id, doc_id, relevance, {columns})")
    rows = {"train": [], "vali": [], "test": []}
    for query in range(n):
        if scenario == "IV":
            beta = normal(rng, b, 1)
        else:
            mean = block(scenario, query, b, n)
            key = tuple(mean) if example == 1 else query
            if key not in shared:
                shared[key] = [m + e for m, e in zip(mean, normal(rng, b, 0.1))]
            beta = shared[key]
        features = [value + rng.gauss(0, 0.1) for value in beta]
        xs = [normal(rng, b, 0.1) for _ in range(documents)]
        scores = [sum(c * v for c, v in zip(beta, x if example == 1 else score_2(x))) for x in xs]
        ranks = {document: rank + 1 for rank, document in enumerate(sorted(range(documents), key=scores.__getitem__))}
        fifth = documents // 5
        for document, x in enumerate(xs):
            part = "train" if document < fifth else "vali" if document < 2 * fifth else "test"
            if query < novel * n:
                part = "test"
            rows[part].append((query, document, ranks[document], *x, *features))
    for name, values in rows.items():
        db.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(values[0]))})", values)


def options(method, example, **others):
    if method == "default":
        return json.dumps({"name": "m", "validation": "vali", "metric": "mre", "report": "short"} | others)
    chosen = {"name": "m", "scale": "none", "validation": "vali", "metric": "mre", "report": "short"} | PAPER.get(method, {})
    if method != "rank_svm":
        chosen |= {"lambda_scope": "each", "query_scale": "none"}
    if example == 2:
        chosen |= {"kernel": {"gaussian": {"gamma": "median"}}, "lambda": [10 ** ((v - 31) / 10) for v in range(1, 62)]}
    return json.dumps(chosen | others)


def error(db, where="true", metric="mre_pooled"):
    sql = f"SELECT value FROM ltr_evaluate('m', 'SELECT * FROM test WHERE {where}', ?) WHERE query_id IS NULL"
    return db.execute(sql, (json.dumps({"metric": metric}),)).fetchone()[0]


def train(db, method, given):
    db.execute("SELECT ltr_train(?, 'train', ?)", ("q_svm" if method == "default" else method, given)).fetchone()


def show(name, values):
    n = len(values)
    mean = sum(values) / n
    spread = math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1) / n) if n > 1 else 0.0
    print(f"{name} {mean:.3f} ({spread:.3f})", flush=True)


def simulated(example, documents, b):
    """The part of an example; the form ranking is only tried where it is fast."""

    def part(db, _data):
        for scenario in ("I", "II", "III", "IV"):
            found = {}
            for seed in range(REPLICATIONS):
                simulate(db, example, scenario, 40, documents, b, seed)
                for method in [*METHODS, "default"]:
                    train(db, method, options(method, example))
                    found.setdefault(method, []).append(error(db))
                    if scenario == "II" and example == 1 and method != "default":
                        train(db, method, options(method, example, form="ranking"))
                        found.setdefault(f"{method} ranking", []).append(error(db))
            for method, values in found.items():
                show(f"{scenario} {method}", values)

    return part


def novel(db, _data):
    found = {}
    for seed in range(REPLICATIONS):
        simulate(db, 1, "III", 40, 50, 40, seed, novel=0.2)
        for method in ("rank_svm", "knn_svm", "q_svm", "default"):
            train(db, method, options(method, 1))
            parts = {"observed": "query_id >= 8", "novel": "query_id < 8", "overall": "true"}
            for part, where in parts.items():
                found.setdefault(f"{method} {part}", []).append(error(db, where))
    for name, values in found.items():
        show(name, values)


def times(db, _data):
    for n in (50, 200, 500):
        simulate(db, 1, "IV", n, 100, 40, 1)
        db.executescript("INSERT INTO train SELECT * FROM vali; INSERT INTO train SELECT * FROM test")
        for method in METHODS:
            given = {"name": "m", "scale": "none", "lambda": 1e-8, "tolerance": 1e-4, "threads": 2} | PAPER.get(method, {})
            if method != "rank_svm":
                given["query_scale"] = "none"
            began = seconds()
            report = db.execute("SELECT ltr_train(?, 'train', ?)", (method, json.dumps(given))).fetchone()[0]
            spent, report = seconds() - began, json.loads(report)
            print(f"n {n} {method} {spent:.2f} s, reading {report['seconds']['reading']:.2f} s", flush=True)


def movielens(db, data):
    db.execute("CREATE TABLE ratings(user_id, item_id, rating)")
    with open(f"{data}/ml-100k/u.data") as lines:
        db.executemany("INSERT INTO ratings VALUES (?, ?, ?)", [tuple(map(int, line.split()[:3])) for line in lines])
    for size in (10, 20, 50):
        found = {"mean": [], "cofi_rank": []}
        for seed in range(5):
            rng = random.Random(seed)
            users = {}
            for row in db.execute("SELECT * FROM ratings ORDER BY user_id, item_id"):
                users.setdefault(row[0], []).append(row)
            for name in ("train", "test"):
                db.execute(f"DROP TABLE IF EXISTS {name}")
                db.execute(f"CREATE TABLE {name}(user_id, item_id, rating)")
            for rows in users.values():
                rng.shuffle(rows)
                if len(rows) > size + 10:
                    db.executemany("INSERT INTO train VALUES (?, ?, ?)", rows[:size])
                    db.executemany("INSERT INTO test VALUES (?, ?, ?)", rows[size:])
            means = """WITH a AS (SELECT avg(rating) AS mean FROM train),
                m AS (SELECT item_id, (sum(rating) + 5 * mean) / (count(*) + 5) AS score FROM train, a GROUP BY item_id)
                SELECT user_id, item_id, coalesce(score, mean) AS score FROM test, a LEFT JOIN m USING (item_id)"""
            train(db, "cofi_rank", json.dumps({"name": "m"}))
            ours = "SELECT query_id AS user_id, doc_id AS item_id, score FROM ltr_rank('m', 'test')"
            for name, scores in {"mean": means, "cofi_rank": ours}.items():
                sql = f"""SELECT avg(v) FROM (SELECT coalesce(ltr_ndcg(rating, score, 10), 0) AS v
                    FROM test JOIN ({scores}) USING (user_id, item_id) GROUP BY user_id)"""
                found[name].append(db.execute(sql).fetchone()[0])
        for name, values in found.items():
            show(f"N {size} {name}", values)
        show(f"N {size} difference", [b - a for a, b in zip(found["mean"], found["cofi_rank"])])


def kernels(db, data):
    for table, file in {"train": "train", "vali": "vali", "test": "test"}.items():
        db.execute(f"DROP TABLE IF EXISTS {table}")
        rows = "SELECT query_id, doc_id, relevance, features FROM ltr_letor(?, json_object('feature_count', 136))"
        db.execute(f"CREATE TABLE {table} AS {rows}", (f"{data}/mslr-sample/{file}.txt",))
    width = 1 / 136
    vanilla = {"gaussian": {"gaussian": {"gamma": 0.5}}, "laplace": {"laplace": {"gamma": 1}}}
    vanilla |= {"polynomial": {"polynomial": {"degree": 1, "offset": 0, "scale": 1}}, "tanh": {"tanh": {"scale": 1, "offset": 0}}}
    special = {"gaussian": {"gaussian": {"gamma": width}}, "laplace": {"laplace": {"gamma": width}}}
    special |= {"polynomial": {"polynomial": {"degree": 3, "offset": 0, "scale": width}}, "tanh": {"tanh": {"scale": width, "offset": 0}}}
    shared = {"name": "m", "validation": "vali", "report": "short"}
    lambdas = [10, 1, 0.1, 0.01, 0.001]
    cases = {"list_net": ("list_net", {}), "rank_svm": ("rank_svm", {}), "plain": ("cs_list_mle", {"truncation": 10})}
    cases["plain, max_norm"] = ("cs_list_mle", {"truncation": 10, "scale": "max_norm"})
    for name in vanilla:
        for kind, kernel in {"vanilla": vanilla[name], "special": special[name], "default": name}.items():
            given = {"kernel": kernel, "landmarks": 400, "truncation": 10, "lambda": lambdas, "tolerance": 1e-3}
            if kind != "default":
                given["scale"] = "max_norm"
            cases[f"{name}, {kind}"] = ("cs_list_mle", given)
    for name, (method, given) in cases.items():
        train(db, method, json.dumps(shared | given))
        show(name, [error(db, metric="ndcg@10")])
        steps = db.execute("SELECT max(step) FROM ltr_training_log('m')").fetchone()[0]
        print(f"{name}: {steps} iterations", flush=True)


PARTS = {"example_1": simulated(1, 50, 40), "example_2": simulated(2, 30, 4), "novel": novel, "times": times}
PARTS |= {"movielens": movielens, "kernels": kernels}


def main(library, data, *parts):
    for part in parts or PARTS:
        print(part)
        PARTS[part](connect(library), data)


if __name__ == "__main__":
    main(*sys.argv[1:])
