-- The example data of docs/guide/rag.md, column-weights.md and judgments.md: notes that an assistant keeps, and searches in them.
--
-- From the project's root, in the sqlite3 shell:
--   .load ./libsqlite_ltr
--   .read sql/notes.sql
--
-- Tables that already exist stay as they are, so the script can be read twice.

CREATE TABLE IF NOT EXISTS topics AS
SELECT column1 AS topic, column2 AS words
  FROM (VALUES (0, '["index", "schema", "query", "lock", "vacuum"]'), (1, '["password", "token", "session", "cookie", "login"]'),
               (2, '["invoice", "tax", "refund", "card", "price"]'), (3, '["server", "release", "rollback", "docker", "cluster"]'),
               (4, '["phone", "screen", "touch", "battery", "app"]'), (5, '["inbox", "spam", "sender", "bounce", "mail"]'),
               (6, '["interview", "candidate", "offer", "salary", "contract"]'), (7, '["flight", "hotel", "visa", "train", "trip"]'),
               (8, '["color", "font", "layout", "logo", "icon"]'), (9, '["ticket", "customer", "complaint", "answer", "chat"]'));

-- 300 notes. Title and tag have words of the topic of the note, the body has many of another topic, too. age is in days, thumbs
-- are readers' clicks on thumbs up minus clicks on thumbs down. The embedding simulates a language model's.
CREATE TABLE IF NOT EXISTS notes AS
WITH RECURSIVE
numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 299),
drawn AS (SELECT n, n % 10 AS topic, (n * 7 + n / 10 + 3) % 10 AS other, n * 7919 % 10007 AS chance FROM numbers),
words AS (SELECT n, i.value AS i, words ->> ((chance / (i.value + 1) + i.value * 3) % 5) AS word
            FROM drawn, json_each('[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]') AS i
            JOIN topics AS t ON t.topic = CASE WHEN i.value IN (2, 6, 7, 8, 9) THEN other ELSE drawn.topic END)
SELECT n + 1 AS note_id, topic, other, chance * 31 % 360 AS age, chance * 17 % 11 - 5 AS thumbs,
       (SELECT group_concat(word, ' ') FROM words AS w WHERE w.n = drawn.n AND i < 3) AS title,
       (SELECT word FROM words AS w WHERE w.n = drawn.n AND i = 3) AS tags,
       (SELECT group_concat(word, ' ') FROM words AS w WHERE w.n = drawn.n AND i > 3) AS body,
       (SELECT ltr_vec(json_group_array((t.topic = drawn.topic) + 0.6 * (t.topic = other) + (chance * (t.topic + 3) % 97 - 48) / 90.0))
          FROM topics AS t) AS embedding
  FROM drawn;

CREATE VIRTUAL TABLE IF NOT EXISTS notes_fts USING fts5(title, tags, body, content = 'notes', content_rowid = 'note_id');
INSERT INTO notes_fts(notes_fts) VALUES ('rebuild');

-- 90 searches of two words.
CREATE TABLE IF NOT EXISTS searches AS
WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 89)
SELECT n + 1 AS query_id, n % 10 AS topic,
       (SELECT words ->> (n / 10 % 5) || ' ' || (words ->> ((n / 10 + 1 + n / 50) % 5)) FROM topics WHERE topic = n % 10) AS text,
       (SELECT ltr_vec(json_group_array((topic = n % 10) + (n * 41 * (topic + 5) % 89 - 44) / 110.0)) FROM topics) AS embedding
  FROM numbers;

-- Grades from 0 to 3: notes of the topic, rather new ones and those that readers liked.
CREATE VIEW IF NOT EXISTS grades AS
SELECT query_id, note_id,
       CASE WHEN topic = asked THEN 1 + (age + chance < 130) + (thumbs + chance % 5 > 3)
            ELSE asked = other AND age + chance < 100 AND thumbs > 1 END AS relevance
  FROM (SELECT query_id, note_id, s.topic AS asked, n.topic, other, age, thumbs, (query_id * 89 + note_id * 37) * 7919 % 80 AS chance
          FROM searches AS s, notes AS n);

-- What a cross-encoder says about a search and a note: whether the note is about the search, and noise.
CREATE VIEW IF NOT EXISTS cross_encoder AS
SELECT query_id, note_id,
       (s.topic = n.topic) + 0.3 * (s.topic = n.other) + ((query_id * 97 + note_id * 61) * 7919 % 1009 - 504) / 800.0 AS score
  FROM searches AS s, notes AS n;
