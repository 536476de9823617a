# host: Python sqlite3
# tried: Python 3.11.2, SQLite 3.40.1
# install: `pip install sqlite-ltr`
# load: sqlite_ltr.load(connection)
# note: Some Python builds, such as pyenv's, cannot load extensions: use apsw there.

import sqlite3
from pathlib import Path

import sqlite_ltr

connection = sqlite3.connect("shop.db")
sqlite_ltr.load(connection)
connection.executescript(Path("hotels.sql").read_text())

print(connection.execute("SELECT ltr_train('q_svm', 'judgments') ->> 'warnings'").fetchone()[0])

ranking = """
    SELECT rank, doc_id, printf('%.2f', score)
      FROM ltr_rank('q_svm', 'candidates') WHERE query_id = ? ORDER BY rank LIMIT 3"""
for row in connection.execute(ranking, (90,)):
    print(*row)
connection.close()
