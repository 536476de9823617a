"""Simulated visitors, and the gain on their searches. Both need the hidden grades, which a real shop does not have."""

import csv
import random

from generate import ATTRACTION

# NDCG@10 of both rankings of the candidates; 1 is the best order of the candidates.
GAIN = """
SELECT count(*) AS searches, avg(today) AS today, avg(learned) AS learned, sum(learned > today) AS better
  FROM (SELECT ltr_ndcg(coalesce(grade, 0), c.score, 10) AS today, ltr_ndcg(coalesce(grade, 0), r.score, 10) AS learned
          FROM ltr_rank('shop', 'temp.candidates') AS r JOIN candidates AS c USING (query_id, doc_id)
          LEFT JOIN temp.grades USING (query_id, doc_id) GROUP BY query_id)
"""


class Visitors:
    """Who visits the shop. `gain` compares the rankings on the searches that are not in the log."""

    def __init__(self, store, grades):
        self.store, self.grades, new = store, {}, set()
        with open(grades, encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                self.grades[row["query_id"], int(row["doc_id"])] = int(row["grade"])
                if row["held_back"] == "1":
                    new.add(row["query_id"])
        self.searches = sorted({query for query, _ in self.grades})
        store.db.execute("CREATE TEMP TABLE grades (query_id, doc_id, grade, PRIMARY KEY (query_id, doc_id))")
        rows = ((query, doc, grade) for (query, doc), grade in self.grades.items())
        store.db.executemany("INSERT INTO temp.grades VALUES (?, ?, ?)", rows)
        store.find(*new)
        self.gain = store.rows(GAIN)[0]

    def visit(self, count):
        """As in generate.py, visitors look at place r with probability 1 / r, and then click by the grade."""
        db = self.store.db
        with self.store.lock, db:
            db.execute("BEGIN")
            first = db.execute("SELECT count(DISTINCT impression) FROM served").fetchone()[0]
            rng = random.Random(first)
            for number in range(first, first + count):
                text, impression = rng.choice(self.searches), f"visitor {number}"
                for row in self.store.serve(text, impression):
                    grade = self.grades.get((text, row["doc_id"]), 0)
                    if rng.random() < ATTRACTION[grade] / row["rank"]:
                        self.store.click(impression, row["doc_id"])
