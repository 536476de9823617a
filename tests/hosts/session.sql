-- The session that every host runs (tests/loadable.rs). One statement per line; a line that begins with `-->` is the row
-- it gives, `--!` its error's message, neither: no row. It runs in the shell too: `.load` the library, `.read` this.
CREATE TABLE judgments (query_id INTEGER, doc_id INTEGER, relevance INTEGER, f1 REAL, f2 REAL, q_taste REAL);
WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 239), r AS (SELECT i / 12 AS q, i % 12 AS d, i * 37 % 101 / 101.0 AS f1, i * 53 % 97 / 97.0 AS f2, i / 12 / 19.0 AS a FROM n) INSERT INTO judgments SELECT q, d, CAST(4 * (a * f1 + (1 - a) * f2) AS INTEGER), f1, f2, a FROM r;
CREATE TABLE candidates AS SELECT 100 AS query_id, doc_id, f1, f2, 0.95 AS q_taste FROM judgments WHERE query_id = 7 UNION ALL SELECT 101, doc_id, f1, f2, 0.05 FROM judgments WHERE query_id = 7;

-- Training, the table of models.
SELECT json_valid(ltr_train('q_svm', 'judgments'));
--> 1
SELECT json_valid(ltr_train('rank_svm', 'SELECT * FROM judgments WHERE query_id < 15', '{"name": "uniform", "scale": "none"}'));
--> 1
SELECT json_valid(ltr_train('knn_svm', 'judgments', '{"smoothing": "gaussian", "lambda": 0.1, "threads": 2}'));
--> 1
SELECT group_concat(name || '@' || version || ':' || active) FROM (SELECT * FROM ltr_models ORDER BY name);
--> knn_svm@1:1,q_svm@1:1,uniform@1:1
SELECT typeof(ltr_fit('rank_svm', 'judgments')), length(ltr_fit('rank_svm', 'judgments', '{"threads": 1}')) > 100;
--> blob|1
SELECT ltr_fit('q_svm', 'judgments', '{"threads": 1}') = (SELECT model FROM ltr_models WHERE name = 'q_svm');
--> 1

-- Kernels, losses, the ranking form, the prior, fits at query time.
CREATE TABLE kinds (name, algorithm, options);
INSERT INTO kinds VALUES ('curved', 'rank_svm', '{"kernel": "gaussian", "loss": "squared_hinge", "landmarks": 60}'), ('pairs', 'q_svm', '{"form": "ranking", "kernel": {"laplace": {"gamma": "median"}}, "landmarks": 80, "lambda": 0.01}'), ('late', 'q_svm', '{"fit_at": "query_time"}'), ('pulled', 'q_svm', '{"prior": "global", "loss": "logistic"}');
CREATE TEMP TABLE fitted AS SELECT name, ltr_fit(algorithm, 'judgments', options) AS model FROM kinds;
SELECT group_concat(line, ' ') FROM (SELECT name || ':' || count(*) || ',' || min(rank) || '-' || max(rank) AS line FROM fitted, ltr_rank(fitted.model, 'candidates') GROUP BY name);
--> curved:24,1-12 late:24,1-12 pairs:24,1-12 pulled:24,1-12
SELECT group_concat(name || '=' || printf('%.3f', value), ' ') FROM (SELECT name, value FROM fitted, ltr_evaluate(fitted.model, 'judgments', '{"metric": "ndcg@5"}') WHERE query_id IS NULL ORDER BY name);
--> curved=0.916 late=0.982 pairs=0.973 pulled=0.962
SELECT json_valid(ltr_train('q_svm', 'judgments', '{"name": "late", "fit_at": "query_time"}')), json_extract(ltr_info('late'), '$.training.functions');
--> 1|0
SELECT count(*), sum(a.score = b.score) FROM ltr_rank('late', 'judgments') AS a JOIN ltr_rank('q_svm', 'judgments') AS b USING (query_id, doc_id);
--> 240|240
SELECT ltr_score(model, ltr_vec(0.9, 0.1)) > ltr_score(model, ltr_vec(0.1, 0.1)) FROM fitted WHERE name = 'curved';
--> 1
SELECT ltr_score(model, ltr_vec(0.9, 0.1), ltr_vec(0.9)) FROM fitted WHERE name = 'pairs';
--! ltr_score: the model's form "ranking" needs all documents of a query; use ltr_rank
DELETE FROM ltr_models WHERE name = 'late';

-- Listwise losses, a model that goes on.
SELECT count(*), max(rank) FROM ltr_rank(ltr_fit('slam', 'judgments', '{"lambda": 0.01}'), 'candidates');
--> 24|12
SELECT count(*), max(rank) FROM ltr_rank(ltr_fit('list_net', 'judgments', '{"lambda": 0.01, "smoothing": "gaussian", "kernel": "gaussian", "landmarks": 60}'), 'candidates');
--> 24|12
SELECT json_extract(ltr_train('perceptron', 'judgments'), '$.version'), json_extract(ltr_update('perceptron', 'judgments'), '$.version');
--> 1|2
DELETE FROM ltr_models WHERE name = 'perceptron';

-- Ranking: filter, order, limit, IN, correlation, a new query against its training neighbors.
SELECT doc_id, rank FROM ltr_rank('q_svm', 'candidates') WHERE query_id = 100 ORDER BY rank LIMIT 1;
--> 6|1
SELECT group_concat(doc_id) FROM (SELECT doc_id FROM ltr_rank('q_svm', 'candidates') WHERE query_id = 100 ORDER BY rank LIMIT 4);
--> 6,11,3,0
SELECT group_concat(doc_id) FROM (SELECT doc_id FROM ltr_rank('q_svm', 'candidates') WHERE query_id = 101 ORDER BY rank LIMIT 4);
--> 2,11,0,9
SELECT count(*), count(DISTINCT query_id), min(rank), max(rank), count(slot) FROM ltr_rank('q_svm', 'candidates') WHERE query_id IN (100, 101, 102);
--> 24|2|1|12|0
SELECT group_concat(doc_id) FROM (SELECT r.doc_id FROM (SELECT DISTINCT query_id FROM candidates) c JOIN ltr_rank('q_svm', 'candidates') r ON r.query_id = c.query_id WHERE rank = 1 ORDER BY c.query_id);
--> 6,2
SELECT count(*) FROM ltr_rank('q_svm', 'candidates', '{"k": 3}');
--> 6
SELECT count(*) FROM (SELECT 1 FROM ltr_rank('uniform', 'candidates') ORDER BY score DESC LIMIT 5 OFFSET 20);
--> 4

-- Scoring.
SELECT count(*) FROM (SELECT query_id, doc_id, row_number() OVER (PARTITION BY query_id ORDER BY ltr_score('q_svm', ltr_vec(f1, f2), ltr_vec(q_taste)) DESC) AS place FROM candidates) JOIN ltr_rank('q_svm', 'candidates') AS r USING (query_id, doc_id) WHERE place = r.rank;
--> 24
SELECT ltr_score('uniform', ltr_vec(1, 0)) > ltr_score('uniform', ltr_vec(0, 0)), ltr_score('uniform', '[0, 1]') > ltr_score('uniform', '[0, 0]');
--> 1|1
SELECT ltr_vec_to_json(ltr_vec(1, '[2.5, 3]', ltr_vec(4))), hex(ltr_vec(1));
--> [1.0,2.5,3.0,4.0]|0000803F

-- Metrics, as aggregates and over windows.
SELECT printf('%.6f %.6f %.6f', ltr_ndcg(relevance, f1), ltr_ndcg(relevance, f1, 3), ltr_ap(relevance, f1)) FROM judgments WHERE query_id = 3;
--> 0.868077 0.569838 0.840437
SELECT printf('%.6f %.6f %.6f', ltr_metric('err', relevance, f1), ltr_rr(relevance, f1, '{"threshold": 3}'), ltr_metric('kendall_tau', relevance, f1)) FROM judgments WHERE query_id = 3;
--> 0.909211 1.000000 0.253619
SELECT group_concat(value) FROM (SELECT printf('%.4f', ltr_ndcg(relevance, f1) OVER (ORDER BY doc_id ROWS 2 PRECEDING)) AS value FROM judgments WHERE query_id = 3 AND doc_id < 6);
--> 1.0000,0.7967,0.9721,1.0000,1.0000,1.0000
SELECT ltr_ndcg(0, 1) IS NULL;
--> 1
SELECT group_concat(metric || '=' || printf('%.3f', value), ' ') FROM ltr_evaluate('q_svm', 'judgments', '{"metric": ["nDCG@5", "MAP"]}') WHERE query_id IS NULL;
--> ndcg@5=0.982 map=0.998
SELECT count(DISTINCT metric) || ' ' || max(metric) FROM ltr_evaluate('q_svm', 'judgments');
--> 1 ndcg@10

-- Looking inside.
SELECT json_extract(ltr_info('q_svm'), '$.algorithm'), json_extract(ltr_info('q_svm'), '$.capabilities.query_dependent');
--> q_svm|1
SELECT group_concat(feature) FROM ltr_weights('uniform');
--> f1,f2
SELECT count(*) > 0 FROM ltr_training_log('q_svm');
--> 1
SELECT query_id FROM ltr_neighbors('q_svm', ltr_vec(0.95)) ORDER BY distance LIMIT 1;
--> 18
SELECT abs(sum(contribution) - ltr_score('uniform', ltr_vec(0.5, 0.25))) < 1e-6 FROM ltr_explain('uniform', ltr_vec(0.5, 0.25));
--> 1
SELECT count(*) > 3 FROM ltr_algorithms;
--> 1
SELECT count(*) > 10 FROM ltr_metrics;
--> 1
SELECT count(*) > 10 FROM ltr_options;
--> 1
SELECT json_extract(ltr_debug(), '$.sqlite') = sqlite_version(), json_extract(ltr_debug(), '$.built');
--> 1|loadable

-- A file.
SELECT group_concat(query_id || ' ' || doc_id || ' ' || relevance || ' ' || ltr_vec_to_json(features), '; ') FROM ltr_letor('tests/hosts/sample.letor');
--> 1 A-1 2.0 [0.9,0.1]; 1 A-2 0.0 [0.2,0.4]; 2 B-1 1.0 [0.5,0.3]; 2 B-2 0.0 [0.1,0.0]
SELECT json_valid(ltr_train('rank_svm', 'SELECT query_id, doc_id, relevance, features FROM ltr_letor(''tests/hosts/sample.letor'')', '{"name": "letor", "lambda": 0.01}'));
--> 1

-- Errors.
SELECT ltr_train('q_svn', 'judgments');
--! ltr_train: unknown algorithm 'q_svn', did you mean 'q_svm'?
SELECT ltr_train('q_svm', 'judgements');
--! ltr_train: source 'judgements': no such table or view, did you mean 'judgments'?
SELECT ltr_train('q_svm', 'DELETE FROM judgments');
--! ltr_train: source 'DELETE FROM judgments': no such table or view; expected the name of a table or view, schema.name, or text that begins with SELECT, WITH or VALUES
SELECT ltr_train('q_svm', 'judgments', '{"lamda": 1}');
--! ltr_train: unknown option 'lamda', did you mean 'lambda'?
SELECT ltr_fit('rank_svm', 'judgments', '{"kernel": "gausian"}');
--! ltr_fit: unknown kernel 'gausian', did you mean 'gaussian'?
SELECT ltr_fit('rank_svm', 'judgments', '{"loss": "logistic", "solver": "admm"}');
--! ltr_fit: solver "admm" does not support loss "logistic"; use solver "auto" or "newton"
SELECT ltr_train('q_svm', 'judgments') FROM judgments;
--! ltr_train: an outer statement is reading this database, so the model could not be stored after training; call it in a SELECT without FROM while no other statement of the connection is open; ltr_fit returns the model as a BLOB and writes nothing
SELECT * FROM ltr_rank('nobody', 'candidates');
--! ltr_rank: unknown model 'nobody'; known: knn_svm, letor, q_svm, uniform
SELECT * FROM ltr_rank('q_svm');
--! ltr_rank: argument 'source' is missing; call ltr_rank(model, source [, options] [, value1, ...])
SELECT * FROM ltr_rank('q_svm' || char(0), 'candidates');
--! ltr_rank: unknown model 'q_svm\0', did you mean 'q_svm'?
SELECT ltr_info('q_svm' || char(0));
--! ltr_info: unknown model 'q_svm\0', did you mean 'q_svm'?
SELECT ltr_score(x'00', x'00');
--! ltr_score: model is damaged or not a model: 1 bytes that do not begin like a model

-- What the schema may not do (DIRECTONLY), and what it may.
CREATE VIEW ranked AS SELECT * FROM ltr_rank('q_svm', 'candidates');
SELECT count(*) FROM ranked;
--! unsafe use of virtual table "ltr_rank"
CREATE TEMP VIEW ranked_here AS SELECT * FROM ltr_rank('q_svm', 'candidates');
SELECT count(*) FROM ranked_here;
--> 24
CREATE VIEW trained AS SELECT ltr_train('q_svm', 'judgments');
SELECT * FROM trained;
--! unsafe use of ltr_train()
CREATE VIEW scored AS SELECT ltr_score('uniform', ltr_vec(f1, f2)) AS score FROM candidates;
SELECT count(score) FROM scored;
--> 24
CREATE VIEW measured AS SELECT query_id, ltr_ndcg(relevance, f1) AS ndcg FROM judgments GROUP BY query_id;
PRAGMA trusted_schema = OFF;
SELECT count(ndcg) FROM measured;
--> 20
SELECT count(score) FROM scored;
--! unsafe use of ltr_score()
PRAGMA trusted_schema = ON;

-- Models are rows: going back, transactions, other schemas.
SELECT json_valid(ltr_train('rank_svm', 'judgments', '{"name": "uniform"}'));
--> 1
UPDATE ltr_models SET active = (version = 1) WHERE name = 'uniform';
SELECT json_extract(ltr_info('uniform'), '$.version'), json_extract(ltr_info('uniform@2'), '$.version');
--> 1|2
BEGIN;
SELECT json_valid(ltr_train('indv_svm', 'judgments'));
--> 1
ROLLBACK;
SELECT count(*) FROM ltr_models WHERE name = 'indv_svm';
--> 0
CREATE TABLE reports (report);
INSERT INTO reports SELECT ltr_train('rank_svm', 'judgments', '{"name": "kept"}');
--! ltr_train: a statement that writes is still running on this connection, such as one that contains this call, so the model could not be stored; call it in a separate SELECT, and read its report later from ltr_models.report
SELECT json_extract(ltr_train('rank_svm', 'judgments', '{"name": "kept", "keep_versions": 1}'), '$.version');
--> 1
SELECT json_extract(ltr_train('rank_svm', 'judgments', '{"name": "kept", "keep_versions": 1}'), '$.version');
--> 2
SELECT group_concat(version) FROM ltr_models WHERE name = 'kept';
--> 2
ATTACH ':memory:' AS other;
SELECT json_valid(ltr_train('rank_svm', 'judgments', '{"schema": "other", "name": "elsewhere"}'));
--> 1
SELECT count(*) FROM ltr_rank('elsewhere', 'candidates', '{"schema": "other"}');
--> 24
SELECT count(*) FROM ltr_rank('elsewhere', 'candidates');
--! ltr_rank: unknown model 'elsewhere'; known: kept, knn_svm, letor, q_svm, uniform
CREATE TEMP TRIGGER again AFTER INSERT ON main.ltr_models BEGIN SELECT ltr_train('rank_svm', 'judgments'); END;
SELECT ltr_train('rank_svm', 'judgments', '{"name": "kept"}');
--! ltr_train: the model could not be stored: ltr_train: training is already running on this connection; a source or trigger must not start it again; ltr_fit returns the model as a BLOB and writes nothing
DROP TRIGGER again;
SELECT max(version) FROM ltr_models WHERE name = 'kept';
--> 2

-- Texts without words, for the tokenizers of full-text tables.
CREATE VIRTUAL TABLE words USING fts5(x);
CREATE VIRTUAL TABLE trigrams USING fts5(x, tokenize = 'trigram');
CREATE VIRTUAL TABLE stems USING fts5(x, tokenize = 'porter ascii');
INSERT INTO words VALUES ('red shoes');
INSERT INTO trigrams VALUES ('red shoes');
INSERT INTO stems VALUES ('red shoes');
SELECT group_concat(ltr_fts_query(column1, json_object('table', column2)), ' ') FROM (VALUES (NULL, 'words'), ('', 'words'), (x'', 'trigrams'), (NULL, 'trigrams'), ('', 'trigrams'), (char(0), 'trigrams'), ('', 'stems'), ('-', 'stems'), ('Shoes', 'trigrams'));
--> "" "" "" "" "" "" "" "" "Shoes"
DROP TABLE words;
DROP TABLE trigrams;
DROP TABLE stems;

-- From a query to a ranking: candidates and features come from a view.
CREATE VIEW found AS SELECT q.query AS query_id, j.doc_id, f1, f2 FROM ltr_query AS q JOIN judgments AS j ON j.query_id = q.query % 20;
SELECT json_extract(ltr_train('rank_svm', 'SELECT query_id, doc_id, relevance FROM judgments WHERE doc_id > 2', '{"name": "seen", "candidates": "found", "lambda": 0.1}'), '$.view.found', '$.view.unjudged');
--> [180,60]
SELECT count(*), max(rank) FROM ltr_search('seen', 27);
--> 12|12
SELECT count(*) FROM ltr_search('seen', 27) AS s JOIN ltr_rank('seen', 'SELECT * FROM judgments WHERE query_id = 7') AS r USING (doc_id, rank, score);
--> 12
SELECT group_concat(metric) FROM (SELECT metric FROM ltr_evaluate('seen', 'SELECT query_id, doc_id, relevance FROM judgments') WHERE query_id IS NULL);
--> ndcg@10,best ndcg@10,judged@10
SELECT count(*) FROM ltr_query;
--> 0
DROP VIEW found;

PRAGMA query_only = ON;
SELECT ltr_train('rank_svm', 'judgments');
--! ltr_train: the database 'main' is read-only; ltr_fit returns the model as a BLOB and writes nothing
SELECT typeof(ltr_fit('rank_svm', 'judgments')), count(*) FROM ltr_rank('q_svm', 'candidates');
--> blob|24
PRAGMA query_only = OFF;
DELETE FROM ltr_models;
SELECT * FROM ltr_rank('q_svm', 'candidates');
--! ltr_rank: no model 'q_svm': "main".ltr_models is empty; train one with ltr_train
