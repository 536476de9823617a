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

-- 8. What the ranking may look at besides the text.
CREATE VIEW properties AS SELECT id AS doc_id, ltr_vec(sold, price, stars, stock > 0) AS features FROM products;

-- 9. Judgments from the clicks: how attractive is a product once users look at it?
CREATE TABLE judgments AS SELECT * FROM ltr_judgments('log');

-- 10. The ranking that follows from them. The features of a product are those of the text, then its properties.
SELECT ltr_train('list_net', 'SELECT query_id, j.doc_id, relevance, doc_weight, determined, ltr_vec(ltr_fts(docs), p.features) AS features
                                FROM (SELECT DISTINCT query_id FROM judgments) AS searches
                                JOIN docs ON docs MATCH ltr_fts_query(query_id)
                                JOIN properties AS p ON p.doc_id = docs.rowid
                                JOIN judgments AS j USING (query_id, doc_id)',
                 json_object('name', 'shop', 'report', 'short', 'columns', json_object('feature_names',
                   json_insert(ltr_fts_names('docs'), '$[#]', 'sold', '$[#]', 'price', '$[#]', 'stars', '$[#]', 'in_stock'))));

-- 11. A search. FTS5 finds the best 100 products by bm25, the ranking orders them.
SELECT r.rank, p.title, p.brand, p.price, p.stars, p.sold, p.stock
  FROM ltr_rank('shop', 'WITH found AS MATERIALIZED (
                           SELECT rowid AS doc_id, ltr_fts(docs) AS text FROM docs WHERE docs MATCH ltr_fts_query(?1) ORDER BY rank LIMIT 100)
                         SELECT doc_id, ltr_vec(text, p.features) AS features FROM found JOIN properties AS p USING (doc_id)',
                '{"k": 10}', 'red running shoes') AS r
  JOIN products AS p ON p.id = r.doc_id
 ORDER BY r.rank;
