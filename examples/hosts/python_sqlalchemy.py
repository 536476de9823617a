# host: SQLAlchemy
# tried: SQLAlchemy 2.1.9
# install: `pip install sqlite-ltr sqlalchemy`
# load: event.listen(engine, "connect", lambda connection, record: sqlite_ltr.load(connection))
# note: `text()` treats `:q` inside SQL strings as a parameter: write `\:q`, or call `exec_driver_sql`. In JSON, so is `"k":1`: write a space after the colon.
# note: If Python cannot load extensions: `pip install pysqlite3-binary` and `create_engine(url, module=pysqlite3)`.

from pathlib import Path

import sqlite_ltr
from sqlalchemy import create_engine, event

engine = create_engine("sqlite:///shop.db")
event.listen(engine, "connect", lambda connection, record: sqlite_ltr.load(connection))

with engine.begin() as connection:
    connection.connection.executescript(Path("hotels.sql").read_text())
    print(connection.exec_driver_sql("SELECT ltr_train('q_svm', 'judgments') ->> 'warnings'").scalar())

ranking = """
    SELECT rank, doc_id, printf('%.2f', score)
      FROM ltr_rank('q_svm', 'candidates') WHERE query_id = ? ORDER BY rank LIMIT 3"""
with engine.connect() as connection:
    for row in connection.exec_driver_sql(ranking, (90,)):
        print(*row)
