"""How many judged queries a ranking needs: test NDCG@10 by the number of training queries.

    benches/judgments.py LIBRARY DATA

DATA is the folder of the data. On Yandex, each number of queries is drawn three times from the training and validation part.
A query without a relevant document counts 0. Prints a table: mean over the draws, and their standard deviation. All queries are one draw.
"""

import json
import os
import statistics
import sys
import tempfile

from compare_trees import connect, parts, write

ALGORITHMS = ["list_net", "boosted_trees"]
SIZES = [10, 20, 50, 100, 200, 400, 666]
DRAWS = 3


def main():
    library, data = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "yandex.db")
        write(library, file, "yandex", *next(parts("yandex", data)))
        db = connect(library, file)
        # The order of the queries in each draw.
        db.execute(
            "CREATE TABLE draws AS WITH RECURSIVE d(draw) AS (SELECT 1 UNION ALL SELECT draw + 1 FROM d WHERE draw < ?)"
            " SELECT draw, query_id, row_number() OVER (PARTITION BY draw ORDER BY ltr_bucket(query_id || ' ' || draw, 65536)) AS place"
            "   FROM d, (SELECT DISTINCT query_id FROM train)",
            (DRAWS,),
        )
        print("queries", *ALGORITHMS, sep="\t")
        for size in SIZES:
            print(size, *(cell(db, algorithm, size) for algorithm in ALGORITHMS), sep="\t", flush=True)


def cell(db, algorithm, size):
    values = []
    for draw in range(1, 2 if size == SIZES[-1] else DRAWS + 1):
        source = "SELECT t.* FROM train AS t JOIN draws USING (query_id) WHERE draw = :draw AND place <= :size"
        options = json.dumps({"params": {"draw": draw, "size": size}, "threads": 2})
        (model,) = db.execute("SELECT ltr_fit(?, ?, ?)", (algorithm, source, options)).fetchone()
        measure = "SELECT value FROM ltr_evaluate(?, 'test', '{\"undefined\": \"zero\"}') WHERE query_id IS NULL AND metric = 'ndcg@10'"
        values.append(db.execute(measure, (model,)).fetchone()[0])
    return f"{statistics.mean(values):.4f} ({statistics.pstdev(values):.4f})"


if __name__ == "__main__":
    main()
