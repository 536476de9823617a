-- Recommendation: books for a reader, from the ratings of all readers. The script makes its own data: 60 readers and
-- 40 books. Readers with even numbers like crime, the others poetry, and some books are better than others.
--
-- From the project's root, in the sqlite3 shell:
--   .load ./libsqlite_ltr
--   .read sql/recommend.sql
--
-- It prints its results. It can be read twice: tables that already exist stay as they are.

CREATE TABLE IF NOT EXISTS books AS
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 40)
SELECT i AS book_id, iif(i % 2 = 0, 'crime', 'poetry') AS genre FROM n;

CREATE TABLE IF NOT EXISTS ratings AS
WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 60)
SELECT i AS reader_id, book_id, 1 + 2 * (i % 2 = book_id % 2) + (book_id % 5 = 0) + (i * 7 + book_id * 13) % 11 / 9 AS rating
  FROM n, books WHERE (i * 31 + book_id * 17) % 7 < 2;

-- Train on ids and ratings, without features. Held-out ratings choose lambda.
SELECT ltr_train('cofi_rank', 'ratings', '{"name": "readers", "factors": 3, "columns": {"query": "reader_id", "doc": "book_id"}}')
       ->> '$.ratings' AS ratings;

-- The best books that reader 8 has not rated.
SELECT r.rank, r.doc_id AS book, genre FROM ltr_recommend('readers', 8, '{"k": 3}') AS r JOIN books ON book_id = r.doc_id;

-- A new reader with four ratings, without training.
SELECT r.rank, r.doc_id AS book, genre
  FROM ltr_recommend('readers', 'new', '{"k": 3, "ratings": [[1, 4], [2, 1], [3, 4], [4, 1]]}') AS r
  JOIN books ON book_id = r.doc_id;

-- Rank given pairs of a reader and a book, such as the candidates of another program.
SELECT doc_id AS book, rank
  FROM ltr_rank('readers', 'SELECT 8 AS user, book_id AS item FROM books WHERE book_id IN (1, 2, 10)');

-- The factors of readers and books, as rows.
SELECT kind, count(*) AS rows FROM ltr_factors('readers') GROUP BY kind;
