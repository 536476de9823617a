//! A valid call of each function, with the arguments that the walk replaces.

use rusqlite::Connection;

/// What an argument holds. Each kind gets the plain patterns, and texts of its grammar: `inputs.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A number, or an id.
    Value,
    /// A name of a model, an algorithm, a format, a table.
    Name,
    /// The name of a stored model, or its BLOB.
    Model,
    /// A table, a view or a SELECT.
    Source,
    /// A JSON array.
    Array,
    /// A JSON object of options.
    Options,
    /// What a user typed, or a query of FTS5.
    Search,
    /// A model of another library.
    Import,
    /// A pack, an answer or a state.
    Bytes,
}

/// A call of a function as SQL, with one argument replaced by ?1.
pub struct Call {
    pub function: String,
    pub sql: String,
    /// The number of the argument from 1, its kind and its valid value as SQL.
    pub number: usize,
    pub kind: Kind,
    pub valid: String,
}

/// Rows with grades, at slots and with query features; ratings; logs of clicks and of interleaved lists; texts; models.
const FIXTURE: &str = r#"
CREATE TABLE j AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 35)
  SELECT i / 6 AS query_id, i % 6 AS doc_id, (i * 7919) % 3 AS relevance, ((i * 104729) % 101) / 101.0 AS a,
         ((i * 1299709) % 97) / 97.0 AS b, (i / 6) % 3 + 0.5 AS q_1 FROM n;
CREATE TABLE r AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 35)
  SELECT i % 6 AS user, (i * 5) % 7 AS item, 1 + (i * 7919) % 5 AS rating FROM n GROUP BY 1, 2;
CREATE TABLE log AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 119)
  SELECT i / 4 AS impression, i / 4 % 6 AS query_id, (i % 4 + i / 24) % 4 AS doc_id, i % 4 + 1 AS position,
         i * 7919 % 101 < 40 - 8 * (i % 4) AS clicked FROM n;
CREATE TABLE shown AS SELECT l.*, a, b FROM log AS l JOIN j USING (query_id, doc_id);
CREATE TABLE teams AS SELECT impression, position AS rank, iif(position % 2, 'a', 'b') AS team, clicked FROM log;
CREATE VIRTUAL TABLE docs USING fts5(title, body);
INSERT INTO docs VALUES ('red shoes', 'shoes for running'), ('a b c', 'red a');
CREATE TABLE packs AS SELECT ltr_bucket(query_id, 2) AS bucket, ltr_pack(query_id, doc_id, relevance, json_array(a, b)) AS rows FROM j GROUP BY 1;
CREATE TABLE finished AS WITH RECURSIVE training(state) AS (
    SELECT ltr_begin('regression', '{"buckets": 2, "lambda": 1}')
    UNION ALL
    SELECT ltr_step(state, (SELECT ltr_merge(ltr_partial(state, bucket, rows)) FROM packs)) FROM training WHERE NOT ltr_info(state) ->> 'done')
  SELECT state FROM training WHERE ltr_info(state) ->> 'done';
SELECT ltr_train('rank_svm', 'SELECT * FROM j', '{"name": "m", "lambda": 0.1, "columns": {"ignore": ["q_1"]}}');
CREATE VIEW found AS SELECT q.query AS query_id, doc_id, a, b FROM ltr_query AS q, j WHERE j.query_id = 1;
SELECT ltr_train('rank_svm', 'SELECT 1 AS query_id, doc_id, relevance FROM j WHERE query_id = 1', '{"name": "s", "lambda": 0.1, "candidates": "found"}');
SELECT ltr_train('q_svm', 'j', '{"name": "q", "lambda": 0.1}');
SELECT ltr_train('perceptron', 'j', '{"name": "p"}');
SELECT ltr_train('cofi_rank', 'r', '{"name": "c", "lambda": 1, "factors": 2, "max_rounds": 2}');
"#;

/// The calls. An argument is between guillemets, after its kind.
const CALLS: &[&str] = &[
    // Training and stored models.
    r#"SELECT ltr_train(«name 'perceptron'», «source 'j'», «options '{"epochs": 1}'»)"#,
    r#"SELECT ltr_fit(«name 'perceptron'», «source 'j'», «options '{"epochs": 1}'»)"#,
    r#"SELECT ltr_fit('rank_svm', 'j', «options '{"lambda": 1}'»)"#,
    r#"SELECT ltr_fit('cofi_rank', «source 'r'», «options '{"lambda": 1}'»)"#,
    r#"SELECT ltr_fit('boosted_trees', 'j', «options '{"trees": 1}'»)"#,
    r#"SELECT ltr_fit('rank_svm', 'SELECT * FROM j WHERE query_id IN (?, ?)', '{"lambda": 1}', «value 1», «value 2»)"#,
    r"SELECT ltr_update(«model 'p'», «source 'j'», «options '{}'»)",
    r#"SELECT * FROM ltr_cross_validate(«name 'perceptron'», «source 'j'», «options '{"epochs": 1}'»)"#,
    r"SELECT ltr_activate(«name 'm'», «value 1», «options '{}'»)",
    // Buckets.
    "SELECT ltr_bucket(«value 1», «value 2»)",
    "SELECT ltr_pack(«value 1», «value 2», «value 3», «array '[1, 2]'»)",
    "SELECT ltr_pack(1, 2, 3, «bytes x'0000803f'», «array NULL», «value 1», «value 1»)",
    r#"SELECT ltr_begin(«name 'rank_svm'», «options '{"buckets": 2}'»)"#,
    r#"SELECT ltr_partial(«bytes ltr_begin('rank_svm', '{"buckets": 2}')», «value 1», «bytes (SELECT rows FROM packs WHERE bucket = 1)»)"#,
    r#"SELECT ltr_merge(«bytes ltr_partial(ltr_begin('rank_svm', '{"buckets": 2}'), 1, (SELECT rows FROM packs WHERE bucket = 1))»)"#,
    r#"SELECT ltr_step(«bytes ltr_begin('rank_svm', '{"buckets": 2}')», «bytes (SELECT ltr_merge(ltr_partial(ltr_begin('rank_svm', '{"buckets": 2}'), bucket, rows)) FROM packs)»)"#,
    "SELECT ltr_finish(«bytes (SELECT state FROM finished)»)",
    // Ranking and scoring.
    "SELECT * FROM ltr_rank(«model 'm'», «source 'j'», «options '{}'»)",
    "SELECT * FROM ltr_rank('m', 'SELECT * FROM j WHERE query_id = ?', '{}', «value 1»)",
    "SELECT * FROM ltr_search(«model 's'», «value 1», «options '{}'»)",
    "SELECT * FROM ltr_recommend(«model 'c'», «array 1», «value 2», «options '{}'»)",
    "SELECT ltr_score(«model 'm'», «array '[0.5, 0.25]'»)",
    "SELECT ltr_score('q', '[0.5, 0.25]', «array '[0.5]'»)",
    "SELECT ltr_prefer(«model 'm'», «array '[0.5, 0.25]'», «array '[0.25, 0.5]'»)",
    "SELECT ltr_prefer('q', '[0.5, 0.25]', '[0.25, 0.5]', «array '[0.5]'»)",
    "SELECT ltr_vec(«array '[1, 2]'», «bytes x'0000803f'»)",
    "SELECT ltr_vec_to_json(«bytes x'0000803f'»)",
    // Models.
    "SELECT ltr_info(«model 'm'»)",
    "SELECT * FROM ltr_weights(«model 'q'», «array '[0.5]'»)",
    "SELECT * FROM ltr_neighbors(«model 'q'», «array '[0.5]'»)",
    "SELECT * FROM ltr_training_log(«model 'm'»)",
    "SELECT * FROM ltr_factors(«model 'c'»)",
    "SELECT * FROM ltr_explain(«model 'm'», «array '[0.5, 0.25]'»)",
    "SELECT * FROM ltr_explain('q', '[0.5, 0.25]', «array '[0.5]'»)",
    "SELECT * FROM ltr_explain('m', «source 'j'», «value 1», «value 1», «options '{}'»)",
    "SELECT * FROM ltr_explain_rank(«model 'm'», «source 'j'», «value 1», «value 1», «value 2», «options '{}'»)",
    "SELECT * FROM ltr_importance(«model 'm'», «source 'j'», «options '{}'»)",
    "SELECT * FROM ltr_monitor(«model 'm'», «source 'j'», «options '{}'»)",
    "SELECT ltr_export(«model 'm'», «name 'json'»)",
    "SELECT ltr_import(«import ltr_export('m', 'json')», «options '{}'»)",
    "SELECT ltr_plot(«name 'scores'», «model 'm'», «source 'j'», «options '{}'»)",
    "SELECT ltr_plot('queries', 'm', «model 'p'», 'j', «options '{}'»)",
    "SELECT ltr_report(«model 'm'», «source 'j'», «options '{}'»)",
    // Measures.
    "SELECT * FROM ltr_evaluate(«model 'm'», «source 'j'», «options '{}'»)",
    "SELECT * FROM ltr_compare(«model 'm'», «model 'p'», «source 'j'», «options '{}'»)",
    r#"SELECT * FROM ltr_compare(«array '["m", "p"]'», 'j')"#,
    r#"SELECT * FROM ltr_interleave(«model 'm'», «model 'p'», «source 'j'», «options '{"seed": 1}'»)"#,
    "SELECT * FROM ltr_interleave_result(«source 'teams'», «options '{}'»)",
    "SELECT ltr_paired_test(«value 1», «value 2», «options '{}'») FROM j",
    "SELECT ltr_ndcg(«value 1», «value 2», «value 3», «options '{}'») FROM j",
    "SELECT ltr_metric(«value 'err@10'», «value 1», «value 2», «options '{}'») FROM j",
    "SELECT ltr_ap(«value 1», «value 2», «value 3», «options '{}'») FROM j",
    "SELECT ltr_rr(«value 1», «value 2», «value 3», «options '{}'») FROM j",
    "SELECT ltr_precision(«value 1», «value 2», «value 3», «options '{}'») FROM j",
    "SELECT ltr_recall(«value 1», «value 2», «value 3», «options '{}'») FROM j",
    r#"SELECT ltr_metric(«value 'alpha_ndcg@3'», «array '["x", "y"]'», «value 2», «options '{}'») FROM j"#,
    // Clicks, texts, files.
    "SELECT * FROM ltr_judgments(«source 'log'», «options '{}'»)",
    "SELECT * FROM ltr_propensities(«source 'log'», «options '{}'»)",
    "SELECT * FROM ltr_click_models(«source 'log'», «options '{}'»)",
    "SELECT * FROM ltr_evaluate_clicks(«model 'm'», «source 'shown'», «options '{}'»)",
    "SELECT ltr_fts_query(«search 'red shoes'»)",
    r#"SELECT ltr_fts_query(«search 'red shoes'», «options '{"table": "docs"}'»)"#,
    "SELECT ltr_fts_names(«name 'docs'»)",
    // The text of MATCH is an argument of FTS5, whose own time grows with its square.
    "SELECT ltr_fts(docs) IS «value NULL» FROM docs WHERE docs MATCH 'red'",
    "SELECT * FROM ltr_letor(«name 'tests/data/small.letor'», «options '{}'»)",
    "SELECT * FROM ltr_algorithms WHERE name = «value 'auto'»",
    "SELECT * FROM ltr_metrics WHERE name = «value 'ndcg'»",
    "SELECT * FROM ltr_options WHERE name = «value 'k'»",
    "SELECT * FROM ltr_query WHERE query = «value 'a'»",
    "SELECT ltr_version() IS «value NULL»",
    "SELECT ltr_debug() IS «value NULL»",
];

/// A connection with the fixture: of this crate, or of the library that `LTR_LIBRARY` names.
#[allow(unsafe_code, reason = "loading a library")]
pub fn connect() -> Connection {
    let connection = Connection::open_in_memory().expect("a database");
    match std::env::var_os("LTR_LIBRARY") {
        None => sqlite_ltr::register(&connection).expect("registration"),
        // SAFETY: the library is this project's.
        Some(library) => unsafe {
            connection.load_extension_enable().expect("extensions are allowed");
            connection.load_extension(library, None::<&str>).expect("a loadable library");
        },
    }
    for statement in FIXTURE.split(";\n") {
        connection.execute_batch(statement).unwrap_or_else(|problem| panic!("{statement}: {problem}"));
    }
    connection
}

/// All calls of all functions, each with one argument replaced.
pub fn calls() -> Vec<Call> {
    CALLS.iter().flat_map(|call| of_call(call)).collect()
}

/// The plain call, without marks.
fn plain(call: &str) -> String {
    let mut sql = String::new();
    for (number, part) in call.split(['«', '»']).enumerate() {
        sql += if number % 2 == 0 { part } else { part.split_once(' ').expect("a kind and a value").1 };
    }
    sql
}

fn of_call(call: &str) -> Vec<Call> {
    let start = call.find("ltr_").expect("a function");
    let function: String = call[start..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let count = call.matches('«').count();
    (0..count)
        .map(|number| {
            let place = call.match_indices('«').nth(number).expect("a mark").0;
            let end = place + call[place..].find('»').expect("its end");
            let (kind, valid) =
                call[place + '«'.len_utf8()..end].split_once(' ').expect("a kind and a value");
            let sql = format!("{}?1{}", plain(&call[..place]), plain(&call[end + '»'.len_utf8()..]));
            let kind = match kind {
                "value" => Kind::Value,
                "name" => Kind::Name,
                "model" => Kind::Model,
                "source" => Kind::Source,
                "array" => Kind::Array,
                "options" => Kind::Options,
                "search" => Kind::Search,
                "import" => Kind::Import,
                "bytes" => Kind::Bytes,
                other => panic!("{other} is not a kind"),
            };
            Call { function: function.clone(), sql, number: number + 1, kind, valid: valid.to_owned() }
        })
        .collect()
}
