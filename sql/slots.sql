-- Slots: which article belongs to which slot of a front page. The script makes its own data and runs in any host.
--
-- From the project's root, in the sqlite3 shell:
--   .load ./libsqlite_ltr
--   .read sql/slots.sql
--
-- It prints its results. It can be read twice: tables that already exist stay as they are.

-- 60 days with 8 articles each, and a page with three slots: lead, world and sport. An article has a news value and a
-- degree of sport, from world news (0) to sport (1). The editors choose the best article for each slot.
CREATE TEMP TABLE IF NOT EXISTS articles AS
WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 60 * 8 - 1)
SELECT n / 8 + 1 AS day, n AS article,
       (n * 7919 + 17) % 1009 / 1009.0 AS news,
       (n * 104729 + 5) % 997 / 997.0 AS sports
  FROM numbers;

-- A row is an article at a slot. Features describe the pair: each slot has its own criterion.
CREATE TEMP VIEW IF NOT EXISTS places AS
WITH slots(slot) AS (VALUES ('lead'), ('world'), ('sport'))
SELECT day AS query_id, article AS doc_id, slot,
       CASE slot WHEN 'lead' THEN news ELSE 0 END AS news_at_lead,
       CASE slot WHEN 'world' THEN 1 - sports ELSE 0 END AS world_at_world,
       CASE slot WHEN 'sport' THEN sports ELSE 0 END AS sport_at_sport
  FROM articles, slots;

-- The choice of the editors: the best lead, and the best of the other articles for each section.
CREATE TEMP TABLE IF NOT EXISTS chosen AS
WITH leads AS (SELECT day, article, rank() OVER (PARTITION BY day ORDER BY news DESC) AS place FROM articles),
     rest AS (SELECT a.* FROM articles AS a JOIN leads AS l USING (day, article) WHERE l.place > 1)
SELECT day AS query_id, article AS doc_id, 'lead' AS slot FROM leads WHERE place = 1
 UNION ALL
SELECT day, article, 'sport' FROM (SELECT *, rank() OVER (PARTITION BY day ORDER BY sports DESC) AS place FROM rest) WHERE place = 1
 UNION ALL
SELECT day, article, 'world' FROM (SELECT *, rank() OVER (PARTITION BY day ORDER BY sports) AS place FROM rest) WHERE place = 1;

CREATE TEMP VIEW IF NOT EXISTS judged_places AS
SELECT p.*, c.slot IS NOT NULL AS relevance FROM places AS p LEFT JOIN chosen AS c USING (query_id, doc_id, slot);

-- Train on forty days.
SELECT ltr_train('matching', 'SELECT * FROM judged_places WHERE query_id <= 40', '{"name": "front_page"}') ->> '$.roles.slot' AS slots;

-- The page of a new day: one article per slot, no article twice.
SELECT slot, doc_id
  FROM ltr_rank('front_page', 'SELECT * FROM places WHERE query_id = 50') ORDER BY slot;

-- How many slots of the other days are filled with the choice of the editors?
SELECT sum(c.doc_id = r.doc_id) AS "right", count(*) AS places
  FROM ltr_rank('front_page', 'SELECT * FROM places WHERE query_id > 40') AS r JOIN chosen AS c USING (query_id, slot);
