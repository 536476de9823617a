//! Models of other libraries score, explain and leave as those libraries do (rules 9.17 to 9.21). `tests/data/imported/` has
//! small ones with the numbers of their libraries; `small/` has smaller ones of all formats.

use std::path::PathBuf;

use rusqlite::Connection;
use serde_json::{Value, json};
use sqlite_ltr::{ImportOptions, Model};

use super::support::{database, value};

const LARGE: [&str; 4] = ["lightgbm.txt", "lightgbm.json", "xgboost.json", "catboost.json"];

pub(super) fn file(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/imported").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn expected() -> Value {
    serde_json::from_str(&file("expected.json")).unwrap()
}

/// A table with the rows of `expected.json`.
fn connect() -> Connection {
    let connection = database();
    connection
        .execute_batch("CREATE TABLE shop(query_id, doc_id, relevance, price REAL, stars REAL, brand)")
        .unwrap();
    let insert = "INSERT INTO shop SELECT ?1 ->> 0, ?1 ->> 1, ?1 ->> 2, ?1 ->> 3, ?1 ->> 4, ?1 ->> 5";
    for row in expected()["rows"].as_array().unwrap() {
        connection.execute(insert, [row.to_string()]).unwrap();
    }
    connection
}

pub(super) fn import(connection: &Connection, text: &str, options: &Value) -> Value {
    let report: String = value(connection, "SELECT ltr_import(?1, ?2)", (text, options.to_string()));
    serde_json::from_str(&report).unwrap()
}

fn numbers(connection: &Connection, sql: &str, parameters: &[&str]) -> Vec<f64> {
    let mut statement = connection.prepare(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
    let rows = statement.query_map(rusqlite::params_from_iter(parameters), |row| row.get(0)).unwrap();
    rows.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{error}: {sql}"))
}

pub(super) fn ranked(connection: &Connection, model: &str, source: &str) -> Vec<f64> {
    numbers(connection, "SELECT score FROM ltr_rank(?1, ?2) ORDER BY doc_id", &[model, source])
}

fn problem(connection: &Connection, sql: &str, parameters: &[&str]) -> String {
    let answer = connection.prepare(sql).and_then(|mut statement| {
        let rows = statement.query_map(rusqlite::params_from_iter(parameters), |_| Ok(()))?;
        rows.collect::<Result<Vec<()>, _>>()
    });
    answer.unwrap_err().to_string()
}

pub(super) fn exported(connection: &Connection, model: &str, format: &str) -> String {
    value(connection, "SELECT ltr_export(?1, ?2)", (model, format))
}

fn list(numbers: &Value) -> Vec<f64> {
    numbers.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

fn assert_near(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (row, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).abs();
        assert!(error <= tolerance, "{what}, row {row}: {found:?}, expected {expected:?}");
    }
}

/// Rule 9.17.
#[test]
fn models_have_the_scores_of_their_libraries() {
    let (connection, expected) = (connect(), expected());
    for name in LARGE {
        let report = import(&connection, &file(name), &json!({ "name": name }));
        assert_eq!(report["features"], json!(["price", "stars", "brand"]), "{report}");
        assert_eq!(report["warnings"], json!([]));
        // 32-bit sums have the same bits.
        let tolerance = if name == "xgboost.json" { 0.0 } else { 1e-14 };
        let scores = list(&expected["models"][name]["scores"]);
        assert_near(&ranked(&connection, name, "shop"), &scores, tolerance, name);
        let alone = "SELECT ltr_score(?1, json_array(price, stars, brand)) FROM shop ORDER BY doc_id";
        assert_near(&numbers(&connection, alone, &[name]), &scores, tolerance, name);
        // A score does not depend on other rows.
        for (document, score) in scores.iter().enumerate() {
            let source = format!("SELECT * FROM shop WHERE doc_id = {document}");
            assert_near(&ranked(&connection, name, &source), &[*score], tolerance, name);
        }
    }
    // A BLOB, and a text that begins with a byte order mark.
    let blob: String =
        value(&connection, "SELECT ltr_import(CAST(?1 AS BLOB), '{\"name\": \"blob\"}')", [file(LARGE[0])]);
    assert!(blob.contains("\"version\":1"), "{blob}");
    import(&connection, &format!("\u{feff}{}", file(LARGE[3])), &json!({ "name": "mark" }));
    let same = "SELECT count(DISTINCT model) FROM ltr_models WHERE name IN ('blob', 'lightgbm.txt', 'lightgbm.json')";
    assert_eq!(value::<i64>(&connection, same, []), 2);
}

/// Rule 9.17: CatBoost lists no values of a category that no split uses. Its values are still texts.
#[test]
fn a_category_without_a_split_is_text() {
    let connection = connect();
    let model = json!({
        "features_info": {
            "float_features": [{ "feature_index": 0, "flat_feature_index": 0, "feature_name": "price" }],
            "categorical_features": [{ "feature_index": 0, "flat_feature_index": 1, "feature_name": "brand" }],
        },
        "oblivious_trees": [{
            "splits": [{ "split_type": "FloatFeature", "float_feature_index": 0, "border": 50.0 }],
            "leaf_values": [1.0, 2.0],
        }],
    });
    import(&connection, &model.to_string(), &json!({ "name": "catboost" }));
    let found = ranked(&connection, "catboost", "shop");
    let sql = "SELECT 1.0 + coalesce(price > 50, 0) FROM shop ORDER BY doc_id";
    assert_eq!(found, numbers(&connection, sql, &[]));
}

/// Rule 9.17: what the model says about its source.
#[test]
fn models_say_where_they_come_from() {
    let connection = connect();
    let about = |name: &str| -> Value {
        import(&connection, &file(name), &json!({ "name": name }));
        let text: String = value(&connection, "SELECT ltr_info(?1)", [name]);
        serde_json::from_str(&text).unwrap()
    };
    let [lightgbm, xgboost, catboost] = [LARGE[0], LARGE[2], LARGE[3]].map(about);
    let settings = |about: &Value| {
        let of = |key: &str| about["settings"][key].clone();
        (of("format"), of("library_version"), of("objective"), of("trees"))
    };
    assert_eq!(settings(&lightgbm), (json!("lightgbm"), json!("v4"), json!("lambdarank"), json!(6)));
    assert_eq!(settings(&xgboost), (json!("xgboost"), json!("3.2.0"), json!("rank:ndcg"), json!(8)));
    assert_eq!(settings(&catboost), (json!("catboost"), json!("1.2.10"), json!("YetiRank"), json!(6)));
    assert_eq!((&lightgbm["algorithm"], &lightgbm["form"]), (&json!("imported"), &json!("general_trees")));
    assert_eq!(lightgbm["capabilities"]["pointwise"], json!(true));
    assert_eq!(lightgbm["fingerprint"], Value::Null);
    let bytes: Vec<u8> = value(&connection, "SELECT model FROM ltr_models WHERE name = 'lightgbm.txt'", []);
    let again = Model::from_bytes(&bytes).unwrap();
    assert_eq!(again.to_bytes(), bytes);
    assert_eq!(again.info().algorithm, "imported");
}

/// Rule 9.18.
#[test]
fn explanations_match_the_libraries() {
    let (connection, expected) = (connect(), expected());
    for name in LARGE {
        import(&connection, &file(name), &json!({ "name": name }));
        let numbers_of = &expected["models"][name];
        for row in 0..numbers_of["scores"].as_array().unwrap().len() {
            // The libraries have the base last.
            let mut library = list(&numbers_of["contributions"][row]);
            library.rotate_right(1);
            let sql = "SELECT contribution FROM ltr_explain(?1, 'shop', (SELECT query_id FROM shop WHERE doc_id = ?2), ?2)";
            let found = numbers_of_explanation(&connection, sql, name, row);
            assert_near(&found, &library, 1e-5, &format!("{name}, document {row}"));
            let score = numbers_of["scores"][row].as_f64().unwrap();
            assert!((found.iter().sum::<f64>() - score).abs() < 1e-5);
        }
        let vector = "SELECT contribution FROM ltr_explain(?1, json_array(65.96, 3.0, 'zenith'))";
        let mut library = list(&numbers_of["contributions"][0]);
        library.rotate_right(1);
        assert_near(&numbers(&connection, vector, &[name]), &library, 1e-5, name);
        // The difference of two documents.
        let sql = "SELECT contribution FROM ltr_explain_rank(?1, 'shop', 0, 11, 4)";
        let scores = list(&numbers_of["scores"]);
        let sum: f64 = numbers(&connection, sql, &[name]).iter().sum();
        assert!((sum - (scores[11] - scores[4])).abs() < 1e-6, "{name}");
    }
    // Without training weights there is no explanation.
    import(&connection, &file("small/solr.json"), &json!({ "name": "solr" }));
    let error = problem(&connection, "SELECT * FROM ltr_explain('solr', '[1, 2]')", &[]);
    assert!(error.contains("no training weights"), "{error}");
}

fn numbers_of_explanation(connection: &Connection, sql: &str, model: &str, row: usize) -> Vec<f64> {
    let mut statement = connection.prepare(sql).unwrap();
    statement.query_map((model, row as i64), |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

/// Rules 9.17 and 9.14: measuring, comparing, importance; no fingerprint, no update, no training.
#[test]
fn imported_models_are_measured_and_not_trained() {
    let connection = connect();
    import(&connection, &file("lightgbm.txt"), &json!({ "name": "ours" }));
    import(&connection, &file("catboost.json"), &json!({ "name": "theirs" }));
    let mean = "SELECT value FROM ltr_evaluate(?1, 'shop') WHERE query_id IS NULL AND metric = 'ndcg@10'";
    for model in ["ours", "theirs"] {
        let ndcg = numbers(&connection, mean, &[model])[0];
        assert!((0.7..=1.0).contains(&ndcg), "{ndcg}");
    }
    let compared =
        numbers(&connection, "SELECT count(*) FROM ltr_compare('[\"ours\", \"theirs\"]', 'shop')", &[]);
    assert!(compared[0] >= 1.0);
    let losses: Vec<f64> = numbers(&connection, "SELECT loss FROM ltr_importance('ours', 'shop')", &[]);
    assert_eq!(losses.len(), 3);
    assert!(losses.iter().any(|loss| *loss > 0.0));
    for model in ["ours", "theirs"] {
        for kind in ["scores", "calibration", "importance"] {
            let picture: String = value(&connection, "SELECT ltr_plot(?1, ?2, 'shop')", (kind, model));
            assert!(picture.starts_with("<svg"), "{kind}: {picture}");
        }
        let page: String = value(&connection, "SELECT ltr_report(?1, 'shop')", [model]);
        assert!(page.contains("<svg"), "{page}");
    }
    let picture: String = value(&connection, "SELECT ltr_plot('effect', 'ours', 'shop', 'price')", ());
    assert!(picture.starts_with("<svg"), "{picture}");
    let picture: String = value(&connection, "SELECT ltr_plot('queries', 'ours', 'theirs', 'shop')", ());
    assert!(picture.starts_with("<svg"), "{picture}");
    let cases = [
        ("SELECT * FROM ltr_monitor('ours', 'shop')", "the model has no fingerprint"),
        ("SELECT ltr_update('ours', 'shop')", "'imported' is not an algorithm: it marks models"),
        ("SELECT ltr_train('imported', 'shop')", "'imported' is not an algorithm"),
        ("SELECT * FROM ltr_weights('ours')", "not linear"),
        ("SELECT ltr_score('ours', '[1, 2]')", "expected a JSON array of the columns of the model"),
        ("SELECT * FROM ltr_rank('ours', 'SELECT query_id, doc_id, price, stars FROM shop')", "brand"),
    ];
    for (sql, expected) in cases {
        let error = problem(&connection, sql, &[]);
        assert!(error.contains(expected), "expected {expected}, found {error}");
    }
}

/// Rule 9.19.
#[test]
fn features_get_the_names_of_columns() {
    let connection = connect();
    let text = file("lightgbm.txt")
        .replace("feature_names=price stars brand", "feature_names=Column_0 Column_1 Column_2");
    let names = json!({ "Column_0": "price", "Column_1": "stars", "Column_2": "brand" });
    let report =
        import(&connection, &text, &json!({ "name": "named", "names": names, "format": "lightgbm" }));
    assert_eq!(report["features"], json!(["price", "stars", "brand"]));
    import(&connection, &file("lightgbm.txt"), &json!({ "name": "plain" }));
    assert_eq!(ranked(&connection, "named", "shop"), ranked(&connection, "plain", "shop"));
    // Without a mapping the columns of the text are looked for.
    import(&connection, &text, &json!({ "name": "unnamed" }));
    let error = problem(&connection, "SELECT * FROM ltr_rank('unnamed', 'shop')", &[]);
    assert!(error.contains("Column_2"), "{error}");
    let sql = "SELECT ltr_import(?1, ?2)";
    for (options, expected) in [
        (json!({ "names": { "Column_9": "price" } }), "unknown feature 'Column_9' in the option 'names'"),
        (
            json!({ "names": { "Column_0": 1 } }),
            "option 'names', feature 'Column_0': got 1, expected the name of a column",
        ),
        (json!({ "names": { "Column_0": "COLUMN_1" } }), "two features of the column 'Column_1'"),
        (json!({ "format": "xgboost" }), "the text looks like 'lightgbm'"),
        (json!({ "format": "lightgb" }), "option 'format'"),
        (json!({ "max_memory": 1000 }), "max_memory"),
    ] {
        let error = problem(&connection, sql, &[&text, &options.to_string()]);
        assert!(error.contains(expected), "expected {expected}, found {error}");
    }
    let error = problem(&connection, sql, &["{}", "{\"names\": {\"a\": \"b\"}}"]);
    assert!(error.contains("option 'names' is for models of other libraries"), "{error}");
}

/// Rule 9.17: linear models are weighted sums here, too, and missing features count as 0 before they are scaled.
#[test]
fn linear_models_of_engines_are_linear_here() {
    let connection = connect();
    let linear = Model::import(file("small/linear.json")).unwrap();
    assert!(linear.info().linear);
    let expected = 2.0 * (3.0 - 1.0) / 4.0 - 0.5 * (0.0 - 1.0) / 2.0;
    assert!((linear.score(&[3.0, 0.0], None).unwrap() - expected).abs() < 1e-12);
    let options = ImportOptions::default().name("1", "price").name("2", "stars");
    let bias = Model::import_with("## Linear Regression\n0:1.5 1:0.5 2:-0.25", &options).unwrap();
    assert!((bias.score(&[2.0, 4.0], None).unwrap() - (1.5 + 1.0 - 1.0)).abs() < 1e-12);
    let names = json!({ "1": "price", "7": "stars" });
    import(&connection, "## Coordinate Ascent\n1:0.5 7:-0.25", &json!({ "name": "ranklib", "names": names }));
    let sql = "SELECT 0.5 * coalesce(price, 0) - 0.25 * coalesce(stars, 0) FROM shop ORDER BY doc_id";
    assert_near(&ranked(&connection, "ranklib", "shop"), &numbers(&connection, sql, &[]), 1e-12, "ranklib");
    let again = exported(&connection, "ranklib", "elasticsearch");
    import(&connection, &again, &json!({ "name": "again" }));
    assert_eq!(ranked(&connection, "again", "shop"), ranked(&connection, "ranklib", "shop"));
}

/// Rules 9.10 and 9.20: an imported model leaves again, in each format that can express it.
#[test]
fn imported_models_leave_again() {
    let (connection, plain) = (connect(), Connection::open_in_memory().unwrap());
    plain
        .execute_batch("CREATE TABLE shop(query_id, doc_id, relevance, price REAL, stars REAL, brand)")
        .unwrap();
    let insert = "INSERT INTO shop SELECT ?1 ->> 0, ?1 ->> 1, ?1 ->> 2, ?1 ->> 3, ?1 ->> 4, ?1 ->> 5";
    for row in expected()["rows"].as_array().unwrap() {
        plain.execute(insert, [row.to_string()]).unwrap();
    }
    for name in LARGE {
        import(&connection, &file(name), &json!({ "name": name }));
        let scores = ranked(&connection, name, "shop");
        // 1. JSON gives the same bytes.
        import(
            &connection,
            &exported(&connection, name, "json"),
            &json!({ "name": "copy", "format": "json" }),
        );
        let same = "SELECT count(DISTINCT model) FROM ltr_models WHERE active AND name IN (?1, 'copy')";
        assert_eq!(value::<i64>(&connection, same, [name]), 1, "{name}");
        // 2. An expression without the library.
        let sql = format!("SELECT {} FROM shop ORDER BY doc_id", exported(&connection, name, "sql"));
        assert_near(&numbers(&plain, &sql, &[]), &scores, 1e-6, name);
        // 3. Formats without categories.
        for format in ["elasticsearch", "opensearch", "solr"] {
            let error = problem(&connection, "SELECT ltr_export(?1, ?2)", &[name, format]);
            assert!(error.contains("it can be exported as 'json' or 'sql' or 'xgboost'"), "{error}");
            let reason = if format == "solr" {
                "split of '"
            } else {
                "split of 'brand': the engines cannot split on categories"
            };
            assert!(error.contains(reason), "{error}");
        }
        // 4. XGBoost's format has texts of categories since 3.1.
        import(&connection, &exported(&connection, name, "xgboost"), &json!({ "name": "again" }));
        assert_near(&ranked(&connection, "again", "shop"), &scores, 1e-6, name);
    }
    // 5. Trees of numbers go everywhere and come back.
    let text = r#"[{"nodeid": 0, "split": "price", "split_condition": 40.5, "yes": 1, "no": 2, "missing": 2, "children": [
        {"nodeid": 1, "split": "stars", "split_condition": 3, "yes": 3, "no": 4, "missing": 3, "children": [
            {"nodeid": 3, "leaf": -0.5}, {"nodeid": 4, "leaf": 0.75}]}, {"nodeid": 2, "leaf": 0.125}]}]"#;
    import(&connection, text, &json!({ "name": "numbers" }));
    let scores = ranked(&connection, "numbers", "shop");
    for format in ["elasticsearch", "opensearch", "xgboost"] {
        import(&connection, &exported(&connection, "numbers", format), &json!({ "name": format }));
        assert_eq!(ranked(&connection, format, "shop"), scores, "{format}");
    }
    let error = problem(&connection, "SELECT ltr_export('numbers', 'solr')", &[]);
    assert!(error.contains("missing values do not go where 0 goes"), "{error}");
}

/// Rule 9.20.
#[test]
fn boosted_trees_leave_for_engines_and_libraries() {
    let connection = connect();
    connection
        .execute_batch(
            "CREATE TABLE judged AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 799)
             SELECT i / 10 AS query_id, i AS doc_id, abs((i * 7919) % 1009) / 100.9 AS price, (i * 31) % 5 + 0.0 AS stars,
                    ((i * 31) % 5 > 2) + (abs((i * 7919) % 1009) > 500) AS relevance FROM n",
        )
        .unwrap();
    for (name, missing) in [("error", "error"), ("branch", "branch"), ("zero", "zero"), ("mean", "mean")] {
        let options = json!({ "name": name, "missing": missing, "trees": 20, "depth": 3 }).to_string();
        let _: String = value(&connection, "SELECT ltr_train('boosted_trees', 'judged', ?1)", [options]);
        let scores = ranked(&connection, name, "judged");
        let most = scores.iter().fold(1.0, |most: f64, score| most.max(score.abs()));
        for format in ["elasticsearch", "opensearch", "solr", "xgboost"] {
            if (name, format) == ("mean", "solr") {
                let error = problem(&connection, "SELECT ltr_export('mean', 'solr')", &[]);
                assert!(error.contains("missing values do not go where 0 goes"), "{error}");
                continue;
            }
            let text = exported(&connection, name, format);
            import(&connection, &text, &json!({ "name": "again" }));
            assert_near(
                &ranked(&connection, "again", "judged"),
                &scores,
                1e-5 * most,
                &format!("{name} {format}"),
            );
        }
    }
    let cases = [
        (
            "boosted_trees",
            json!({ "scale": "query_minmax", "trees": 5 }),
            "with the scaling \"query_minmax\"",
        ),
        ("rank_svm", json!({ "scale": "none", "lambda": 0.1 }), "it has no trees"),
        ("auto", json!({ "effort": 1 }), "train 'boosted_trees'"),
    ];
    for (algorithm, mut options, expected) in cases {
        options["name"] = json!("other");
        let _: String =
            value(&connection, "SELECT ltr_train(?1, 'judged', ?2)", (algorithm, options.to_string()));
        let error = problem(&connection, "SELECT ltr_export('other', 'xgboost')", &[]);
        assert!(error.contains(expected), "{algorithm}: expected {expected}, found {error}");
    }
}

/// Rule 9.21: what a model has that cannot be kept is named, with its place.
#[test]
fn what_cannot_be_kept_is_refused_by_name() {
    let (lightgbm, xgboost, catboost) =
        (file("small/lightgbm.txt"), file("small/xgboost.json"), file("small/catboost.json"));
    let nested = |open: &str, close: &str| open.repeat(100_000) + &close.repeat(100_000);
    let cases = [
        (lightgbm.replace("num_tree_per_iteration=1", "num_tree_per_iteration=3"), "the model has 3 scores"),
        (lightgbm.replacen("is_linear=0", "is_linear=1", 1), "tree 0: linear functions in leaves"),
        (lightgbm.replace("version=v4", "version=v9"), "LightGBM's format 'v9'; known: v2, v3, v4"),
        (lightgbm[..lightgbm.len() / 2].to_owned(), "the text ends before the line 'end of trees'"),
        (lightgbm.replacen("left_child=1 3", "left_child=1 0", 1), "tree 0, node 0: two paths lead to it"),
        (lightgbm.replacen("left_child=1 3", "left_child=1 99", 1), "tree 0, node 99: does not exist"),
        (
            lightgbm.replacen("split_feature=0 0", "split_feature=0 7", 1),
            "tree 0, node 1: splits feature 7, but there are 4",
        ),
        (lightgbm.replacen("leaf_value=0", "leaf_value=inf0", 1), "tree 0: 'leaf_value' has 'inf0"),
        (lightgbm.replace("feature_names=u v", "feature_names=v v"), "features 0 and 1 have the name 'v'"),
        (lightgbm.replace("feature_names=u v", "feature_names=V v"), "two features of the column"),
        (
            lightgbm.replacen("num_leaves=5", "num_leaves=50000000000", 1),
            "tree 0: 'leaf_value' has 5 numbers",
        ),
        (xgboost.replace("\"num_class\":\"0\"", "\"num_class\":\"3\""), "the model has 3 scores"),
        (
            xgboost
                .replace("\"name\":\"gbtree\"", "\"name\":\"gblinear\"")
                .replace("\"trees\"", "\"weights\""),
            "the booster 'gblinear' without trees; known: gbtree, dart",
        ),
        (xgboost.replace("\"version\":[3,2,0]", "\"version\":[4,0,0]"), "XGBoost's format of version 4.0.0"),
        (xgboost.replace("reg:squarederror", "multi:softmax"), "XGBoost's objective 'multi:softmax'"),
        (
            xgboost.replace("\"num_feature\":\"4\"", "\"num_feature\":\"4000000000\""),
            "a model of 4000000000 features",
        ),
        (
            xgboost.replace("[97,98,99,100,101]", "[97,98,99,100,-61]"),
            "categories with texts that are not ASCII",
        ),
        (xgboost[..xgboost.len() - 9].to_owned(), "the text ends within an object"),
        (
            catboost.replacen("\"float_features\"", "\"ctrs\": [{}], \"float_features\"", 1),
            "CatBoost's target statistics",
        ),
        (
            catboost.replacen("\"float_features\"", "\"text_features\": [{}], \"float_features\"", 1),
            "CatBoost's text features",
        ),
        (
            catboost.replacen("\"hash\": 1982436109", "\"hash\": 1", 1),
            "categories of the feature 'c' without their texts",
        ),
        (catboost.replace("cat_features_hash", "other"), "the key 'other' in features_info is unknown"),
        (
            catboost.replacen("\"flat_feature_index\": 1", "\"flat_feature_index\": 0", 1),
            "two features have the flat_feature_index 0",
        ),
        (catboost.replacen("AsFalse", "AsHigh", 1), "CatBoost's nan_value_treatment 'AsHigh'"),
        (file("small/plugin.json").replace("xgboost+json", "torch"), "a model of type 'model/torch'"),
        (
            file("small/solr.json").replace("MultipleAdditiveTreesModel", "NeuralNetworkModel"),
            "Solr's model class",
        ),
        ("## RankNet\n1:2".to_owned(), "RankLib's algorithm 'RankNet'"),
        ("{\"a\": 1}".to_owned(), "argument 'text'"),
        ("SELECT 1".to_owned(), "argument 'text': got 'SELECT 1'"),
        (" \n".to_owned(), "argument 'text'"),
        (nested("[", "]"), " at line 1 column "),
        (nested("{\"tree_info\":", "}"), " at line 1 column "),
    ];
    for (text, expected) in cases {
        let error = Model::import(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "expected {expected}, found {error}");
    }
    let error = Model::import([b'{', 0xc3]).unwrap_err().to_string();
    assert!(error.contains("argument 'text': got bytes that are not UTF-8 from byte 1"), "{error}");
}

/// Rule 9.21: a stopped training names its best round.
#[test]
fn a_training_that_stopped_early_is_a_warning() {
    let text =
        file("xgboost.json").replacen("\"attributes\":{", "\"attributes\":{\"best_iteration\":\"2\"", 1);
    let model = Model::import(text).unwrap();
    assert!(model.warnings()[0].contains("the best round is 3 of 8"), "{:?}", model.warnings());
}
