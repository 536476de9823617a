-- The example data of docs/guide/hybrid.md and docs/guide/features.md: a small shop for outdoor equipment.
--
-- From the project's root, in the sqlite3 shell:
--   .load ./libsqlite_ltr
--   .read sql/hybrid.sql
--
-- Tables that already exist stay as they are, so the script can be read twice.

-- Eight kinds of things with four words each.
CREATE TABLE IF NOT EXISTS kinds AS
SELECT column1 AS kind, column2 AS words
  FROM (VALUES (0, '["tent", "shelter", "camping", "pegs"]'), (1, '["boots", "hiking", "shoes", "trail"]'),
               (2, '["rain", "jacket", "waterproof", "hood"]'), (3, '["stove", "gas", "cooking", "pot"]'),
               (4, '["lamp", "headlamp", "light", "battery"]'), (5, '["backpack", "rucksack", "straps", "travel"]'),
               (6, '["sleeping", "bag", "down", "warm"]'), (7, '["bottle", "water", "filter", "flask"]'));

-- 240 products. The title has two words of the kind and one of another kind. The embedding simulates a language model's:
-- a number for each kind, and noise. sold is the number of sales.
CREATE TABLE IF NOT EXISTS products AS
WITH RECURSIVE
numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 239),
drawn AS (SELECT n, n % 8 AS kind, (n * 5 + n / 8 + 3) % 8 AS other, n * 7919 % 1009 AS chance FROM numbers)
SELECT n + 1 AS doc_id, kind, other, chance * 31 % 101 AS sold, 10 + chance * 17 % 190 AS price,
       (SELECT words ->> (chance % 4) || ' ' || (words ->> ((chance % 4 + 1 + chance / 4 % 3) % 4)) FROM kinds AS k WHERE k.kind = drawn.kind)
       || ' ' || (SELECT words ->> (chance / 16 % 4) FROM kinds AS k WHERE k.kind = other) AS title,
       (SELECT ltr_vec(json_group_array((k.kind = drawn.kind) + 0.5 * (k.kind = other) + (chance * (k.kind + 3) % 97 - 48) / 120.0))
          FROM kinds AS k) AS embedding
  FROM drawn;

CREATE VIRTUAL TABLE IF NOT EXISTS products_fts USING fts5(title, content='products', content_rowid='doc_id');
INSERT INTO products_fts(products_fts) VALUES ('rebuild');

-- 64 queries of one or two words. The embedding is near their kind's.
CREATE TABLE IF NOT EXISTS queries AS
WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 63)
SELECT n + 1 AS query_id, n % 8 AS kind,
       (SELECT words ->> (n / 8 % 4) || iif(n % 3 = 0, ' ' || (words ->> ((n / 8 + 1) % 4)), '') FROM kinds WHERE kind = n % 8) AS text,
       (SELECT ltr_vec(json_group_array((kind = n % 8) + (n * 41 * (kind + 5) % 89 - 44) / 150.0)) FROM kinds) AS embedding
  FROM numbers;

-- Users want the kind that they ask for, preferably what sells well; products with it as the other kind suit them a little.
-- The grades are from 0 to 3.
CREATE VIEW IF NOT EXISTS grades AS
SELECT query_id, doc_id,
       CASE WHEN q.kind = p.kind THEN 1 + (sold > 30) + (sold > 70) ELSE q.kind = p.other AND sold > 50 END AS relevance
  FROM queries AS q, products AS p;
