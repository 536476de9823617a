-- A test suite of a stored ranker in plain SQL: docs/guide/test-suites.md explains it. It tests the model 'hotels' of that page.
--   sqlite3 -bail hotels.db '.load ./libsqlite_ltr' '.read sql/test_suite.sql'
-- The first statement that fails ends the suite: the shell prints its line and exits with code 1. A suite that passes prints nothing.

-- 1. What must hold exactly. NULL fails, too: of a model or a query that does not exist.
CREATE TEMP TABLE must (holds INTEGER NOT NULL CHECK (holds));

-- The bytes of the model are those that were accepted.
INSERT INTO must SELECT (SELECT ltr_bucket(hex(model), 65536) FROM ltr_models WHERE name = 'hotels' AND active) = 39480;
-- The training had no warnings.
INSERT INTO must SELECT (SELECT report ->> 'warnings' FROM ltr_models WHERE name = 'hotels' AND active) = '[]';
-- Pinned queries keep their first documents.
INSERT INTO must SELECT (SELECT group_concat(doc_id) FROM ltr_rank('hotels', 'candidates', '{"k": 3}') WHERE query_id = 82) = '3,1,5';
INSERT INTO must SELECT (SELECT group_concat(doc_id) FROM ltr_rank('hotels', 'candidates', '{"k": 3}') WHERE query_id = 90) = '5,1,3';
-- The last ranking had no warnings.
INSERT INTO must SELECT ltr_debug() ->> 'last_warnings' = '[]';

-- 2. What is measured, with the range that is accepted.
CREATE TEMP TABLE expected (what TEXT PRIMARY KEY, found REAL, low REAL, high REAL);

INSERT INTO expected
SELECT 'mean ' || metric, value, 0.95, 1 FROM ltr_evaluate('hotels', 'candidates', '{"metric": ["ndcg@10", "map"]}') WHERE query_id IS NULL;

INSERT INTO expected
SELECT 'least gain over the order by stars, with a confidence of 95 %', ltr_paired_test(e.value, s.value) ->> 'ci_low', 0, 1
  FROM ltr_evaluate('hotels', 'candidates') AS e
  JOIN (SELECT query_id, ltr_ndcg(relevance, stars, 10) AS value FROM candidates GROUP BY query_id) AS s USING (query_id);

INSERT INTO expected
SELECT 'alerts of the monitor', count(*), 0, 0 FROM ltr_monitor('hotels', 'candidates') WHERE status = 'alert';

-- 3. The expectations that fail, and the end of the suite if there are some.
CREATE TEMP VIEW failures AS SELECT * FROM expected WHERE (found BETWEEN low AND high) IS NOT TRUE;
SELECT 'FAILED: ' || what || ' is ' || coalesce(found, 'NULL') || ', not ' || low || ' to ' || high AS failure FROM failures;
INSERT INTO must SELECT count(*) = 0 FROM failures;
