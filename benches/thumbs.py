"""Thumbs on top of reciprocal rank fusion, simulated: what trainings with the fusion as the baseline gain or lose.

thumbs.py LIBRARY [DRAWS [ALGORITHM ...]]   prints differences of NDCG@10 to the fusion; without a baseline for "ALGORITHM-", with a
given lambda for "ALGORITHM/LAMBDA"

A search has 60 candidates with a hidden utility; the best two have grade 2, the next four grade 1. bm25 and distance are noisy views
of it, x is a better one, recency is noise. People give 1, 3 or 5 thumbs to the first ten of the fusion, up for a grade above 0, and a
part of them is wrong. All candidates of 200 other searches measure. A cell has the mean over draws, its interval of 95 % and the
worst draw. Trainings without a pair of thumbs are refused without a baseline. Then of the trainings that end below -.02, and above +.02,
how many say in their evidence that they are not shown to be better, and how many warn that they are not better than a column.
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
        of_all = []
        for ignored, wrong, each in [(i, w, e) for i in (["x"], []) for w in (0.0, 0.2) for e in (1, 3, 5)]:
            cells = []
            for searches in (10, 20, 40, 60):
                gains = []
                for number in range(DRAWS):
                    draw = random.Random(f"{searches} {each} {wrong} {number}")
                    fill(connection, "judged", thumbs(draw, searches, each, wrong))
                    options = {"name": "thumbs", "columns": {"ignore": ignored}}
                    if not algorithm.endswith("-"):
                        options["baseline"] = "fused"
                    name, _, given = algorithm.rstrip("-").partition("/")
                    if given:
                        options["lambda"] = float(given)
                    arguments = (name, "judged", json.dumps(options))
                    try:
                        (report,) = connection.execute("SELECT ltr_train(?, ?, ?)", arguments).fetchone()
                    except sqlite3.OperationalError:
                        continue
                    gains.append(connection.execute(measure).fetchone()[0] - fused)
                    of_all.append((gains[-1], tells(json.loads(report))))
                if len(gains) < 2:
                    cells.append(f"{searches}: refused")
                    continue
                mean, half = statistics.mean(gains), 1.96 * statistics.stdev(gains) / len(gains) ** 0.5
                mark = " WORSE" if mean + half < -0.005 else ""
                cells.append(
                    f"{searches}: {mean:+.3f} [{mean - half:+.3f}, {mean + half:+.3f}]{mark}, worst {min(gains):+.3f}"
                )
            columns = "text and vectors" if ignored else "and x"
            print(f"{algorithm}, {columns}, {wrong:.0%} wrong, {each} each", *cells, sep="  ", flush=True)
        for what, kept in {"below -.02": lambda gain: gain < -0.02, "above +.02": lambda gain: gain > 0.02}.items():
            told = [told for gain, told in of_all if kept(gain)]
            doubts, warnings = (sum(column) for column in zip(*told)) if told else (0, 0)
            print(f"{algorithm}, {what}: {len(told)}, of which {doubts} are not shown to be better, {warnings} warn")
        print(f"{algorithm}, mean of all {statistics.mean(gain for gain, _ in of_all):+.4f}", flush=True)


def tells(report):
    """Whether a model is not shown to be better, and whether a warning says so."""
    evidence = report.get("evidence") or {}
    texts = ("not better than", "hardly better than", "nothing is shown", "not shown to be better")
    return evidence.get("is_shown") is not True, any(text in told for told in report["warnings"] for text in texts)


main()
