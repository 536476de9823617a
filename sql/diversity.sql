-- Diversity: at most one result per site. The script makes its own data and runs in any host.
--
-- From the project's root, in the sqlite3 shell:
--   .load ./libsqlite_ltr
--   .read sql/diversity.sql
--
-- It prints its results. It can be read twice: tables that already exist stay as they are.

-- 80 queries with 18 pages each. A page has a site and two features: how well it fits the query, and how popular its
-- site is. Popular sites fill the first ranks of an unconstrained ranking. The judges grade pages by their fit alone.
CREATE TEMP TABLE IF NOT EXISTS pages AS
WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 80 * 18 - 1),
     drawn AS (SELECT n / 18 + 1 AS query_id, n AS doc_id,
                      (n * 7919 + n / 18 * 104729) % 1009 / 1009.0 AS fit,
                      (n * 15485863 + 12345) % 997 / 997.0 AS noise,
                      (n * 31 + n / 18 * 17) % 6 AS site
                 FROM numbers)
SELECT query_id, doc_id, 'site' || site AS site, fit, site / 6.0 + 0.1 * noise AS popularity,
       CASE WHEN fit + 0.2 * noise > 0.9 THEN 2 WHEN fit + 0.2 * noise > 0.6 THEN 1 ELSE 0 END AS relevance
  FROM drawn;

-- Any model can rank with a limit per site. The option "diversify_by" names the column.
SELECT ltr_train('rank_svm', 'SELECT * FROM pages WHERE query_id <= 60',
                 '{"name": "plain", "columns": {"ignore": ["site"]}}') ->> '$.lambda' > 0 AS trained;
SELECT r.rank, r.doc_id, site
  FROM ltr_rank('plain', 'SELECT * FROM pages WHERE query_id = 70', '{"k": 4, "diversify_by": "site"}') AS r
  JOIN pages USING (doc_id) ORDER BY rank;

-- Too few sites for k = 10 are an error. "allow_short" and "max_per_value" are the two ways out.
SELECT count(*) AS shown
  FROM ltr_rank('plain', 'SELECT * FROM pages WHERE query_id = 70', '{"k": 10, "diversify_by": "site", "allow_short": true}');
SELECT count(*) AS shown
  FROM ltr_rank('plain', 'SELECT * FROM pages WHERE query_id = 70', '{"k": 10, "diversify_by": "site", "max_per_value": 2}');

-- "direct" can be trained for such lists too: the bound then considers only lists with one page per site.
SELECT ltr_train('direct', 'SELECT * FROM pages WHERE query_id <= 60',
                 '{"name": "diverse", "diversify_by": "site", "measure": "ndcg@5", "bound": "convex"}') ->> '$.settings.diversify_by' AS diversify_by;

-- Both models, measured on lists with one page per site, for new queries.
SELECT models.model, round(value, 3) AS "ndcg@5"
  FROM (SELECT 'plain' AS model UNION ALL SELECT 'diverse') AS models,
       ltr_evaluate(models.model, 'SELECT * FROM pages WHERE query_id > 60', '{"metric": "ndcg@5", "diversify_by": "site"}')
 WHERE query_id IS NULL;

-- Fraction of the sites among the first five ranks, without and with the limit.
WITH shown AS (
    SELECT r.query_id, r.doc_id, -r.rank AS free, NULL AS limited
      FROM ltr_rank('diverse', 'SELECT * FROM pages WHERE query_id > 60') AS r
     UNION ALL
    SELECT r.query_id, r.doc_id, NULL, -r.rank
      FROM ltr_rank('diverse', 'SELECT * FROM pages WHERE query_id > 60', '{"diversify_by": "site"}') AS r)
SELECT round(avg(free), 2) AS free, round(avg(limited), 2) AS limited
  FROM (SELECT ltr_metric('subtopic_recall@5', json_array(site), free) FILTER (WHERE free IS NOT NULL) AS free,
               ltr_metric('subtopic_recall@5', json_array(site), limited) FILTER (WHERE limited IS NOT NULL) AS limited
          FROM shown JOIN pages USING (query_id, doc_id) GROUP BY query_id);
