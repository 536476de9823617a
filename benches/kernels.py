"""Fits with a Gaussian kernel, and long lists, in the library of `cargo ext`: benches/kernels.py LIBRARY DATA [CASE...]

DATA is the folder of `LTR_DATA`. Each case prints CPU time and wall time of one training. Cases: mslr (`rank_svm` on
the MSLR sample, lambda chosen), mslr_list_net, mq2008 (`rank_svm` on the first 1,545 documents of S1), hinge, logistic and
cs_list_mle (`cofi_rank`, one user with 2,000 ratings), movielens (`cofi_rank` with `direct` NDCG@10, every choice), and
million (`rank_svm`, one query of 1,000,000 documents and 20 features, one lambda). The cases serve_yandex, serve_mslr and
serve_mq2008 print CPU time for each row of `ltr_rank` in lists of 100 on one thread, and of one `ltr_explain`, the least
of five, by `auto` and a Gaussian `rank_svm`. Without a case all of them.

The library of `cargo ext` is compiled with less inlining than benchmarks, so its kernels are measured themselves.
"""

import json
import math
import random
import resource
import sqlite3
import struct
import sys
import time

GAUSSIAN = {"kernel": "gaussian"}


def letor(db, path, features):
    rows = "SELECT query_id, doc_id, relevance, features FROM ltr_letor(?, json_object('feature_count', ?))"
    db.execute(f"CREATE TABLE judgments AS {rows}", (path, features))


def mslr(db, data):
    letor(db, f"{data}/mslr-sample/train.txt", 136)
    return "rank_svm", GAUSSIAN


def mslr_list_net(db, data):
    return "list_net", mslr(db, data)[1]


def mq2008(db, data):
    letor(db, f"{data}/mq2008/S1.txt", 46)
    counts = "SELECT query_id, sum(count(*)) OVER (ORDER BY query_id) AS rows FROM judgments GROUP BY query_id"
    db.execute(f"DELETE FROM judgments WHERE query_id IN (SELECT query_id FROM ({counts}) WHERE rows > 1550)")
    return "rank_svm", GAUSSIAN


def one_user(loss):
    def case(db, _data):
        rows = ((1, i, 1 + i * 7919 % 1009 % 5) for i in range(2000))
        db.execute("CREATE TABLE judgments(user_id, item_id, rating)")
        db.executemany("INSERT INTO judgments VALUES (?, ?, ?)", rows)
        return "cofi_rank", {"loss": loss, "lambda": 0.1}

    return case


def movielens(db, data):
    db.execute("CREATE TABLE judgments(user_id, item_id, rating)")
    with open(f"{data}/ml-100k/u.data") as lines:
        rows = [tuple(map(int, line.split()[:3])) for line in lines]
    db.executemany("INSERT INTO judgments VALUES (?, ?, ?)", rows)
    return "cofi_rank", {"loss": "direct", "measure": "ndcg@10"}


def million(db, _data):
    draw = random.Random(7)

    def rows():
        for document in range(1_000_000):
            x = [draw.random() * 2 - 1 for _ in range(20)]
            score = sum(value / (i + 1) for i, value in enumerate(x)) + draw.random() * 2 - 1
            yield 1, document, min(4, max(0, math.floor(1.5 * score + 1))), struct.pack("<20f", *x)

    db.execute("CREATE TABLE judgments(query_id, doc_id, relevance, features)")
    db.executemany("INSERT INTO judgments VALUES (?, ?, ?, ?)", rows())
    return "rank_svm", {"lambda": 0.001}


CASES = {
    "mslr": mslr,
    "mslr_list_net": mslr_list_net,
    "mq2008": mq2008,
    "hinge": one_user("hinge"),
    "logistic": one_user("logistic"),
    "cs_list_mle": one_user("cs_list_mle"),
    "movielens": movielens,
    "million": million,
}


SERVED = {
    "serve_yandex": ("yandex/train.txt", "yandex/test.txt", 50),
    "serve_mslr": ("mslr-sample/train.txt", "mslr-sample/test.txt", 136),
    "serve_mq2008": ("mq2008/S1.txt", "mq2008/S5.txt", 46),
}


def serve(db, data, name):
    train, test, features = SERVED[name]
    letor(db, f"{data}/{train}", features)
    rows = "SELECT query_id, doc_id, features FROM ltr_letor(?, json_object('feature_count', ?)) LIMIT 2000"
    db.execute(f"CREATE TABLE listed AS {rows}", (f"{data}/{test}", features))
    db.execute("UPDATE listed SET query_id = (rowid - 1) / 100, doc_id = rowid")
    ranked = """SELECT count(*), sum(score) FROM ltr_rank(?, 'listed', '{"threads": 1}')"""
    explained = "SELECT sum(contribution) FROM ltr_explain(?, 'listed', 0, 7)"
    for algorithm, options in (("auto", {}), ("rank_svm", {**GAUSSIAN, "lambda": 0.01})):
        (model,) = db.execute("SELECT ltr_fit(?, 'judgments', ?)", (algorithm, json.dumps(options))).fetchone()
        least = [math.inf, math.inf]
        for _ in range(5):
            for number, sql in enumerate((ranked, explained)):
                used = processor()
                db.execute(sql, (model,)).fetchone()
                least[number] = min(least[number], processor() - used)
        print(f"{name}, {algorithm}: {least[0] * 500:.1f} us a row, explained in {least[1] * 1e3:.1f} ms", flush=True)


def processor():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main(library, data, *names):
    for name in names or [*CASES, *SERVED]:
        db = sqlite3.connect(":memory:")
        db.enable_load_extension(True)
        db.load_extension(library)
        if name in SERVED:
            serve(db, data, name)
            continue
        algorithm, options = CASES[name](db, data)
        used, began = processor(), time.monotonic()
        (report,) = db.execute("SELECT ltr_train(?, 'judgments', ?)", (algorithm, json.dumps(options))).fetchone()
        used, wall = processor() - used, time.monotonic() - began
        report = json.loads(report)
        value = (report.get("validation") or {}).get("best")
        print(f"{name}: {used:.2f} s, wall {wall:.2f} s, lambda {report['lambda']:.3g}, validated {value}", flush=True)


main(*sys.argv[1:])
