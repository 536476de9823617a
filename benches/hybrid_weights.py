"""Weights of text and vectors per query, simulated: the table of docs/guide/hybrid-weights.md.

hybrid_weights.py LIBRARY [SEEDS [QUERIES]]   prints mean NDCG@10 of 200 test queries and its standard deviation over seeds (5)

Half of the queries are codes such as "XR-200", half are questions. For a code the text score has a correlation of .9 with the hidden
relevance and the vector score one of .3, for a question the other way round. Two noisy query features distinguish them: whether the
query has a digit, and the number of words. Models are trained on the grades of QUERIES (100) others with 30 documents each.
"""

import json
import random
import sqlite3
import statistics
import sys

LIBRARY = sys.argv[1]
SEEDS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
TRAINED = int(sys.argv[3]) if len(sys.argv) > 3 else 100
TESTED, DOCUMENTS = 200, 30
GOOD, POOR = 0.9, 0.3
MODELS = {
    "rank_svm without query features": ("rank_svm", {"columns": {"ignore": ["q_digit", "q_words"]}}),
    'rank_svm with "interaction": "linear"': ("rank_svm", {"interaction": "linear"}),
    'rank_svm with "interaction": "auto"': ("rank_svm", {"interaction": "auto"}),
    "boosted_trees": ("boosted_trees", {}),
    "q_svm": ("q_svm", {}),
    "auto": ("auto", {}),
}


def query(draw, number):
    """Rows of a query: ids, query features, scores and grade of each document."""
    code = number % 2 == 0
    digit = float(draw.random() < (0.85 if code else 0.1))
    words = max(1, round(draw.gauss(2 if code else 6, 1.5)))
    hidden = [draw.gauss(0, 1) for _ in range(DOCUMENTS)]
    ranked = sorted(hidden, reverse=True)
    for doc, value in enumerate(hidden):
        grade = (value >= ranked[1]) + (value >= ranked[4]) + (value >= ranked[9])
        correlations = (GOOD, POOR) if code else (POOR, GOOD)
        text, vector = (rho * value + (1 - rho**2) ** 0.5 * draw.gauss(0, 1) for rho in correlations)
        yield number, doc, digit, words, text, vector, grade


def fixed(connection, table, alpha):
    sql = f"""SELECT avg(value) FROM (SELECT ltr_ndcg(relevance, ?1 * text + (1 - ?1) * vector, 10) AS value
                FROM {table} GROUP BY query_id)"""
    return connection.execute(sql, (alpha,)).fetchone()[0]


def run(seed):
    connection = sqlite3.connect(":memory:")
    connection.enable_load_extension(True)
    connection.load_extension(LIBRARY)
    draw = random.Random(seed)
    for table, queries in [("train", TRAINED), ("test", TESTED)]:
        connection.execute(f"CREATE TABLE {table} (query_id, doc_id, q_digit, q_words, text, vector, relevance)")
        rows = (row for number in range(queries) for row in query(draw, number))
        connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    # The best fixed weight knows the test queries: no other fixed weight is better.
    values = {"best fixed weight": max(fixed(connection, "test", step / 100) for step in range(101))}
    for name, (algorithm, options) in MODELS.items():
        trained = connection.execute("SELECT ltr_fit(?, 'train', ?)", (algorithm, json.dumps(options))).fetchone()
        sql = "SELECT value FROM ltr_evaluate(?, 'test', '{\"metric\": \"ndcg@10\"}') WHERE query_id IS NULL"
        values[name] = connection.execute(sql, (*trained,)).fetchone()[0]
    return values


def main():
    runs = [run(seed) for seed in range(SEEDS)]
    for name in runs[0]:
        found = [values[name] for values in runs]
        print(f"{name:38} {statistics.mean(found):.3f} ({statistics.stdev(found) if SEEDS > 1 else 0:.3f})")


main()
