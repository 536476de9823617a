"""Candidate views that a stranger may have put into a database: rule 6.10. A view can waste time, and nothing else.

views.py LIBRARY    prints what it tried, fails with an assertion
"""

import sqlite3
import sys
import time

LIBRARY = sys.argv[1]
# Columns that the model needs.
COLUMNS = "1.0 AS bm25, 1.0 AS price"
# What a search with a view says, and the body of the view.
HOSTILE = {
    "endless recursion": (
        "time limit",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
        f"SELECT query AS query_id, i AS doc_id, {COLUMNS} FROM ltr_query, n",
    ),
    "a billion rows, none returned": (
        "time limit",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000000) "
        f"SELECT query AS query_id, i AS doc_id, {COLUMNS} FROM ltr_query, n WHERE i < 0",
    ),
    "a product of tables": (
        "time limit",
        f"SELECT query AS query_id, a.rowid AS doc_id, {COLUMNS} FROM ltr_query, docs AS a, docs AS b, docs AS c, docs AS d, docs AS e",
    ),
    "a text of two gigabytes": ("too big", f"SELECT query AS query_id, 1 AS doc_id, hex(zeroblob(2000000000)) AS bm25, 1.0 AS price FROM ltr_query"),
    "candidates of another query": ("a candidate of the query 'x'", f"SELECT 'x' AS query_id, 1 AS doc_id, {COLUMNS} FROM ltr_query"),
    "the view itself": (
        "circularly defined",
        f"SELECT a.query AS query_id, 1 AS doc_id, {COLUMNS} FROM ltr_query AS a, candidates",
    ),
    **{
        f"a call of {call}": (
            "unsafe use of " + call.split("(")[0],
            f"SELECT query AS query_id, 1 AS doc_id, {COLUMNS} FROM ltr_query WHERE {call} IS NULL",
        )
        for call in [
            "ltr_train('rank_svm', 'judgments')",
            "ltr_fit('rank_svm', 'judgments')",
            "ltr_import('x')",
            "load_extension('x')",
        ]
    },
    **{
        f"rows of {table}": (
            "unsafe use of virtual table",
            f"SELECT q.query AS query_id, 1 AS doc_id, {COLUMNS} FROM ltr_query AS q, {table}",
        )
        for table in ["ltr_search('shop', 'blue')", "ltr_rank('shop', 'judgments')", "ltr_letor('/etc/passwd')"]
    },
}
# No view can be made of these.
NOT_A_VIEW = [
    "CREATE VIEW candidates AS DELETE FROM judgments",
    "CREATE VIEW candidates AS PRAGMA journal_mode = OFF",
    "CREATE VIEW candidates AS WITH x AS (INSERT INTO judgments VALUES (1, 2, 3) RETURNING *) SELECT * FROM x",
]
SEARCH = "SELECT doc_id FROM ltr_search('shop', 'blue', '{\"time_limit\": 0.3}')"


def connect():
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(LIBRARY)
    db.executescript(
        """CREATE VIRTUAL TABLE docs USING fts5(title);
        INSERT INTO docs WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 300)
            SELECT iif(i % 2, 'red', 'blue') || iif(i % 3, ' shoe', ' hat') FROM n;
        CREATE TABLE judgments AS SELECT iif(rowid % 2, 'red', 'blue') AS query, rowid AS doc_id, rowid % 5 > 2 AS relevance FROM docs;
        CREATE VIEW candidates AS SELECT q.query AS query_id, docs.rowid AS doc_id, bm25(docs) AS bm25, docs.rowid % 5 AS price
            FROM ltr_query AS q JOIN docs ON docs MATCH ltr_fts_query(q.query);"""
    )
    db.execute("SELECT ltr_train('rank_svm', 'judgments', '{\"name\": \"shop\", \"candidates\": \"candidates\", \"lambda\": 1}')")
    assert len(db.execute(SEARCH).fetchall()) == 150
    return db


def replace(db, body):
    db.execute("DROP VIEW IF EXISTS candidates")
    db.execute(f"CREATE VIEW candidates AS {body}")


def problem(db, sql):
    try:
        db.execute(sql).fetchall()
    except sqlite3.DatabaseError as error:
        return str(error)
    return "no error"


db = connect()
kept = db.execute("SELECT count(*), sum(relevance) FROM judgments").fetchone()
for name, (told, body) in HOSTILE.items():
    replace(db, body)
    began = time.monotonic()
    found = problem(db, SEARCH)
    seconds = time.monotonic() - began
    assert told in found, f"{name}: {found}"
    assert seconds < 3, f"{name}: {seconds:.1f} s"
    # No query is left behind, and the next search works.
    assert db.execute("SELECT count(*) FROM ltr_query").fetchone() == (0,), name
    print(f"{name}: {seconds:.2f} s: {found}")
for sql in NOT_A_VIEW:
    db.execute("DROP VIEW IF EXISTS candidates")
    assert "syntax error" in problem(db, sql), sql
# A view in the schema temp is not a candidate view, and one that hides the real view is not read.
db.execute("DROP VIEW IF EXISTS candidates")
db.execute(f"CREATE TEMP VIEW candidates AS SELECT 'x' AS query_id, 1 AS doc_id, {COLUMNS} FROM ltr_query")
assert "candidates" in problem(db, SEARCH) and "another query" not in problem(db, SEARCH)
db.execute("DROP VIEW temp.candidates")
# Two readings of the queries are two times the same rows.
replace(db, f"SELECT a.query AS query_id, 1 AS doc_id, {COLUMNS} FROM ltr_query AS a, ltr_query AS b WHERE a.query = b.query")
assert db.execute(SEARCH).fetchall() == [(1,)]
assert db.execute("SELECT count(*), sum(relevance) FROM judgments").fetchone() == kept
print(f"{len(HOSTILE)} hostile views and {len(NOT_A_VIEW)} statements with SQLite {sqlite3.sqlite_version}")
