-- The example data of the README and of docs/: searches for hotels.
--
-- From the project's root, in the sqlite3 shell:
--   .load ./libsqlite_ltr
--   .read sql/hotels.sql
--
-- Tables and views that already exist stay as they are, so the script can be read twice.

-- 100 searches with 12 hotels each. q_luxury is a property of the search: how much the guest likes luxury, from 0 to 1.
-- price, stars and mood are properties of the hotel. mood is everything that the table does not record.
CREATE TABLE IF NOT EXISTS hotels AS
WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100)
SELECT q.n AS query_id, d.n AS doc_id,
       q.n * 37 % 101 / 100.0 AS q_luxury,
       (q.n * 7919 + d.n * 1543) % 1009 / 1000.0 AS price,
       (q.n * 3571 + d.n * 2749) % 5 + 1 AS stars,
       (q.n * 5477 + d.n * 6131) % 997 / 1000.0 AS mood
  FROM numbers AS q, numbers AS d WHERE d.n <= 12;

-- Guests grade the hotels of their search from 0 to 3. Who likes luxury prefers high prices, the others low ones.
CREATE VIEW IF NOT EXISTS judged AS
SELECT query_id, doc_id, q_luxury, price, stars,
       ntile(4) OVER (PARTITION BY query_id ORDER BY (2 * q_luxury - 1) * price + stars / 10.0 + mood / 4) - 1
       AS relevance
  FROM hotels;

-- 80 searches to train on. The other 20 show what a model does with searches that it has never seen.
CREATE TABLE IF NOT EXISTS judgments AS SELECT * FROM judged WHERE query_id <= 80 ORDER BY query_id, doc_id;
CREATE TABLE IF NOT EXISTS candidates AS SELECT * FROM judged WHERE query_id > 80 ORDER BY query_id, doc_id;

-- The same hotels, graded by guests who all want the same: a price near the middle and many stars.
CREATE VIEW IF NOT EXISTS middle AS
SELECT query_id, doc_id, q_luxury, price, stars,
       ntile(4) OVER (PARTITION BY query_id ORDER BY stars / 10.0 - abs(price - 0.5) + mood / 4) - 1 AS relevance
  FROM hotels;

CREATE TABLE IF NOT EXISTS middle_judgments AS SELECT * FROM middle WHERE query_id <= 80;
CREATE TABLE IF NOT EXISTS middle_candidates AS SELECT * FROM middle WHERE query_id > 80;
