-- host: sqlite3 shell
-- tried: SQLite 3.40.1
-- install: download the library
-- load: .load ./libsqlite_ltr
-- note: Does not wait for locks: set `.timeout 5000`.
-- note: `.parameter set` evaluates the value as SQL. Quote text twice: `.parameter set :q "'red shoes'"`.

.load ./libsqlite_ltr
.timeout 5000
.read hotels.sql

SELECT ltr_train('q_svm', 'judgments') ->> 'warnings';

.separator " "
SELECT rank, doc_id, printf('%.2f', score)
  FROM ltr_rank('q_svm', 'candidates') WHERE query_id = 90 ORDER BY rank LIMIT 3;
