-- Slots: which article belongs to which place of a front page. The data are made here; every statement runs in any host.
--
-- From the project's root, in the sqlite3 shell:
--   .load target/release/libsqlite_ltr
--   .read sql/slots.sql

-- 60 days with 8 articles each, and a page with three places: lead, world and sport. A row is an article at a place. Each
-- article has a weight of news and leans to world or to sport; the editors give every place its best article.
CREATE TEMP TABLE articles AS
WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 60 * 8 - 1)
SELECT n / 8 + 1 AS day, n AS article,
       (n * 7919 + 17) % 1009 / 1009.0 AS news,
       (n * 104729 + 5) % 997 / 997.0 AS sports
  FROM numbers;

-- Features of the pair of article and place: what a place looks for.
CREATE TEMP VIEW places AS
WITH slots(slot) AS (VALUES ('lead'), ('world'), ('sport'))
SELECT day AS query_id, article AS doc_id, slot,
       CASE slot WHEN 'lead' THEN news ELSE 0 END AS news_at_lead,
       CASE slot WHEN 'world' THEN 1 - sports ELSE 0 END AS world_at_world,
       CASE slot WHEN 'sport' THEN sports ELSE 0 END AS sport_at_sport
  FROM articles, slots;

-- The editors' choice: the best lead, and of the other articles the one for each section.
CREATE TEMP TABLE chosen AS
WITH leads AS (SELECT day, article, rank() OVER (PARTITION BY day ORDER BY news DESC) AS place FROM articles),
     rest AS (SELECT a.* FROM articles AS a JOIN leads AS l USING (day, article) WHERE l.place > 1)
SELECT day AS query_id, article AS doc_id, 'lead' AS slot FROM leads WHERE place = 1
 UNION ALL
SELECT day, article, 'sport' FROM (SELECT *, rank() OVER (PARTITION BY day ORDER BY sports DESC) AS place FROM rest) WHERE place = 1
 UNION ALL
SELECT day, article, 'world' FROM (SELECT *, rank() OVER (PARTITION BY day ORDER BY sports) AS place FROM rest) WHERE place = 1;

CREATE TEMP VIEW judged AS
SELECT p.*, c.slot IS NOT NULL AS relevance FROM places AS p LEFT JOIN chosen AS c USING (query_id, doc_id, slot);

-- Forty days to learn from.
SELECT ltr_train('matching', 'SELECT * FROM judged WHERE query_id <= 40', '{"name": "front_page"}') ->> '$.roles.slot' AS slots;

-- The page of a day that was not learned: one article per place, no article twice.
SELECT slot, doc_id
  FROM ltr_rank('front_page', 'SELECT * FROM places WHERE query_id = 50') ORDER BY slot;

-- How many places of the other days are filled as the editors did.
SELECT sum(c.doc_id = r.doc_id) AS "right", count(*) AS places
  FROM ltr_rank('front_page', 'SELECT * FROM places WHERE query_id > 40') AS r JOIN chosen AS c USING (query_id, slot);
