-- From CSV to a list of products that clicks have taught. The README of this folder explains it.
-- In a folder with products.csv, log.csv and the library: sqlite3 shop.db < shop.sql

-- 1. The library.
.load ./libsqlite_ltr

-- 2 to 5. The products, and a log: what was shown for a search, and what was clicked.
CREATE TABLE products (id INTEGER PRIMARY KEY, title TEXT, brand TEXT, description TEXT, price REAL, sold INTEGER, stars REAL, stock INTEGER);
.import --csv --skip 1 products.csv products
CREATE TABLE log (impression INTEGER, query_id TEXT, doc_id INTEGER, position INTEGER, clicked INTEGER);
.import --csv --skip 1 log.csv log

-- 6 and 7. A full-text index of the products.
CREATE VIRTUAL TABLE docs USING fts5(title, brand, description, content = 'products', content_rowid = 'id', tokenize = 'porter');
INSERT INTO docs (docs) VALUES ('rebuild');

-- 8 and 9. The candidates of a search: the best 100 products by bm25, with the features of the text and of the product. ltr_query
-- has the searches of the judgments during the training, and the text of a search then.
CREATE VIEW properties AS SELECT id AS doc_id, ltr_vec(sold, price, stars, stock > 0) AS features FROM products;
CREATE VIEW found AS
WITH best AS MATERIALIZED (
  SELECT q.query AS query_id, docs.rowid AS doc_id, ltr_fts(docs) AS text
    FROM ltr_query AS q JOIN docs ON docs MATCH ltr_fts_query(q.query) ORDER BY rank LIMIT 100)
SELECT query_id, doc_id, ltr_vec(text, p.features) AS features FROM best JOIN properties AS p USING (doc_id);

-- 10. Judgments from the clicks: how attractive is a product once users look at it?
CREATE TABLE judgments AS SELECT * FROM ltr_judgments('log');

-- 11. The ranking that follows from them.
SELECT ltr_train('list_net', 'judgments', json_object('name', 'shop', 'candidates', 'found', 'report', 'short', 'columns', json_object(
         'feature_names', json_insert(ltr_fts_names('docs'), '$[#]', 'sold', '$[#]', 'price', '$[#]', 'stars', '$[#]', 'in_stock'))));

-- 12. A search.
SELECT r.rank, p.title, p.brand, p.price, p.stars, p.sold, p.stock
  FROM ltr_search('shop', 'red running shoes', '{"k": 10}') AS r JOIN products AS p ON p.id = r.doc_id
 ORDER BY r.rank;
