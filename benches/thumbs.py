"""Thumbs on top of reciprocal rank fusion, simulated: what trainings with the fusion as the baseline gain or lose.

thumbs.py LIBRARY [DRAWS [ALGORITHM ...]]   prints mean differences of NDCG@10 to the fusion; without a baseline for "ALGORITHM-"

A search has 60 candidates with a hidden utility; the best two have grade 2, the next four grade 1. bm25 and distance are noisy views
of it, x is a better one, recency is noise. People give thumbs to 3 or 5 of the first ten of the fusion, up for a grade above 0, and a
part of them is wrong. All candidates of 200 other searches measure. Errors are standard errors over draws.
"""

import json
import math
import random
import sqlite3
import statistics
import sys

LIBRARY = sys.argv[1]
DRAWS = int(sys.argv[2]) if len(sys.argv) > 2 else 2
ALGORITHMS = sys.argv[3:] or ["rank_svm", "rank_svm-"]

CANDIDATES, TESTED = 60, 200
COLUMNS = ["bm25", "distance", "text_part", "vector_part", "fused", "recency", "x"]


def parts(values):
    """1 / (60 + rank) of each value, the largest first."""
    ranked = sorted(range(len(values)), key=lambda i: -values[i])
    return [1 / (61 + rank) for _, rank in sorted(zip(ranked, range(len(values))))]


def search(draw):
    """The grade and the columns of each candidate."""
    utility = [draw.gauss(0, 1) for _ in range(CANDIDATES)]
    ranked = sorted(utility, reverse=True)
    grades = [(u >= ranked[1]) + (u >= ranked[5]) for u in utility]
    scale, shift = math.exp(draw.gauss(1, 0.5)), draw.uniform(5, 15)
    bm25 = [shift + scale * (0.8 * u + draw.gauss(0, 1)) for u in utility]
    distance = [1.2 - 0.2 * (0.8 * u + draw.gauss(0, 1)) for u in utility]
    text, vector = parts(bm25), parts([-value for value in distance])
    fused = [a + b for a, b in zip(text, vector)]
    recency = [draw.random() for _ in utility]
    x = [u + 0.7 * draw.gauss(0, 1) for u in utility]
    return list(zip(grades, bm25, distance, text, vector, fused, recency, x))


def thumbs(draw, searches, each, wrong):
    """Rows of searches with thumbs."""
    for query in range(searches):
        shown = sorted(search(draw), key=lambda row: -row[1 + COLUMNS.index("fused")])[:10]
        for doc, (grade, *columns) in enumerate(draw.sample(shown, each)):
            yield query, doc, (grade > 0) != (draw.random() < wrong), *columns


def fill(connection, table, rows):
    connection.execute(f"DROP TABLE IF EXISTS {table}")
    connection.execute(f"CREATE TABLE {table}(query, doc, relevance, {', '.join(COLUMNS)})")
    connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * (3 + len(COLUMNS)))})", rows)


def main():
    connection = sqlite3.connect(":memory:")
    connection.enable_load_extension(True)
    connection.load_extension(LIBRARY)
    tested = (search(random.Random(f"test {query}")) for query in range(TESTED))
    fill(connection, "test", [(query, doc, *row) for query, rows in enumerate(tested) for doc, row in enumerate(rows)])
    ndcg = "SELECT avg(value) FROM (SELECT ltr_ndcg(relevance, fused, 10) AS value FROM test GROUP BY query)"
    (fused,) = connection.execute(ndcg).fetchone()
    print(f"fusion {fused:.3f}")
    measure = "SELECT value FROM ltr_evaluate('thumbs', 'test', '{\"metric\": \"ndcg@10\"}') WHERE query_id IS NULL"
    for algorithm in ALGORITHMS:
        for ignored in (["x"], []):
            for wrong in (0.0, 0.2):
                cells = []
                for searches in (10, 20, 40, 60):
                    gains = []
                    for number in range(DRAWS):
                        for each in (3, 5):
                            draw = random.Random(f"{searches} {each} {wrong} {number}")
                            fill(connection, "judged", thumbs(draw, searches, each, wrong))
                            options = {"name": "thumbs", "columns": {"ignore": ignored}}
                            if not algorithm.endswith("-"):
                                options["baseline"] = "fused"
                            arguments = (algorithm.rstrip("-"), "judged", json.dumps(options))
                            connection.execute("SELECT ltr_train(?, ?, ?)", arguments).fetchone()
                            gains.append(connection.execute(measure).fetchone()[0] - fused)
                    error = statistics.stdev(gains) / len(gains) ** 0.5
                    cells.append(f"{searches}: {statistics.mean(gains):+.3f} ({error:.3f}), worst {min(gains):+.3f}")
                columns = "text and vectors" if ignored else "and x"
                print(f"{algorithm}, {columns}, {wrong:.0%} wrong", *cells, sep="  ", flush=True)


main()
