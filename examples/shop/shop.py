"""The shop without its pages: each function asks the database that `shop.sql` has made.

All of the ranking is SQL. FTS5 finds the best 100 products of a search. A temporary table keeps them with their
features, so that the lists and the explanations of one request see the same numbers.
"""

import functools
import json
import sqlite3
import threading

LENGTH = 10
TABLES = """
-- Readers and the shop do not wait for each other.
PRAGMA journal_mode = wal;
-- What was shown, and what was clicked. The view has the columns that ltr_judgments and ltr_interleave_result read.
CREATE TABLE IF NOT EXISTS served (impression, query_id, doc_id, rank, team, PRIMARY KEY (impression, doc_id));
CREATE TABLE IF NOT EXISTS clicks (impression, doc_id, PRIMARY KEY (impression, doc_id));
CREATE VIEW IF NOT EXISTS visits AS
SELECT s.*, c.doc_id IS NOT NULL AS clicked FROM served AS s LEFT JOIN clicks AS c USING (impression, doc_id);
CREATE TEMP TABLE candidates (query_id, doc_id, score, features);
"""
CANDIDATES = """
WITH found AS MATERIALIZED (
  SELECT rowid AS doc_id, -rank AS score, ltr_fts(docs) AS text
    FROM docs WHERE docs MATCH ltr_fts_query(?1) ORDER BY rank LIMIT 100)
INSERT INTO candidates
SELECT ?1, doc_id, score, ltr_vec(text, p.features) FROM found JOIN properties AS p USING (doc_id)
"""
TODAY = "SELECT doc_id FROM candidates ORDER BY score DESC, doc_id"
LEARNED = "SELECT doc_id FROM ltr_rank('shop', 'temp.candidates') ORDER BY rank"
# One statement mixes the two rankings and logs the list.
MIXED = """
INSERT INTO served (impression, query_id, doc_id, rank, team)
SELECT impression, query_id, doc_id, rank, team
  FROM ltr_interleave(NULL, 'shop', 'temp.candidates', json_object('seed', ?, 'k', ?))
 ORDER BY rank
RETURNING doc_id, rank, team
"""
# What adds to the score of each product of ?2, compared with the mean of the products of ?3. All features of the text
# are one reason: contributions add up.
REASONS = """
WITH explained AS (
  SELECT shown.value AS doc_id, sum(contribution) AS points,
         CASE WHEN feature IN ('sold', 'price', 'stars', 'in_stock') THEN feature ELSE 'text' END AS reason
    FROM json_each(?2) AS shown, ltr_explain('shop', 'temp.candidates', ?1, shown.value)
   WHERE feature <> '(base)' GROUP BY doc_id, reason)
SELECT doc_id, reason, points - (SELECT avg(t.points) FROM explained AS t JOIN json_each(?3) ON t.doc_id = value
                                  WHERE t.reason = e.reason) AS more
  FROM explained AS e ORDER BY abs(more) DESC
"""


def one_at_a_time(method):
    """A method that waits until no other request uses the connection."""

    @functools.wraps(method)
    def guarded(self, *arguments):
        with self.lock:
            return method(self, *arguments)

    return guarded


class Shop:
    """A connection to the database, for the threads of a server."""

    def __init__(self, database, library):
        self.lock = threading.RLock()
        # mode=rw: a missing file is an error, not an empty shop.
        self.db = sqlite3.connect(f"file:{database}?mode=rw", uri=True, isolation_level=None, check_same_thread=False)
        self.db.row_factory = sqlite3.Row
        self.db.enable_load_extension(True)
        self.db.load_extension(library)
        self.db.enable_load_extension(False)
        self.db.executescript(TABLES)

    def rows(self, sql, *values):
        return [dict(row) for row in self.db.execute(sql, values)]

    @one_at_a_time
    def products(self, ids):
        """The rows of products, by id."""
        marks = ", ".join("?" * len(ids))
        return {row["id"]: row for row in self.rows(f"SELECT * FROM products WHERE id IN ({marks})", *ids)}

    @one_at_a_time
    def popular_searches(self):
        sql = "SELECT query_id FROM log WHERE position = 1 GROUP BY query_id ORDER BY count(*) DESC, query_id LIMIT 8"
        return [row["query_id"] for row in self.rows(sql)]

    def find(self, *searches):
        """Makes the table of candidates."""
        self.db.execute("DELETE FROM candidates")
        self.db.executemany(CANDIDATES, [(text,) for text in searches])

    @one_at_a_time
    def compare(self, text):
        """BM25 and the learned ranking of a search, as a dict. None: no product has one of the words."""
        self.find(text)
        today, learned = ([row["doc_id"] for row in self.rows(sql)] for sql in (TODAY, LEARNED))
        if not today:
            return None
        places = {doc: (today.index(doc) + 1, learned.index(doc) + 1) for doc in today}
        today, learned = today[:LENGTH], learned[:LENGTH]
        shown = sorted({*today, *learned})
        reasons = {doc: [] for doc in shown}
        for row in self.rows(REASONS, text, json.dumps(shown), json.dumps(today)):
            reasons[row["doc_id"]].append((row["reason"], row["more"]))
        products = self.products(shown)
        return {"today": today, "learned": learned, "places": places, "products": products, "reasons": reasons}

    @one_at_a_time
    def serve(self, text, impression):
        """The list that a customer sees, both rankings mixed. It is logged under the id of the impression."""
        self.find(text)
        return sorted(self.rows(MIXED, impression, LENGTH), key=lambda row: row["rank"])

    @one_at_a_time
    def click(self, impression, doc):
        """Logs a click, once. Only products that the impression has shown count. Returns the search, or None."""
        shown = self.rows("SELECT query_id FROM served WHERE impression = ? AND doc_id = ?", impression, doc)
        if not shown:
            return None
        self.db.execute("INSERT OR IGNORE INTO clicks VALUES (?, ?)", (impression, doc))
        return shown[0]["query_id"]

    @one_at_a_time
    def result(self):
        """What the clicks show so far; b is the learned ranking."""
        return self.rows("SELECT * FROM ltr_interleave_result('visits')")[0]
