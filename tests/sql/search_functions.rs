//! Rules 5.13, 5.35, 6.10, 8.16: functions that take a model with a view of candidates read its features, in training and search alike.

use rusqlite::Connection;
use serde_json::{Value, json};
use sqlite_ltr::internals::math::random::Random;

use super::search::{EACH, JOINED, pairs, problem, shop, train, warnings};
use super::support::{database, value};

/// A shop with two models of its view, and the rows of the judgments joined by hand.
fn trained_shop() -> Connection {
    let connection = database();
    shop(&connection, "main");
    let options = json!({"name": "shop", "candidates": "shop_candidates", "lambda": 1});
    train(&connection, "rank_svm", &options);
    train(&connection, "regression", &json!({"name": "other", "candidates": "shop_candidates", "lambda": 1}));
    connection.execute_batch(EACH).unwrap();
    connection.execute_batch("INSERT INTO texts SELECT DISTINCT query FROM judgments").unwrap();
    connection.execute_batch(&format!("CREATE TABLE joined AS {JOINED}")).unwrap();
    connection
}

/// The rows of a statement, each as text.
fn rows(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let columns = statement.column_count();
    let row = |row: &rusqlite::Row<'_>| {
        (0..columns)
            .map(|column| Ok(format!("{:?} ", row.get_ref(column)?)))
            .collect::<rusqlite::Result<String>>()
    };
    let found = statement.query_map([], row).unwrap().collect::<Result<_, _>>();
    found.unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// Every function that reads judged rows gives for judgments and the view what it gives for rows joined by hand.
#[test]
fn judged_functions_take_features_from_the_view() {
    let connection = trained_shop();
    let judged = "'SELECT DISTINCT * FROM judgments'";
    for call in [
        "ltr_importance('shop', SOURCE)",
        "ltr_importance('shop', SOURCE, '{\"metric\": [\"map\", \"ndcg@5\"]}')",
        "ltr_monitor('shop', SOURCE)",
    ] {
        let of =
            |source: &str| rows(&connection, &format!("SELECT * FROM {}", call.replace("SOURCE", source)));
        let found = of(judged);
        assert!(warnings(&connection).contains("relevant documents are not among the candidates"), "{call}");
        assert_eq!(found, of("'joined'"), "{call}");
        assert!(found.len() >= 3, "{call}: {found:?}");
    }
    for kind in ["calibration', 'shop", "scores', 'shop", "importance', 'shop", "queries', 'shop', 'other"] {
        let of = |source: &str| rows(&connection, &format!("SELECT ltr_plot('{kind}', {source})"));
        assert_eq!(of(judged), of("'joined'"), "{kind}");
    }
    let report: String = value(&connection, &format!("SELECT ltr_report('shop', {judged})"), []);
    for part in [
        "Features come from the view",
        "best ndcg@10",
        "judged@10",
        "relevant documents are not among the candidates",
    ] {
        assert!(report.contains(part), "{part}");
    }
    // A column that the view lost is a finding.
    let view: String = value(&connection, "SELECT sql FROM sqlite_master WHERE name = 'shop_candidates'", []);
    let lost = view.replace("bm25(docs) AS bm25, ", "docs.rowid AS new_one, ");
    connection.execute_batch(&format!("DROP VIEW shop_candidates; {lost}")).unwrap();
    let sql = format!(
        "SELECT group_concat(kind || ' ' || name) FROM ltr_monitor('shop', {judged}) WHERE kind LIKE '%_column'"
    );
    assert_eq!(value::<String>(&connection, &sql, []), "missing_column bm25,new_column new_one");
}

/// Every function that ranks takes the view as its source, for one query.
#[test]
fn ranking_functions_read_the_view_for_one_query() {
    let connection = trained_shop();
    let search = pairs(&connection, "SELECT doc_id, score FROM ltr_search('shop', 'blue shoes')", []);
    connection.execute_batch("DELETE FROM texts; INSERT INTO texts VALUES ('blue shoes')").unwrap();
    // 1. Ranking, interleaving.
    let sql = "SELECT doc_id, score FROM ltr_rank('shop', 'shop_candidates') WHERE query_id = 'blue shoes' ORDER BY rank";
    assert_eq!(pairs(&connection, sql, []), search);
    for models in ["'shop', 'other'", "NULL, 'shop'"] {
        let options = r#"{"seed": 7, "columns": {"score": "price"}}"#;
        let options = if models.contains("NULL") { options } else { r#"{"seed": 7}"# };
        let of = |source: &str| {
            rows(
                &connection,
                &format!(
                    "SELECT * FROM ltr_interleave({models}, '{source}', '{options}') WHERE query_id = 'blue shoes'"
                ),
            )
        };
        assert_eq!(of("shop_candidates"), of("each"), "{models}");
        assert_eq!(of("shop_candidates").len(), search.len());
    }
    // 2. Explanations, also with judgments as the source.
    let [(a, _), (b, _)] = [search[0], search[1]];
    for call in [
        format!("ltr_explain('shop', SOURCE, 'blue shoes', {a})"),
        format!("ltr_explain_rank('shop', SOURCE, 'blue shoes', {a}, {b})"),
    ] {
        let of =
            |source: &str| rows(&connection, &format!("SELECT * FROM {}", call.replace("SOURCE", source)));
        assert_eq!(of("'shop_candidates'"), of("'each'"), "{call}");
        assert_eq!(of("'judgments'"), of("'each'"), "{call}");
    }
    // 3. What makes no sense says what to write.
    for (sql, message) in [
        (
            "SELECT * FROM ltr_rank('shop', 'judgments')",
            "give the source 'shop_candidates' and compare query_id",
        ),
        (
            "SELECT * FROM ltr_interleave('shop', 'other', 'judgments', '{\"seed\": 1}')",
            "give the source 'shop_candidates'",
        ),
        ("SELECT * FROM ltr_explain('shop', 'shop_candidates', NULL, 7)", "give it as the argument 'query'"),
        ("SELECT * FROM ltr_evaluate('shop', 'shop_candidates')", "a view has no judgments"),
        ("SELECT * FROM ltr_monitor('shop', 'shop_candidates')", "a view has no judgments"),
        ("SELECT * FROM ltr_importance('shop', 'shop_candidates')", "a view has no judgments"),
        (
            "SELECT * FROM ltr_evaluate_clicks('shop', 'SELECT query, item_id AS doc_id, 1 AS impression, 1 AS position, 0 AS clicked FROM judgments')",
            "evaluate these with ltr_evaluate",
        ),
    ] {
        assert!(problem(&connection, sql).contains(message), "{sql}: {}", problem(&connection, sql));
    }
    assert_eq!(value::<i64>(&connection, "SELECT count(*) FROM ltr_query", []), 0);
}

/// Judgments have the parameters of their queries, and searches give them with the option.
#[test]
fn judgments_give_parameters_to_the_view() {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE items(id INTEGER PRIMARY KEY, owner INTEGER, x REAL);
             INSERT INTO items WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 60) SELECT i, i % 3, i * 7 % 11 FROM n;
             CREATE VIEW mine AS SELECT q.query AS query_id, id AS doc_id, x, q.params ->> '$.user' = owner AS own FROM ltr_query AS q, items;
             CREATE TABLE j AS SELECT 'q' || (id % 5) AS query, id AS doc, owner = id % 5 % 3 AS relevance, json_object('user', id % 5 % 3) AS params FROM items",
        )
        .unwrap();
    let sql = "SELECT ltr_train('rank_svm', 'j', '{\"name\": \"mine\", \"candidates\": \"mine\", \"lambda\": 0.1}')";
    let report: Value = serde_json::from_str(&value::<String>(&connection, sql, [])).unwrap();
    assert_eq!(report["view"]["ignored"], json!([]));
    let ndcg = "SELECT value FROM ltr_evaluate('mine', 'j') WHERE query_id IS NULL AND metric = 'ndcg@10'";
    assert!(value::<f64>(&connection, ndcg, []) > 0.999_999);
    let first = "SELECT sum(owner) FROM ltr_search('mine', 'q9', ?1) JOIN items ON id = doc_id";
    assert_eq!(value::<i64>(&connection, first, [r#"{"params": {"user": 2}, "k": 20}"#]), 40);
    for (params, message) in [
        ("'{'", "expected JSON"),
        ("id", "two values, but a query has one"),
        ("1.5", "column \"params\": 1.5; expected JSON"),
    ] {
        let source =
            format!("SELECT query, doc, relevance, {params} AS params FROM j JOIN items ON id = doc")
                .replace('\'', "''");
        let sql = format!("SELECT ltr_train('rank_svm', '{source}', '{{\"candidates\": \"mine\"}}')");
        let sql =
            if params == "id" { sql.replace("id AS params", "CAST(id AS TEXT) AS params") } else { sql };
        assert!(problem(&connection, &sql).contains(message), "{params}: {}", problem(&connection, &sql));
    }
}

/// Columns of a view that a training would pass over without a word.
#[test]
fn columns_of_a_view_are_reported() {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE items(id INTEGER PRIMARY KEY, kind TEXT, x REAL, weight REAL);
             INSERT INTO items WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 60)
             SELECT i, 'k' || (i % 5), iif(i % 10 > 7, NULL, i * 7 % 11), i % 4 FROM n;
             CREATE VIEW found AS SELECT q.query AS search, id AS item_number, x, weight FROM ltr_query AS q JOIN items ON kind = q.query;
             CREATE TABLE j AS SELECT kind AS search, id AS item_number, x > 5 AS relevance FROM items WHERE x IS NOT NULL",
        )
        .unwrap();
    // Ids under the names that they have in the judgments.
    let options = json!({"name": "m", "candidates": "found", "lambda": 1, "columns": {"query": "search", "doc": "item_number"}});
    let report: String = value(&connection, "SELECT ltr_train('rank_svm', 'j', ?1)", [options.to_string()]);
    let report: Value = serde_json::from_str(&report).unwrap();
    let message = report["warnings"].to_string();
    for part in
        ["\\\"x\\\" is NULL in 12 of 12 unjudged candidates", "\\\"weight\\\" is named like the role weight"]
    {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert!(value::<i64>(&connection, "SELECT count(*) FROM ltr_search('m', 'k1')", []) > 5);
    assert!(problem(&connection, "SELECT * FROM ltr_search('m', 'k3')").contains("NULL"));
    // A text of a model has no unknown keys.
    let text: String = value(&connection, "SELECT ltr_export('m', 'json')", []);
    let text = text.replace("\"candidates\":{", "\"candidates\":{\"extra\":1,");
    let mut import = connection.prepare("SELECT ltr_import(?1)").unwrap();
    let error = import.query_row([text], |_| Ok(())).unwrap_err().to_string();
    assert!(error.contains("extra"), "{error}");
}

/// 10,000 features are the same bits in training and in searches.
#[test]
fn features_of_training_and_search_are_the_same() {
    let connection = database();
    let mut random = Random::new(57);
    let names: Vec<String> = (0..50).map(|column| format!("c{column}")).collect();
    let columns = names.join(", ");
    connection
        .execute_batch(&format!("CREATE TABLE items(id INTEGER PRIMARY KEY, kind TEXT, {columns})"))
        .unwrap();
    for id in 0..200 {
        let mut number = |column: i32| random.symmetric() * 10_f64.powi(column % 17 - 9) / 3.0;
        let numbers: Vec<String> = (0..50).map(|column| format!("{:e}", number(column))).collect();
        let insert = format!("INSERT INTO items VALUES ({id}, 'k' || {id} % 10, {})", numbers.join(", "));
        connection.execute_batch(&insert).unwrap();
    }
    connection
        .execute_batch(&format!(
            "CREATE VIEW found AS SELECT q.query AS query_id, id AS doc_id, {columns} FROM ltr_query AS q JOIN items ON kind = q.query;
             CREATE TABLE j AS SELECT kind AS query_id, id AS doc_id, id / 10 % 3 AS relevance FROM items;
             CREATE TABLE joined AS SELECT kind AS query_id, id AS doc_id, id / 10 % 3 AS relevance, {columns} FROM items"
        ))
        .unwrap();
    // 1. The training has the rows of a join: the same means, weights and fingerprint.
    let model = |source: &str, options: Value| -> Value {
        let sql = "SELECT ltr_export(ltr_fit('rank_svm', ?1, ?2), 'json')";
        let text: String = value(&connection, sql, [source.to_owned(), options.to_string()]);
        let mut model: Value = serde_json::from_str(&text).unwrap();
        model.as_object_mut().unwrap().remove("candidates");
        model
    };
    assert_eq!(
        model("j", json!({"candidates": "found", "lambda": 1})),
        model("joined", json!({"lambda": 1}))
    );
    // 2. A search has the numbers of the table.
    let options = json!({"name": "m", "candidates": "found", "lambda": 1}).to_string();
    let _: String = value(&connection, "SELECT ltr_train('rank_svm', 'j', ?1)", [options]);
    let cases: Vec<String> = names.iter().map(|name| format!("WHEN '{name}' THEN {name}")).collect();
    let in_table = cases.join(" ");
    let sql = format!(
        "SELECT value, CASE feature {in_table} END FROM items, ltr_explain('m', 'found', kind, id) WHERE feature <> '(base)'"
    );
    let mut statement = connection.prepare(&sql).unwrap();
    let found = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let found: Vec<(f64, f64)> = found.collect::<Result<_, _>>().unwrap();
    let differ = found.iter().filter(|(a, b)| a.to_bits() != b.to_bits()).count();
    assert_eq!((found.len(), differ), (10_000, 0));
}

/// An update from judgments alone learns from the view what it learns from rows joined by hand.
#[test]
fn updates_take_features_from_the_view() {
    let connection = trained_shop();
    let options = json!({"name": "shop", "candidates": "shop_candidates", "scale": "none"});
    train(&connection, "perceptron", &options);
    let update = |source: &str, name: &str| -> Value {
        let sql = "SELECT ltr_update('shop@2', ?1, json_object('name', ?2))";
        serde_json::from_str(&value::<String>(&connection, sql, [source, name])).unwrap()
    };
    let judged = update("SELECT DISTINCT * FROM judgments WHERE query > 'h'", "judged");
    let by_hand = "SELECT * FROM joined WHERE query_id > 'h' ORDER BY query_id, doc_id";
    let joined = update(by_hand, "joined");
    assert!(judged["view"]["missing"].is_object() && joined["view"].is_null(), "{judged}");
    assert_eq!(judged["added"], joined["added"]);
    let scores = |model: &str| {
        pairs(&connection, "SELECT doc_id, score FROM ltr_search(?1, 'blue shoes') ORDER BY doc_id", [model])
    };
    assert_eq!(scores("judged"), scores("joined"));
    assert_ne!(scores("judged"), scores("shop@2"));
    // A changed view is reported, and a missing one ends the update.
    connection.execute_batch("ALTER TABLE products ADD COLUMN stars REAL").unwrap();
    let judged = update("SELECT DISTINCT * FROM judgments", "judged");
    assert!(judged["warnings"].to_string().contains("changed since the training: products"), "{judged}");
    connection.execute_batch("DROP VIEW shop_candidates").unwrap();
    let gone = problem(&connection, "SELECT ltr_update('shop@2', 'judgments')");
    assert!(gone.contains("the training had: CREATE VIEW"), "{gone}");
}

/// Judgments are checked end to end as rows with features are (rules 5.35, 8.17), and parameters are missed.
#[test]
fn judgments_that_are_not_a_list_are_reported() {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE d(id INTEGER, f REAL); INSERT INTO d VALUES (1, 1), (2, 2), (3, 3);
             CREATE VIEW c AS SELECT q.query AS query_id, id AS doc_id, f, f + coalesce(q.params ->> '$.user', 0) AS rating
               FROM ltr_query AS q, d;
             CREATE TABLE j AS SELECT 'a' AS query, 1 AS doc_id, 0 AS grade UNION ALL SELECT 'a', 2, 1 UNION ALL SELECT 'a', 3, 3",
        )
        .unwrap();
    let train = |source: &str, name: &str, options: Value| -> Value {
        let mut options = options;
        (options["name"], options["candidates"], options["lambda"]) = (json!(name), json!("c"), json!(0.1));
        let text: String = value(
            &connection,
            "SELECT ltr_train('rank_svm', ?1, ?2)",
            [source.to_owned(), options.to_string()],
        );
        serde_json::from_str(&text).unwrap()
    };
    // 1. A column of the view such as rating is a feature: the relevance comes from the judgments.
    let report = train("j", "m", json!({}));
    assert_eq!(report["roles"]["features"], json!(["f", "rating"]), "{report}");
    let mean = |source: &str| -> f64 {
        let sql = "SELECT value FROM ltr_evaluate('m', ?1) WHERE query_id IS NULL AND metric = 'ndcg@10'";
        value(&connection, sql, [source])
    };
    // 2. A document twice, in one type or in two.
    assert!((mean("j") - 1.0).abs() < 1e-12);
    for (row, message) in
        [("'a', 3, 0", "the document 3 in two rows"), ("'a', '3', 0", "as INTEGER and as TEXT")]
    {
        let source = format!("SELECT * FROM j UNION ALL SELECT {row}");
        for call in ["SELECT * FROM ltr_evaluate('m', ?1)", "SELECT * FROM ltr_compare('m', 'm', ?1)"] {
            let error = connection.query_row(call, [&source], |_| Ok(())).unwrap_err().to_string();
            assert!(error.contains(message), "{call}: {error}");
        }
    }
    // 3. NULL is unjudged: it is left out, and so are queries without a judgment.
    let unjudged = "SELECT query, doc_id, nullif(grade, 1) AS grade FROM j UNION ALL SELECT 'b', 1, NULL";
    assert!((mean(unjudged) - 1.0).abs() < 1e-12);
    assert!(
        warnings(&connection).contains("1 of 2 queries have no judged document"),
        "{}",
        warnings(&connection)
    );
    let error =
        problem(&connection, "SELECT * FROM ltr_evaluate('m', 'SELECT query, doc_id, NULL AS grade FROM j')");
    assert!(error.contains("NULL in every row"), "{error}");
    // 4. The training had parameters; a search or an evaluation without them is a warning.
    let with_params = "SELECT *, json_object('user', 5) AS params FROM j";
    train(with_params, "p", json!({}));
    let _ = pairs(
        &connection,
        "SELECT doc_id, score FROM ltr_search('p', 'a', '{\"params\": {\"user\": 2}}')",
        [],
    );
    assert_eq!(warnings(&connection), "[]");
    for call in ["ltr_search('p', 'a')", "ltr_evaluate('p', 'j')", "ltr_importance('p', 'j')"] {
        let _: i64 = value(&connection, &format!("SELECT count(*) FROM {call}"), []);
        assert!(
            warnings(&connection).contains("the training had \\\"params\\\""),
            "{call}: {}",
            warnings(&connection)
        );
    }
    let report = train(with_params, "ignored", json!({"columns": {"ignore": ["params"]}}));
    assert_eq!(report["view"]["ignored"], json!([]), "{report}");
    let _ = pairs(&connection, "SELECT doc_id, score FROM ltr_search('ignored', 'a')", []);
    assert_eq!(warnings(&connection), "[]");
    // 5. A changed view is named in each error, and an empty search leaves no warning of another.
    connection
        .execute_batch(
            "DROP VIEW c; CREATE VIEW c AS SELECT q.query AS query_id, id AS doc_id FROM ltr_query AS q, d",
        )
        .unwrap();
    for call in ["ltr_search('m', 'a')", "ltr_evaluate('m', 'j')", "ltr_importance('m', 'j')"] {
        let error = problem(&connection, &format!("SELECT * FROM {call}"));
        assert!(error.contains("changed since the training"), "{call}: {error}");
    }
    connection.execute_batch("DROP VIEW c; CREATE VIEW c AS SELECT q.query AS query_id, id AS doc_id, f, f AS rating FROM ltr_query AS q, d").unwrap();
    let _ = pairs(&connection, "SELECT doc_id, score FROM ltr_search('m', 'a')", []);
    assert!(warnings(&connection).contains("changed since the training"));
    let _ = pairs(&connection, "SELECT doc_id, score FROM ltr_search('p', '')", []);
    assert_eq!(warnings(&connection), "[]");
}
