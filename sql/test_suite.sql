-- A test suite of a stored ranker in plain SQL: docs/guide/test-suites.md explains it. It tests the model 'hotels' of that page.
--   sqlite3 -bail hotels.db '.load ./libsqlite_ltr' '.read sql/test_suite.sql'
-- A suite that fails prints each expectation that doesn't hold, and ends with exit code 1. A suite that passes prints nothing.

-- A value that is NULL fails. Text must equal `low`; a number may be from `low` to `high`.
CREATE TEMP TABLE expected (what PRIMARY KEY, found, low, high);

-- 1. Exact values. As subqueries in SELECT, they are NULL if the model or the query doesn't exist.
-- The model is the accepted one, byte for byte (16 bits of a hash).
INSERT INTO expected (what, low, found)
SELECT 'hash of the model', 39480, (SELECT ltr_bucket(hex(model), 65536) FROM ltr_models WHERE name = 'hotels' AND active);
INSERT INTO expected (what, low, found)
SELECT 'warnings of the training', '[]', (SELECT report ->> 'warnings' FROM ltr_models WHERE name = 'hotels' AND active);
-- Pinned queries keep their first documents.
INSERT INTO expected (what, low, found)
SELECT 'query ' || column1, column2,
       (SELECT group_concat(doc_id) FROM ltr_rank('hotels', 'candidates', '{"k": 3}') WHERE query_id = column1)
  FROM (VALUES (82, '3,1,5'), (90, '5,1,3'));
INSERT INTO expected (what, low, found) SELECT 'warnings of the ranking', '[]', ltr_debug() ->> 'last_warnings';

-- 2. Measured values, with the accepted range.
INSERT INTO expected
SELECT 'mean ' || metric, value, 0.95, 1 FROM ltr_evaluate('hotels', 'candidates', '{"metric": ["ndcg@10", "map"]}')
 WHERE query_id IS NULL AND metric IN ('ndcg@10', 'map');
INSERT INTO expected
SELECT 'lower 95% bound of the gain over ORDER BY stars', ltr_paired_test(e.value, s.value) ->> 'ci_low', 0, 1
  FROM ltr_evaluate('hotels', 'candidates') AS e
  JOIN (SELECT query_id, ltr_ndcg(relevance, stars, 10) AS value FROM candidates GROUP BY query_id) AS s USING (query_id);
INSERT INTO expected
SELECT 'alerts of the monitor', count(*), 0, 0 FROM ltr_monitor('hotels', 'candidates') WHERE status = 'alert';

-- 3. Failed expectations end the suite.
CREATE TEMP VIEW failures AS SELECT * FROM expected WHERE (found BETWEEN low AND coalesce(high, low)) IS NOT TRUE;
SELECT 'FAILED: ' || what || ' is ' || coalesce(found, 'NULL') || ', not ' || low || coalesce(' to ' || high, '') FROM failures;
CREATE TEMP TABLE passed (yes CHECK (yes));
INSERT INTO passed SELECT count(*) = 0 FROM failures;
