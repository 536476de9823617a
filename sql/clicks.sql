-- A search log: 20 queries with 8 products each, 4,000 impressions of 5 products. Users look at position p with the
-- probability 1 / p, and click on a product that they look at with a probability that falls with its price.
CREATE TABLE products AS
WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 159)
SELECT i AS doc_id, 1 + i / 8 AS query_id, 5 + i * 37 % 96 AS price, 1 + i * 7919 % 5 AS stars FROM n;

CREATE TABLE log AS
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 4000),
-- The order of a list prefers cheap products, and is otherwise random.
listed AS (
  SELECT n.i AS impression, p.query_id, p.doc_id, p.price, p.stars,
         row_number() OVER (PARTITION BY n.i ORDER BY p.price + (n.i * 7919 + p.doc_id * 104729) % 101) AS position
    FROM n JOIN products AS p ON p.query_id = 1 + n.i % 20)
SELECT impression, query_id, doc_id, position,
       -- A random number from 0 to 1008.
       (impression * 160 + doc_id) * (impression * 160 + doc_id) % 1000003 * 7919 % 1009
         < 1009 * (0.08 + 0.006 * (100 - price) + 0.03 * stars) * 0.8 / position AS clicked
  FROM listed WHERE position <= 5;
