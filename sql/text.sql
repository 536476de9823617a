-- The tables of docs/guide/text.md: six products, a full-text table of them, and graded judgments of three searches.
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
