//! Rules 2.18, 2.19, 2.20, 2.21, 2.22: columns of texts as features, from training to ranking, explanations and exports.

use rusqlite::Connection;
use serde_json::{Value, json};
use sqlite_ltr::internals::math::random::Random;

use super::support::{database, value};

/// A shop: 40 queries of 10 documents; brand and price decide the relevance. Three brands are frequent.
const SHOP: &str =
    "CREATE TABLE shop AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 399)
    SELECT i / 10 AS query_id, i % 10 AS doc_id, abs((i * 7919) % 1009) / 1009.0 AS price,
           CASE (i * 31) % 3 WHEN 0 THEN 'acme' WHEN 1 THEN 'globex' ELSE 'initech' END AS brand,
           ((i * 31) % 3 = 0) * 2 + (abs((i * 7919) % 1009) / 1009.0 > 0.5) AS relevance FROM n";

fn shop() -> Connection {
    let connection = database();
    connection.execute_batch(SHOP).unwrap();
    connection
}

fn report(connection: &Connection, algorithm: &str, source: &str, options: &Value) -> Value {
    let text: String =
        value(connection, "SELECT ltr_train(?1, ?2, ?3)", (algorithm, source, options.to_string()));
    serde_json::from_str(&text).unwrap()
}

fn problem(connection: &Connection, sql: &str) -> String {
    connection.query_row(sql, [], |_| Ok(())).unwrap_err().to_string()
}

fn ndcg(connection: &Connection, model: &str, source: &str) -> f64 {
    let sql = "SELECT value FROM ltr_evaluate(?1, ?2) WHERE query_id IS NULL";
    value(connection, sql, (model, source))
}

fn usage(report: &Value, name: &str) -> Value {
    let columns = report["columns"].as_array().unwrap();
    columns.iter().find(|column| column["name"] == name).unwrap().clone()
}

fn warnings(connection: &Connection) -> String {
    value(connection, "SELECT json_extract(ltr_debug(), '$.last_warnings')", [])
}

/// The largest difference between the scores of `ltr_rank` and an expression of the columns.
fn difference(connection: &Connection, model: &str, source: &str, expression: &str) -> f64 {
    let sql = format!(
        "SELECT max(abs(score - own)) FROM ltr_rank(?1, ?2) JOIN (SELECT query_id, doc_id, {expression} AS own FROM ({source})) \
         USING (query_id, doc_id)"
    );
    value(connection, &sql, (model, source))
}

#[test]
fn a_brand_ranks_without_an_option() {
    let connection = shop();
    for (algorithm, least) in
        [("boosted_trees", 1.0), ("auto", 1.0), ("rank_svm", 0.999), ("q_svm", 0.999), ("perceptron", 0.999)]
    {
        let found = report(&connection, algorithm, "shop", &json!({}));
        assert!(ndcg(&connection, algorithm, "shop") >= least, "{algorithm}: {found}");
        let brand = usage(&found, "brand");
        assert_eq!((&brand["usage"], &brand["facts"]["distinct"]), (&json!("category"), &json!(3)));
        let reason = brand["reason"].as_str().unwrap();
        assert!(
            reason.contains("text with few values")
                && reason.contains(r#"{"columns": {"ignore": ["brand"]}}"#)
        );
        assert!(!found["warnings"].to_string().contains("brand"), "{found}");
        assert_eq!(
            (&found["roles"]["features"], &found["roles"]["categories"]),
            (&json!(["price"]), &json!(["brand"]))
        );
    }
    let roles: String =
        value(&connection, "SELECT json_extract(ltr_info('rank_svm'), '$.roles.categories')", []);
    assert_eq!(roles, r#"["brand"]"#);
}

/// The columns that a category stands for, written in the source.
const BY_HAND: &str = "SELECT query_id, doc_id, relevance, price, brand = 'acme' AS a, brand = 'globex' AS b, brand = 'initech' AS c,
                              0 AS other, 0 AS missing FROM shop";

#[test]
fn a_category_is_the_columns_that_people_write_by_hand() {
    let connection = shop();
    for (algorithm, options) in [
        ("rank_svm", json!({"lambda": 0.1, "scale": "standard"})),
        ("list_net", json!({"lambda": 0.1})),
        ("boosted_trees", json!({"trees": 20})),
        ("regression", json!({"lambda": 0.1, "kernel": "gaussian"})),
    ] {
        for (name, source) in [("own", "shop"), ("hand", BY_HAND)] {
            let mut options = options.clone();
            options["name"] = json!(name);
            report(&connection, algorithm, source, &options);
        }
        let sql =
            "SELECT max(abs(a.score - b.score)) FROM ltr_rank('own', 'shop') a JOIN ltr_rank('hand', ?1) b
                     ON a.query_id = b.query_id AND a.doc_id = b.doc_id";
        let differs: f64 = value(&connection, sql, [BY_HAND]);
        assert!(differs < 1e-9, "{algorithm}: {differs}");
    }
}

#[test]
fn the_order_of_rows_and_the_threads_change_no_byte() {
    let connection = shop();
    let fit = |source: &str, options: Value| -> Vec<u8> {
        value(&connection, "SELECT ltr_fit('boosted_trees', ?1, ?2)", (source, options.to_string()))
    };
    let expected = fit("shop", json!({"trees": 10}));
    for order in ["price", "brand, price DESC", "doc_id"] {
        let source = format!("SELECT * FROM shop ORDER BY {order}");
        assert!(fit(&source, json!({"trees": 10, "threads": 1})) == expected, "{order}");
    }
}

#[test]
fn every_door_turns_the_same_texts_into_the_same_scores() {
    let connection = shop();
    for (algorithm, options) in [
        ("rank_svm", json!({"lambda": 0.01})),
        ("boosted_trees", json!({"trees": 20})),
        ("regression", json!({"lambda": 0.01, "scale": "standard"})),
    ] {
        report(&connection, algorithm, "shop", &options);
        let score = format!("ltr_score('{algorithm}', json_array(price, brand))");
        let source = "SELECT query_id, doc_id, price, iif(doc_id = 3, NULL, iif(doc_id = 4, 'new', brand)) AS brand FROM shop";
        assert!(difference(&connection, algorithm, source, &score) < 1e-9, "{algorithm}");
        let explained =
            format!("(SELECT sum(contribution) FROM ltr_explain('{algorithm}', json_array(price, brand)))");
        assert!(
            difference(&connection, algorithm, &format!("{source} LIMIT 20"), &explained) < 1e-9,
            "{algorithm}"
        );
        let sql: String = value(&connection, "SELECT ltr_export(?1, 'sql')", [algorithm]);
        assert!(difference(&connection, algorithm, source, &sql) < 1e-9, "{algorithm}: {sql}");
        let text: String = value(&connection, "SELECT ltr_export(?1, 'json')", [algorithm]);
        let _: String = value(&connection, "SELECT ltr_import(?1, '{\"name\": \"copy\"}')", [text]);
        let copy = "ltr_score('copy', json_array(price, brand))";
        assert!(difference(&connection, algorithm, source, copy) < 1e-12, "{algorithm}");
        for format in ["solr", "elasticsearch"] {
            let refused = problem(&connection, &format!("SELECT ltr_export('{algorithm}', '{format}')"));
            assert!(refused.contains("the category \"brand\""), "{refused}");
        }
    }
    // What a vector cannot hold.
    for vector in ["ltr_vec(1, 0, 0, 1, 0, 0)", "'[1]'", "'[\"x\", \"acme\"]'", "'[1, [\"acme\"]]'"] {
        let refused = problem(&connection, &format!("SELECT ltr_score('rank_svm', {vector})"));
        assert!(refused.contains("json_array(\"price\", \"brand\")"), "{refused}");
    }
}

#[test]
fn a_value_is_its_text_and_a_column_is_shown_as_people_wrote_it() {
    let connection = shop();
    // 1. Whole numbers and texts are the same value; case and blanks differ.
    let sizes = "SELECT query_id, doc_id, relevance, price, CASE brand WHEN 'acme' THEN 38 WHEN 'globex' THEN 40 ELSE 'M' END AS size FROM shop";
    let refused =
        problem(&connection, &format!("SELECT ltr_train('rank_svm', '{}')", sizes.replace('\'', "''")));
    assert!(refused.contains(r#"{"columns":{"categories":["size"]}}"#), "{refused}");
    let listed = json!({"lambda": 0.01, "scale": "standard", "columns": {"categories": ["size"]}});
    let found = report(&connection, "rank_svm", sizes, &listed);
    assert!(usage(&found, "size")["reason"].as_str().unwrap().contains("listed as a category"));
    let score = |size: &str| -> f64 {
        let source = format!("SELECT 1 AS query_id, 1 AS doc_id, 0.5 AS price, {size} AS size");
        value(&connection, "SELECT score FROM ltr_rank('rank_svm', ?1)", [source])
    };
    for same in ["'38'", "38.0", "38"] {
        assert_eq!(score(same).to_bits(), score("38").to_bits(), "{same}");
    }
    for other in ["'38 '", "'m'", "'38.0'", "39"] {
        assert_eq!(score(other).to_bits(), score("'new'").to_bits(), "{other}");
    }
    let sql: String = value(&connection, "SELECT ltr_export('rank_svm', 'sql')", []);
    for size in ["38", "'38'", "38.0", "'38.0'", "39", "'M'", "NULL", "''"] {
        let own: f64 =
            value(&connection, &format!("SELECT {sql} FROM (SELECT 0.5 AS price, {size} AS size)"), []);
        assert!((own - score(size)).abs() < 1e-9, "{size}");
    }
    // 2. A row a value among the weights; a row a column elsewhere.
    let names: String =
        value(&connection, "SELECT group_concat(feature, ' ') FROM ltr_weights('rank_svm')", []);
    assert_eq!(names, "price size=38 size=40 size=M size=(other) size=(NULL)");
    let sql = "SELECT group_concat(feature, ' ') FROM ltr_importance('rank_svm', ?1)";
    assert_eq!(value::<String>(&connection, sql, [sizes]), "price size");
    let sql = "SELECT group_concat(feature || ' ' || coalesce(value, '-'), ', ') FROM ltr_explain('rank_svm', json_array(0.5, 38))";
    assert_eq!(value::<String>(&connection, sql, []), "(base) -, price 0.5, size 38");
    let sql = "SELECT group_concat(feature || ' ' || value_a || ' ' || value_b, ', ') FROM ltr_explain_rank('rank_svm', ?1, 1, 2, 3)
               WHERE feature = 'size'";
    let pair: String = value(&connection, sql, [sizes]);
    assert!(pair == "size 38 40" || pair.starts_with("size "), "{pair}");
}

#[test]
fn rare_and_unseen_values_are_others_and_null_is_its_own() {
    let connection = shop();
    let source = "SELECT query_id, doc_id, relevance, price, CASE WHEN doc_id = 0 THEN NULL WHEN query_id = 7 THEN 'only one query'
                  WHEN query_id + doc_id < 3 THEN 'rare ' || doc_id ELSE brand END AS brand FROM shop";
    report(&connection, "rank_svm", source, &json!({"lambda": 0.01}));
    let names: String =
        value(&connection, "SELECT group_concat(feature, ' ') FROM ltr_weights('rank_svm')", []);
    assert_eq!(names, "price brand=acme brand=globex brand=initech brand=(other) brand=(NULL)");
    let score = |brand: &str| -> f64 {
        value(&connection, &format!("SELECT ltr_score('rank_svm', json_array(0.5, {brand}))"), [])
    };
    assert_eq!(score("'rare 1'").to_bits(), score("'never seen'").to_bits());
    assert!((score("NULL") - score("'never seen'")).abs() > 1e-9);
}

#[test]
fn new_values_in_all_rows_are_reported() {
    let connection = shop();
    report(&connection, "rank_svm", "shop", &json!({"lambda": 0.01}));
    let rank = |source: &str| {
        let _: i64 = value(&connection, "SELECT count(*) FROM ltr_rank('rank_svm', ?1)", [source]);
        warnings(&connection)
    };
    let upper = "SELECT query_id, doc_id, relevance, price, upper(brand) AS brand FROM shop";
    assert!(
        rank(upper).contains("400 of 400 rows have values that training did not have"),
        "{}",
        rank(upper)
    );
    assert_eq!(rank("shop"), "[]");
    // Monitoring has a row for each value; unknown values are outside the training range.
    let sql = "SELECT group_concat(kind || ' ' || name, ', ') FROM ltr_monitor('rank_svm', ?1) WHERE name LIKE 'brand%' AND status <> 'ok'";
    let found: String = value(&connection, sql, [upper]);
    assert_eq!(found, "drift brand=acme, drift brand=globex, drift brand=initech, outside brand");
    let found: String = value(&connection, sql, ["SELECT query_id, doc_id, relevance, price FROM shop"]);
    assert!(found.starts_with("missing_column brand, "), "{found}");
}

#[test]
fn what_is_not_a_category_is_reported() {
    let connection = shop();
    let refused = |source: &str, columns: Value| {
        let sql = format!(
            "SELECT ltr_train('rank_svm', '{}', '{}')",
            source.replace('\'', "''"),
            json!({"lambda": 1, "columns": columns})
        );
        problem(&connection, &sql)
    };
    for (source, columns, expected) in [
        ("shop", json!({"features": ["price", "brand"]}), "\"categories\" instead of \"features\""),
        ("shop", json!({"features": ["price", "brand"], "categories": ["brand"]}), "to both"),
        ("shop", json!({"categories": ["colour"]}), "does not exist"),
        ("shop", json!({"categories": "brand"}), "array of names"),
        ("SELECT *, x'01' AS c FROM shop", json!({"categories": ["c"]}), "a BLOB of 1 bytes"),
        ("SELECT *, CAST(x'ff' AS TEXT) AS c FROM shop", json!({"categories": ["c"]}), "UTF-8 text"),
        (
            "SELECT *, query_id * 10 + doc_id AS c FROM shop",
            json!({"categories": ["c"]}),
            "no value with 3 rows",
        ),
        ("SELECT *, 1 AS \"brand=acme\" FROM shop", json!({}), "two columns are named \"brand=acme\""),
    ] {
        let actual = refused(source, columns);
        assert!(actual.contains(expected), "{actual}");
    }
    let many = "WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
                SELECT i / 10 AS query_id, i % 2 AS relevance, i % 7 AS x, i AS c FROM n";
    let actual = refused(many, json!({"categories": ["c"]}));
    assert!(actual.contains("more than 10000 different values"), "{actual}");
    // By default, titles, ids, single values and long texts are not categories.
    for (column, expected) in [
        ("'title ' || (query_id * 10 + doc_id)", "id"),
        ("'name ' || doc_id", "id"),
        ("'same'", "left_out"),
        ("printf('%.*c', 300, 'x') || brand", "left_out"),
        ("'2024-01-0' || (1 + doc_id % 3)", "feature"),
        ("(1 + doc_id % 3) || ' kg'", "left_out"),
        ("iif(doc_id % 2, 'yes', 'no')", "category"),
        ("iif(doc_id % 2, 'yes', NULL)", "category"),
        ("iif(doc_id % 2, '', 'b')", "category"),
    ] {
        let source = format!("SELECT *, {column} AS c FROM shop");
        let actual = report(&connection, "rank_svm", &source, &json!({"lambda": 1}));
        assert_eq!(usage(&actual, "c")["usage"], expected, "{column}: {actual}");
    }
    let ignored =
        report(&connection, "rank_svm", "shop", &json!({"lambda": 1, "columns": {"ignore": ["brand"]}}));
    assert_eq!((&usage(&ignored, "brand")["usage"], &ignored["warnings"]), (&json!("left_out"), &json!([])));
    // Training in buckets takes numbers only.
    let actual = report(&connection, "rank_svm", "shop", &json!({"lambda": 1, "buckets": 4}));
    assert!(actual["warnings"].to_string().contains("takes numbers only"), "{actual}");
}

#[test]
fn categories_with_vectors_validation_priors_updates_and_cross_validation() {
    let connection = shop();
    // 1. Beside a column of vectors.
    let vectors =
        "SELECT query_id, doc_id, relevance, ltr_vec(price, price * price) AS features, brand FROM shop";
    let found = report(&connection, "rank_svm", vectors, &json!({"lambda": 0.01}));
    assert!(
        found["warnings"].to_string().contains(r#"{\"columns\": {\"categories\": [\"brand\"]}}"#),
        "{found}"
    );
    let listed = json!({"lambda": 0.01, "columns": {"categories": ["brand"]}});
    report(&connection, "rank_svm", vectors, &listed);
    assert!(ndcg(&connection, "rank_svm", vectors) > 0.99);
    let names: String =
        value(&connection, "SELECT group_concat(feature, ' ') FROM ltr_weights('rank_svm')", []);
    assert!(names.starts_with("1 2 brand=acme"), "{names}");
    // 2. A source to validate on, with other values.
    let other = "SELECT query_id, doc_id, relevance, iif(doc_id = 1, 'new', brand) AS brand, price FROM shop WHERE query_id < 10";
    let found = report(&connection, "rank_svm", "shop", &json!({"name": "first", "validation": other}));
    assert!(found["validation"]["best"].as_f64().unwrap() > 0.8, "{found}");
    // 3. A prior gives its values to the next training.
    let few = "SELECT * FROM shop WHERE query_id < 3 AND brand <> 'globex'";
    report(&connection, "rank_svm", few, &json!({"name": "next", "lambda": 1e6, "prior": "@first"}));
    let differs: f64 = value(
        &connection,
        "SELECT max(abs(a.score - b.score)) FROM ltr_rank('first', 'shop') a JOIN ltr_rank('next', 'shop') b
           ON a.query_id = b.query_id AND a.doc_id = b.doc_id",
        [],
    );
    assert!(differs < 0.1, "{differs}");
    // 4. An update knows the values of the training.
    report(&connection, "perceptron", "shop", &json!({}));
    let _: String = value(&connection, "SELECT ltr_update('perceptron', ?1)", [other]);
    assert!(ndcg(&connection, "perceptron", "shop") > 0.9);
    // 5. Cross-validation, comparison, tuning.
    let best: f64 = value(
        &connection,
        "SELECT avg(value) FROM ltr_cross_validate('rank_svm', 'shop', '{\"lambda\": [0.01, 0.001]}')",
        [],
    );
    assert!(best > 0.9, "{best}");
    let difference: f64 =
        value(&connection, "SELECT difference FROM ltr_compare('first', 'next', 'shop')", []);
    assert!(difference.is_finite());
    report(&connection, "boosted_trees", "shop", &json!({"depth": [2, 3], "trees": 10}));
}

/// Every algorithm with features of documents takes categories: rankings, metrics, explanations and stored bytes agree.
#[test]
fn every_algorithm_takes_categories() {
    let connection = shop();
    connection
        .execute_batch(
            "CREATE TABLE few AS SELECT query_id, doc_id, price, brand, relevance, doc_id AS slot FROM shop WHERE query_id < 12 AND doc_id < 6",
        )
        .unwrap();
    let algorithms: String = value(
        &connection,
        "SELECT json_group_array(name) FROM ltr_algorithms WHERE name NOT IN ('cofi_rank', 'matching')",
        [],
    );
    let algorithms: Vec<String> = serde_json::from_str(&algorithms).unwrap();
    assert!(algorithms.len() > 10, "{algorithms:?}");
    for algorithm in algorithms {
        let options = match &*algorithm {
            "boosted_trees" | "lambdamart" => json!({"trees": 5}),
            "auto" => json!({"effort": 1}),
            "perceptron" => json!({}),
            "eigen_rank" => json!({"components": 2}),
            "direct" => json!({"lambda": 0.1, "bound": "convex"}),
            _ => json!({"lambda": 0.1}),
        };
        let found = report(&connection, &algorithm, "few", &options);
        assert_eq!(usage(&found, "brand")["usage"], "category", "{algorithm}: {found}");
        assert!(ndcg(&connection, &algorithm, "few") > 0.6, "{algorithm}: {found}");
        let sql = "SELECT sum(contribution) - (SELECT score FROM ltr_rank(?1, 'few') WHERE query_id = 3 AND doc_id = 2), count(*)
                     FROM ltr_explain(?1, 'few', 3, 2)";
        let (differs, rows): (f64, i64) =
            connection.query_row(sql, [&algorithm], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert!(differs.abs() < 1e-6 && rows == 3, "{algorithm}: {differs} in {rows} rows");
        let copy: Vec<u8> = value(&connection, "SELECT model FROM ltr_models WHERE name = ?1", [&algorithm]);
        let same: i64 = value(
            &connection,
            "SELECT count(*) FROM ltr_rank(?1, 'few') a JOIN ltr_rank(?2, 'few') b USING (query_id, doc_id) WHERE a.score = b.score",
            (&algorithm, copy),
        );
        assert_eq!(same, 72, "{algorithm}");
    }
}

/// A column of many values: 60 queries of 20 documents with 200 values, whose effects decide the relevance.
fn many_values(connection: &Connection, effect: &str) {
    let sql = format!(
        "DROP TABLE IF EXISTS many;
         CREATE TABLE many AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 1199),
           r AS (SELECT i, i * 7919 % 200 AS c, i * 104729 % 997 / 997.0 AS x FROM n)
         SELECT i / 20 AS query_id, i AS doc_id, x, 'value ' || c AS name, CAST(2 * ({effect}) AS INTEGER) AS relevance FROM r"
    );
    connection.execute_batch(&sql).unwrap();
}

/// Rule 2.23: many values have their mean relevance, too, which every door knows.
#[test]
fn many_values_have_their_mean_relevance() {
    let connection = database();
    many_values(&connection, "c * 31 % 17 / 17.0 + 0.3 * x");
    let names = "SELECT count(*) || ' ' || sum(feature = 'name=(mean)') FROM ltr_weights('rank_svm')";
    for (algorithm, options) in
        [("rank_svm", json!({"lambda": 0.01, "scale": "standard"})), ("boosted_trees", json!({"trees": 30}))]
    {
        let with = report(&connection, algorithm, "many", &options);
        assert_eq!(usage(&with, "name")["usage"], "category");
        let mean = ndcg(&connection, algorithm, "many");
        let without = "SELECT query_id, doc_id, x, relevance FROM many";
        report(&connection, algorithm, without, &{
            let mut options = options.clone();
            options["name"] = json!("without");
            options
        });
        assert!(mean > ndcg(&connection, "without", without) + 0.1, "{algorithm}: {mean}");
        let source = "SELECT query_id, doc_id, x, iif(doc_id % 9 = 0, 'new', iif(doc_id % 7 = 0, NULL, name)) AS name FROM many";
        let score = format!("ltr_score('{algorithm}', json_array(x, name))");
        assert!(difference(&connection, algorithm, source, &score) < 1e-9, "{algorithm}");
        // As in a CSV that was imported.
        let texts = format!("ltr_score('{algorithm}', json_array(CAST(x AS TEXT), name))");
        assert!(difference(&connection, algorithm, source, &texts) < 1e-9, "{algorithm}");
        let sql: String = value(&connection, "SELECT ltr_export(?1, 'sql')", [algorithm]);
        assert!(difference(&connection, algorithm, source, &sql) < 1e-9);
        // In a long expression means are written once.
        assert!(sql.len() < 1_000_000, "{}", sql.len());
        if algorithm == "rank_svm" {
            // x, the 100 most frequent values, other values, NULL, and the mean.
            assert_eq!(value::<String>(&connection, names, []), "104 1");
        }
        let text: String = value(&connection, "SELECT ltr_export(?1, 'json')", [algorithm]);
        let _: String = value(&connection, "SELECT ltr_import(?1, '{\"name\": \"copy\"}')", [text]);
        let copy = "ltr_score('copy', json_array(x, name))";
        assert!(difference(&connection, algorithm, source, copy) < 1e-12, "{algorithm}");
        // The order of the rows and the threads have no influence.
        let fit = |source: &str, threads: usize| -> Vec<u8> {
            let mut options = options.clone();
            options["threads"] = json!(threads);
            value(&connection, "SELECT ltr_fit(?1, ?2, ?3)", (algorithm, source, options.to_string()))
        };
        assert!(fit("many", 2) == fit("SELECT * FROM many ORDER BY x", 1), "{algorithm}");
    }
}

/// Rows of a query get means of other queries: a random category does not look useful, neither held out nor in training.
#[test]
fn a_random_category_has_no_use() {
    let connection = database();
    let mut gains = [Vec::new(), Vec::new(), Vec::new()];
    for (seed, values) in [(0, 200), (1, 50), (2, 200), (3, 50)] {
        let mut random = Random::new(seed);
        connection
            .execute_batch(
                "DROP TABLE IF EXISTS noise; CREATE TABLE noise(query_id, doc_id, x, name, relevance); BEGIN",
            )
            .unwrap();
        let mut insert = connection.prepare("INSERT INTO noise VALUES (?1, ?2, ?3, ?4, ?5)").unwrap();
        for row in 0..1200 {
            let (x, noise) = (random.below(1000) as i64, random.below(1000) as i64);
            let name = format!("value {}", random.below(values));
            insert.execute((row / 20, row, x, name, (3 * x + 7 * noise) / 2500)).unwrap();
        }
        drop(insert);
        connection.execute_batch("COMMIT").unwrap();
        let validated = |source: &str| -> [f64; 3] {
            let trained =
                |algorithm| report(&connection, algorithm, source, &json!({}))["validation"]["best"].as_f64();
            let options = r#"{"trees": 20, "folds": 5}"#;
            let crossed = value(
                &connection,
                "SELECT avg(value) FROM ltr_cross_validate('boosted_trees', ?1, ?2)",
                (source, options),
            );
            [crossed, trained("boosted_trees").unwrap(), trained("rank_svm").unwrap()]
        };
        let without = validated("SELECT query_id, doc_id, x, relevance FROM noise");
        for ((gains, with), without) in gains.iter_mut().zip(validated("noise")).zip(without) {
            gains.push(with - without);
        }
    }
    assert!(gains.iter().all(|gains| gains.iter().sum::<f64>() / 4.0 < 0.005), "{gains:?}");
}

/// The mean relevance of a value is learned again without the rows that a fold holds out, also for the kernels of `auto`: it
/// validates about what new queries have. (With means of all rows it validated .03 to .09 too much.)
#[test]
fn auto_validates_many_values_as_new_queries_rank() {
    let connection = database();
    let (mut random, mut differences) = (Random::new(5), Vec::new());
    for _ in 0..3 {
        connection
            .execute_batch(
                "DROP TABLE IF EXISTS old; DROP TABLE IF EXISTS new;
                 CREATE TABLE old(query_id, doc_id, x, name, relevance);
                 CREATE TABLE new(query_id, doc_id, x, name, relevance); BEGIN",
            )
            .unwrap();
        let effects: Vec<f64> = (0..300).map(|_| random.symmetric()).collect();
        for (table, rows) in [("old", 1200), ("new", 3600)] {
            let mut insert =
                connection.prepare(&format!("INSERT INTO {table} VALUES (?1, ?2, ?3, ?4, ?5)")).unwrap();
            for row in 0..rows {
                let (name, x) = (random.below(300), random.symmetric());
                let noise = random.symmetric() + random.symmetric();
                let relevance = (2.0 * effects[name] + 2.0 * noise + 1.0).clamp(0.0, 3.0) as i64;
                insert.execute((row / 12, row, x, format!("value {name}"), relevance)).unwrap();
            }
        }
        connection.execute_batch("COMMIT").unwrap();
        let options = json!({"effort": 1, "kernel": {"gaussian": {"width": 4}}});
        let found = report(&connection, "auto", "old", &options);
        assert_eq!(usage(&found, "name")["usage"], "category");
        differences.push(found["validation"]["best"].as_f64().unwrap() - ndcg(&connection, "auto", "new"));
    }
    assert!(differences.iter().sum::<f64>() / 3.0 < 0.02, "{differences:?}");
}

/// Folds of `ltr_cross_validate` know means of their training rows only: values with only two rows predict nothing there.
#[test]
fn folds_make_means_of_their_own_rows() {
    let connection = database();
    let options = json!({"columns": {"categories": ["brand"]}, "lambda": 0.05}).to_string();
    let difference = |seed: u64| {
        let sql = "DROP TABLE IF EXISTS rare; CREATE TABLE rare(query_id, doc_id, price, brand, relevance)";
        connection.execute_batch(sql).unwrap();
        let mut random = Random::new(seed);
        let effects: Vec<f64> = (0..225).map(|_| 1.5 * random.symmetric()).collect();
        let mut order: Vec<usize> = (0..200).map(|row| 25 + row / 2).collect();
        random.shuffle(&mut order);
        let mut insert = connection.prepare("INSERT INTO rare VALUES (?1, ?2, ?3, ?4, ?5)").unwrap();
        for row in 0..400 {
            let brand = if row % 2 == 1 { random.below(25) } else { order[row / 2] };
            let price = 0.5 + 0.5 * random.symmetric();
            let relevance = (effects[brand] + price + 1.2).clamp(0.0, 3.0) as i64;
            insert
                .execute(((row / 10) as i64, row as i64, price, format!("brand {brand}"), relevance))
                .unwrap();
        }
        drop(insert);
        let sql = "SELECT avg(value) FROM ltr_cross_validate('regression', 'rare', ?1)";
        let crossed: f64 = value(&connection, sql, [options.clone()]);
        let by_hand = (0..5).map(|fold| {
            let part = |sign: &str| format!("SELECT * FROM rare WHERE query_id % 5 {sign} {fold}");
            let sql = "SELECT ltr_fit('regression', ?1, ?2)";
            let model: Vec<u8> = value(&connection, sql, (part("<>"), options.clone()));
            let sql = "SELECT value FROM ltr_evaluate(?1, ?2) WHERE query_id IS NULL";
            value::<f64>(&connection, sql, (model, part("=")))
        });
        crossed - by_hand.sum::<f64>() / 5.0
    };
    let differences: Vec<f64> = (0..4).map(difference).collect();
    assert!(differences.iter().sum::<f64>() / 4.0 < 0.012, "{differences:?}");
}
