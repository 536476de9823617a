-- The tables of README.md and docs/guide/text.md: six products, a full-text table of them, graded judgments of three searches, and clicks.
CREATE TABLE products (id INTEGER PRIMARY KEY, title TEXT, description TEXT, price REAL);
INSERT INTO products VALUES
  (1, 'Red running shoes', 'Light shoes for running on roads', 89),
  (2, 'Blue running shoes', 'Shoes for trails, with red soles', 99),
  (3, 'Red leather bag', 'A bag for running errands, fits a pair of shoes', 59),
  (4, 'Shoe rack', 'Holds ten pairs of shoes', 35),
  (5, 'Running socks', 'Three pairs, to wear in running shoes', 12),
  (6, 'Blue bag', 'A light bag with a red zipper', 29);
CREATE VIRTUAL TABLE docs USING fts5(title, description, content = 'products', content_rowid = 'id', tokenize = 'porter');
INSERT INTO docs (docs) VALUES ('rebuild');
CREATE TABLE judged (search TEXT, id INTEGER, relevance INTEGER);
INSERT INTO judged VALUES
  ('red running shoes', 1, 3), ('red running shoes', 2, 2), ('red running shoes', 3, 0), ('red running shoes', 4, 0), ('red running shoes', 5, 1),
  ('blue bag', 6, 3), ('blue bag', 3, 1), ('blue bag', 2, 0),
  ('shoes', 1, 2), ('shoes', 2, 2), ('shoes', 4, 1), ('shoes', 5, 0), ('shoes', 3, 0);
-- A log of 1,200 lists in random order. Users look at position p with probability 1 / p, and rather click on higher grades.
CREATE TABLE log AS
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400),
shown AS (SELECT i, search, id, relevance, row_number() OVER (PARTITION BY i, search ORDER BY (i * 16 + id) * (i * 16 + id) % 1009) AS position
            FROM n, judged)
SELECT search || ' ' || i AS impression, search AS query_id, id AS doc_id, position,
       (i * 8 + id) * (i * 8 + id + length(search)) % 10007 * 7919 % 1009 < 1009 * (0.2 + relevance) / 3.2 / position AS clicked
  FROM shown;
