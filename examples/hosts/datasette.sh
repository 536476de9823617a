# host: Datasette
# tried: Datasette 0.65.5
# install: `pip install datasette datasette-sqlite-ltr`
# note: `ltr_letor`, which reads files, is not included.
# note: Datasette opens the database read-only. Train in Python or with sqlite-utils.
# note: URL parameters are text: write `CAST(:q AS INTEGER)`.

# Train in Python.
python3 - << 'PYTHON'
import sqlite3
from pathlib import Path

import sqlite_ltr

connection = sqlite3.connect("shop.db")
sqlite_ltr.load(connection)
connection.executescript(Path("hotels.sql").read_text())
print(connection.execute("SELECT ltr_train('q_svm', 'judgments') ->> 'warnings'").fetchone()[0])
connection.close()
PYTHON

# A page that ranks: http://127.0.0.1:8001/shop/ranking?q=90
cat > metadata.yaml << 'YAML'
databases:
  shop:
    queries:
      ranking: |-
        SELECT rank, doc_id, printf('%.2f', score) AS score
          FROM ltr_rank('q_svm', 'candidates') WHERE query_id = CAST(:q AS INTEGER) ORDER BY rank LIMIT 3
YAML
datasette shop.db --metadata metadata.yaml --get "/shop/ranking.csv?q=90&_header=off"
