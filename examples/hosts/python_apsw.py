# host: apsw
# tried: apsw 3.54.1.0
# install: `pip install sqlite-ltr apsw`
# load: sqlite_ltr.load(connection)
# note: Has its own SQLite, so any Python build can load extensions.
# note: Does not wait for locks: call `set_busy_timeout(5000)`.

from pathlib import Path

import apsw
import sqlite_ltr

connection = apsw.Connection("shop.db")
connection.set_busy_timeout(5000)
sqlite_ltr.load(connection)
connection.execute(Path("hotels.sql").read_text())

print(connection.execute("SELECT ltr_train('q_svm', 'judgments') ->> 'warnings'").get)

ranking = """
    SELECT rank, doc_id, printf('%.2f', score)
      FROM ltr_rank('q_svm', 'candidates') WHERE query_id = ? ORDER BY rank LIMIT 3"""
for row in connection.execute(ranking, (90,)):
    print(*row)
connection.close()
