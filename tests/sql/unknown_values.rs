//! Rules 2.24, 2.25: values that the training of a model did not have, in every function that scores rows of a source, and two
//! spellings of one value.

use rusqlite::Connection;
use serde_json::{Value, json};

use super::support::{database, value};

/// A shop: 40 queries of 10 documents. The brand decides the relevance, and which one is the market of the query; sizes are
/// codes.
const SHOP: &str =
    "CREATE TABLE shop AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 399),
      r AS (SELECT i, i / 10 AS q, i % 10 AS d, (i * 31) % 3 AS b, (i * 7919) % 1009 / 1009.0 AS price FROM n)
    SELECT q AS query_id, d AS doc_id, q AS impression, d + 1 AS position, d % 3 = 0 AS clicked, price,
           substr('acmeglobinit', 1 + 4 * b, 4) AS brand, substr('038040MED', 1 + 3 * (i % 3), 3) AS size,
           substr('defrus', 1 + 2 * (q % 3), 2) AS q_market, 2 * (b = q % 3) + (price > 0.5) AS relevance FROM r;";

/// Models, named after the columns that they know.
const MODELS: [(&str, &str, &str); 4] = [
    (
        "rank_svm",
        r#"{"name": "linear", "lambda": 1, "columns": {"categories": ["brand", "size"], "ignore": ["impression", "position", "clicked", "q_market"]}}"#,
        "brand size",
    ),
    (
        "boosted_trees",
        r#"{"name": "trees", "trees": 5, "query_columns": true, "columns": {"categories": ["brand", "size"], "ignore": ["impression", "position", "clicked"]}}"#,
        "brand size q_market",
    ),
    (
        "q_svm",
        r#"{"name": "local", "lambda": 1, "columns": {"categories": ["brand", "size"], "ignore": ["impression", "position", "clicked"]}}"#,
        "brand size q_market",
    ),
    (
        "perceptron",
        r#"{"name": "online", "columns": {"categories": ["brand", "size"], "ignore": ["impression", "position", "clicked", "q_market"]}}"#,
        "brand size",
    ),
];

/// Every function that scores rows of a source: the model is ?1, the source ?2.
const FUNCTIONS: [&str; 11] = [
    "SELECT count(score) FROM ltr_rank(?1, ?2)",
    "SELECT count(score) FROM ltr_rank(?1, ?2) WHERE query_id = 3",
    "SELECT count(*) FROM ltr_evaluate(?1, ?2)",
    "SELECT count(*) FROM ltr_compare(?1, ?1, ?2)",
    "SELECT count(*) FROM ltr_explain(?1, ?2, 3, 1)",
    "SELECT count(*) FROM ltr_explain_rank(?1, ?2, 3, 1, 2)",
    "SELECT count(*) FROM ltr_importance(?1, ?2)",
    "SELECT count(*) FROM ltr_interleave(?1, ?1, ?2, '{\"seed\": 1}')",
    "SELECT count(*) FROM ltr_monitor(?1, ?2)",
    "SELECT count(*) FROM ltr_evaluate_clicks(?1, ?2, '{\"propensities\": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]}')",
    "SELECT length(ltr_report(?1, ?2))",
];

/// A shop and its models.
fn shop() -> Connection {
    let connection = database();
    connection.execute_batch(SHOP).unwrap();
    for (algorithm, options, _) in MODELS {
        let _: String = value(&connection, "SELECT ltr_train(?1, 'shop', ?2)", (algorithm, options));
    }
    connection
}

/// The shop with another expression for a column.
fn changed(column: &str, expression: &str) -> String {
    let names = "query_id doc_id impression position clicked price brand size q_market relevance";
    let list: Vec<String> = names
        .split(' ')
        .map(|name| if name == column { format!("{expression} AS {name}") } else { name.to_owned() })
        .collect();
    format!("SELECT {} FROM shop", list.join(", "))
}

/// The warnings of a call that are about unknown values.
fn warned(connection: &Connection, sql: &str, model: &str, source: &str) -> Vec<String> {
    let _: i64 = value(connection, sql, (model, source));
    let all: String = value(connection, "SELECT json_extract(ltr_debug(), '$.last_warnings')", []);
    let all: Vec<String> = serde_json::from_str(&all).unwrap();
    all.into_iter().filter(|warning| warning.contains(" have values ")).collect()
}

#[test]
fn every_function_reports_columns_with_unknown_values() {
    let connection = shop();
    // The column, its expression, an example, and whether a quarter of the rows have unknown values in all queries, or in query 3.
    let cases = [
        ("brand", "upper(brand)", "'ACME'", true),
        ("brand", "brand || ' '", "'acme '", true),
        ("brand", "iif(doc_id % 2, 'new', brand)", "'new'", true),
        ("brand", "NULL", "NULL", true),
        ("brand", "7", "'7'", true),
        ("brand", "iif(doc_id = 4, 'new', brand)", "", false),
        ("size", "CAST(doc_id AS REAL) + 0.5", "'0.5'", true),
        ("size", "iif(size = 'MED', size, CAST(size AS INTEGER))", "", true),
        ("q_market", "upper(q_market)", "'DE'", true),
        ("q_market", "iif(query_id % 2, 'new', q_market)", "'new'", true),
        ("q_market", "query_id + 1", "", true),
        ("q_market", "iif(query_id % 10 = 4, 'new', q_market)", "", false),
    ];
    for (_, options, columns) in MODELS {
        let options: Value = serde_json::from_str(options).unwrap();
        let name = options["name"].as_str().unwrap();
        for sql in FUNCTIONS {
            let has_fingerprint = name != "online";
            if sql.contains("ltr_monitor") && !has_fingerprint {
                continue;
            }
            assert_eq!(warned(&connection, sql, name, "shop"), [""; 0], "{name}: {sql}");
            for (column, expression, example, is_reported) in cases {
                let actual = warned(&connection, sql, name, &changed(column, expression));
                let expected = usize::from(is_reported && columns.contains(column));
                assert_eq!(actual.len(), expected, "{name}, {column}, {expression}: {sql}: {actual:?}");
                let begin = format!("the column \"{column}\": ");
                assert!(
                    actual.iter().all(|line| line.starts_with(&begin) && line.contains(example)),
                    "{actual:?}"
                );
            }
        }
    }
}

#[test]
fn a_warning_counts_rows_or_queries_and_gives_an_example() {
    let connection = shop();
    let rank = |model: &str, source: &str| warned(&connection, FUNCTIONS[0], model, source);
    let advice = |counted: &str| {
        format!(
            "train again with {counted} that have these values, or check their spelling, case and type (the number 7 is not the text '007')"
        )
    };
    assert_eq!(
        rank("linear", &changed("brand", "iif(doc_id < 6, 'ACME', brand)")),
        [format!(
            "the column \"brand\": 240 of 400 rows have values that training did not have, such as 'ACME'; {}",
            advice("rows")
        )]
    );
    assert_eq!(
        rank("trees", &changed("q_market", "iif(query_id < 30, 'DE', q_market)")),
        [format!(
            "the column \"q_market\": 30 of 40 queries have values that training did not have, such as text 'DE'; {}",
            advice("queries")
        )]
    );
    // Trees take NULL where the training had none.
    assert_eq!(
        rank("trees", &changed("price", "iif(doc_id < 6, NULL, price)")),
        [
            "the column \"price\": 240 of 400 rows have values that training did not have, such as NULL; train again with rows that \
          have these values, or find out why they are NULL"
        ]
    );
    for sql in FUNCTIONS {
        assert_eq!(warned(&connection, sql, "trees", &changed("price", "NULL")).len(), 1, "{sql}");
        assert_eq!(
            warned(&connection, sql, "trees", &changed("price", "nullif(price, 0.5)")),
            [""; 0],
            "{sql}"
        );
    }
    // Two columns are two lines; one row and one query are enough.
    let one = "SELECT 1 AS query_id, 1 AS doc_id, 0.5 AS price, 'x' AS brand, 'y' AS size, 'z' AS q_market";
    assert_eq!(rank("trees", one).len(), 3);
    assert_eq!(rank("trees", "SELECT * FROM shop WHERE 0"), [""; 0]);
}

#[test]
fn rare_values_and_null_of_the_training_are_usual() {
    let connection = shop();
    // 40 % of the rows have values of one or two rows; some have none.
    let rare = "iif(doc_id < 3, NULL, iif(doc_id < 7, 'rare ' || query_id || doc_id, brand))";
    let options = json!({"name": "rare", "lambda": 1, "columns": {"categories": ["brand", "size"],
        "ignore": ["impression", "position", "clicked", "q_market"]}});
    let _: String = value(
        &connection,
        "SELECT ltr_train('rank_svm', ?1, ?2)",
        (changed("brand", rare), options.to_string()),
    );
    let rank = |expression: &str| warned(&connection, FUNCTIONS[0], "rare", &changed("brand", expression));
    for usual in [rare, "NULL", "iif(doc_id < 4, 'new' || doc_id, brand)"] {
        assert_eq!(rank(usual), [""; 0], "{usual}");
    }
    let found = rank("upper(brand)");
    assert!(
        found.len() == 1
            && found[0].contains("400 of 400 rows have values that are new or were rare in training"),
        "{found:?}"
    );
    // With many values, values in two rows have a mean.
    let many = "'b' || (query_id / 2) || '-' || (doc_id % 2 + 1)";
    let _: String = value(
        &connection,
        "SELECT ltr_train('rank_svm', ?1, ?2)",
        (changed("brand", many), options.to_string()),
    );
    assert_eq!(rank(many), [""; 0]);
    assert_eq!(rank("'b'").len(), 1);
}

#[test]
fn monitoring_has_the_share_of_unknown_values_of_each_column() {
    let connection = shop();
    let outside = |source: &str| -> String {
        let sql = "SELECT group_concat(name || ' ' || value || ' ' || threshold || ' ' || status, ', ') FROM ltr_monitor('trees', ?1)
                   WHERE kind = 'outside' AND name <> 'price'";
        value(&connection, sql, [source])
    };
    let ok = ["brand 0.0 0.1 ok", "size 0.0 0.1 ok", "q_market 0.0 0.1 ok"];
    assert_eq!(outside("shop"), ok.join(", "));
    for (column, expression, found) in [
        ("brand", "iif(doc_id = 1, 'new', brand)", "brand 0.1 0.1 ok"),
        ("brand", "iif(doc_id < 2, 'new', brand)", "brand 0.2 0.1 warning"),
        ("brand", "NULL", "brand 1.0 0.1 alert"),
        ("q_market", "iif(query_id < 30, 'new', q_market)", "q_market 0.75 0.1 alert"),
    ] {
        let expected = ok.map(|row| if row.starts_with(column) { found } else { row });
        assert_eq!(outside(&changed(column, expression)), expected.join(", "), "{expression}");
    }
}

#[test]
fn two_spellings_of_one_value_are_reported_in_training() {
    let connection = shop();
    let lines = |column: &str, expression: &str| -> Vec<String> {
        let options = r#"{"lambda": 1, "columns": {"categories": ["brand", "size"], "ignore": ["impression", "position", "clicked"]}}"#;
        let source = changed(column, expression);
        let text: String = value(&connection, "SELECT ltr_train('q_svm', ?1, ?2)", (source, options));
        let report: Value = serde_json::from_str(&text).unwrap();
        let all = report["warnings"].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned());
        all.filter(|line| line.contains("count as two")).collect()
    };
    for (column, expression, pair) in [
        ("brand", "iif(query_id % 2, 'Acme', brand)", "'Acme' and 'acme'"),
        ("brand", "iif(query_id % 2, brand || ' ', brand)", "'acme' and 'acme '"),
        ("q_market", "iif(query_id % 2, 'DE', q_market)", "'DE' and 'de'"),
    ] {
        let found = lines(column, expression);
        assert!(
            found.len() == 1 && found[0].contains(&format!("\"{column}\" has the values {pair}")),
            "{found:?}"
        );
    }
    for (column, expression) in [
        ("brand", "brand"),
        ("brand", "iif(query_id = 3 AND doc_id < 2, 'Acme', brand)"),
        ("brand", "upper(brand)"),
        ("q_market", "iif(query_id = 3, 'DE', q_market)"),
    ] {
        assert_eq!(lines(column, expression), [""; 0], "{expression}");
    }
}
