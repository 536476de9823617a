//! Rules 2.16, 2.17: the report has the use of every column of a training source, and warns about a column that was probably meant to be used.

use std::fmt::Write;

use rusqlite::Connection;
use serde_json::{Value, json};
use sqlite_ltr::internals::math::random::Random;

use super::support::{database, is_long, value};

/// The report of a training on the table `t`.
fn report(connection: &Connection, algorithm: &str, options: &Value) -> Value {
    let text: String = value(connection, "SELECT ltr_train(?1, 't', ?2)", (algorithm, options.to_string()));
    serde_json::from_str(&text).unwrap()
}

/// The table `t`: queries of documents with these columns. `i` is the row, `q` the query, `d` the document, `y` a number from
/// 0 to 1 that decides the relevance.
fn table(connection: &Connection, columns: &str) {
    let sql = format!(
        "DROP TABLE IF EXISTS t;
         CREATE TABLE t AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 179),
           r AS (SELECT i, i / 9 AS q, i % 9 AS d, (i * 7919 + 17) % 1009 / 1009.0 AS y, (i * 104729 + 5) % 997 / 997.0 AS x FROM n)
         SELECT q AS query_id, CAST(3 * y AS INTEGER) AS relevance, {columns} FROM r"
    );
    connection.execute_batch(&sql).unwrap();
}

const DOC: &str = "q * 100 + d AS doc_id, ";
const VECTOR: &str = "ltr_vec(x, x * x) AS features, ";
const WIDE: &str = "x, x * x AS x2, ";

/// Columns that look as if they were meant: the others of the source, the column `c`, its usage, and what the warning has.
const MEANT: &[(&str, &str, &str, &str)] = &[
    (VECTOR, "y", "left_out", "ltr_vec(\"features\", \"c\")"),
    (VECTOR, "CAST(5 * y AS INTEGER)", "left_out", "ltr_vec(\"features\", \"c\")"),
    (VECTOR, "CAST(5 * y AS TEXT)", "left_out", "ltr_vec(\"features\", \"c\")"),
    (VECTOR, "y > 0.5", "left_out", "ltr_vec(\"features\", \"c\")"),
    (VECTOR, "ltr_vec(y)", "left_out", "ltr_vec(\"features\", \"c\")"),
    (VECTOR, "q % 4", "left_out", r#"{"columns": {"query_features": ["c"]}}"#),
    (VECTOR, "substr('abc', 1 + 3 * y, 1)", "left_out", r#"{"columns": {"categories": ["c"]}}"#),
    (WIDE, "'v' || (i * 7 % 80)", "category", ""),
    (WIDE, "substr('abc', 1 + 3 * y, 1)", "category", ""),
    (WIDE, "iif(y > 0.5, 'yes', 'no')", "category", ""),
    (WIDE, "iif(y > 0.5, 'sale', NULL)", "category", ""),
    (WIDE, "iif(q % 2, 'mobile', 'desktop')", "left_out", r#"{"columns": {"query_features": ["c"]}}"#),
    (WIDE, "printf('$%.2f', y)", "feature", ""),
    (VECTOR, "printf('$%.2f', y)", "left_out", "CAST(replace(\"c\", '$', '') AS REAL)"),
    (WIDE, "printf('%.2f kg', y)", "left_out", "CAST(replace(\"c\", 'kg', '') AS REAL)"),
    (WIDE, "printf('20%02d-03-04', 10 + 9 * y)", "feature", ""),
    (VECTOR, "printf('20%02d-03-04', 10 + 9 * y)", "left_out", "strftime('%s', \"c\") / 86400.0"),
    (WIDE, "printf('20%02d-%02d', 10 + 9 * y, 1 + 11 * x)", "feature", ""),
    (
        WIDE,
        "substr('6-8  9-12 13-17', 1 + 5 * CAST(3 * y AS INTEGER), 5)",
        "left_out",
        r#"{"columns": {"categories": ["c"]}}"#,
    ),
    (WIDE, "CAST(60 + 3 * y AS INTEGER) || ' A'", "left_out", r#"{"columns": {"categories": ["c"]}}"#),
    (WIDE, "printf('04.03.20%02d', 10 + 9 * y)", "left_out", "for the form date m.d.Y"),
    (WIDE, "printf('3/4/20%02d', 10 + 9 * y)", "left_out", "YYYY-MM-DD"),
    (WIDE, "json_array('a', CAST(4 * y AS INTEGER))", "left_out", "json_each(\"c\")"),
    (WIDE, "ltr_vec(y, x)", "left_out", r#"{"columns": {"features": "c"}}"#),
    (WIDE, "NULL", "left_out", "NULL in every row"),
    (
        WIDE,
        "CAST(substr('onetwosix', 1 + 3 * CAST(3 * y AS INTEGER), 3) AS BLOB)",
        "left_out",
        "CAST(\"c\" AS TEXT)",
    ),
    (WIDE, "iif(i = 7, CAST(x'ff41' AS TEXT), substr('abc', 1 + 3 * y, 1))", "left_out", "is not UTF-8"),
    (WIDE, "substr('abc', 1 + 3 * y, 1) || hex(zeroblob(150))", "left_out", "more than 256 bytes"),
    (WIDE, "iif(i = 7, x'01', substr('abc', 1 + 3 * y, 1))", "left_out", "it has texts, BLOBs"),
    (WIDE, "d AS slot, 1", "feature", ""),
];

#[test]
fn a_column_that_looks_meant_is_a_warning_and_ignoring_it_is_silent() {
    let connection = database();
    for (others, column, usage, message) in MEANT {
        table(&connection, &format!("{DOC}{others}{column} AS c"));
        let found = report(&connection, "rank_svm", &json!({"lambda": 1, "missing": "mean"}));
        let columns = found["columns"].as_array().unwrap();
        let of = |name: &str| columns.iter().find(|column| column["name"] == name).unwrap();
        assert_eq!(of("c")["usage"], *usage, "{column}: {found}");
        if message.is_empty() {
            continue;
        }
        let warnings: Vec<&str> =
            found["warnings"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let named: Vec<&&str> = warnings.iter().filter(|warning| warning.contains("\"c\"")).collect();
        assert!(named.len() == 1 && named[0].contains(message), "{column}: {warnings:?}");
        assert!(named[0].contains(r#"{"columns": {"ignore": ["c"]}}"#), "{column}: {warnings:?}");
        let ignored = json!({"lambda": 1, "missing": "mean", "columns": {"ignore": ["c"]}});
        let silent = report(&connection, "rank_svm", &ignored);
        assert!(!silent["warnings"].to_string().contains("\\\"c\\\""), "{column}: {silent}");
    }
}

#[test]
fn ids_are_known_by_their_values() {
    let connection = database();
    for (column, usage) in
        [("'SKU ' || i", "id"), ("'SKU ' || d", "id"), ("4000000000000 + i * 7919 % 1000003", "feature")]
    {
        table(&connection, &format!("{WIDE}{column} AS article"));
        let found = report(&connection, "rank_svm", &json!({"lambda": 1}));
        assert_eq!(found["columns"][4]["usage"], usage, "{found}");
        let role = r#"{\"columns\": {\"doc\": \"article\"}}"#;
        assert!(found["warnings"].to_string().contains(role), "{found}");
        table(&connection, &format!("{DOC}{WIDE}'SKU ' || i AS article"));
        assert_eq!(report(&connection, "rank_svm", &json!({"lambda": 1}))["warnings"], json!([]));
    }
}

#[test]
fn texts_named_like_ids_are_values_if_documents_of_a_query_share_them() {
    let connection = database();
    for (others, column, options, usage, message) in [
        (WIDE, "'b' || (i * 7 % 5)", json!({}), "category", ""),
        (WIDE, "'t' || (i / 2 % 85)", json!({}), "category", ""),
        (WIDE, "'b' || (i * 7 % 5)", json!({"buckets": 4}), "left_out", "takes numbers only"),
        (VECTOR, "'b' || (i * 7 % 5)", json!({}), "left_out", r#"{"columns": {"categories": ["brand_id"]}}"#),
        (WIDE, "'s' || q", json!({}), "id", ""),
        (WIDE, "'s' || (q % 4)", json!({}), "id", ""),
        (WIDE, "'p' || d", json!({}), "id", ""),
        (WIDE, "'p' || i", json!({}), "id", ""),
    ] {
        for doc in [DOC, ""] {
            table(&connection, &format!("{doc}{others}{column} AS brand_id"));
            let mut options = options.clone();
            options["lambda"] = json!(1);
            let found = report(&connection, "rank_svm", &options);
            let columns = found["columns"].as_array().unwrap();
            let of = columns.iter().find(|column| column["name"] == "brand_id").unwrap();
            assert_eq!(of["usage"], usage, "{doc}{column}: {found}");
            let lines = found["warnings"].as_array().unwrap().iter().filter_map(Value::as_str);
            let lines: Vec<&str> = lines.filter(|line| line.contains("brand_id")).collect();
            let may_be_doc = doc.is_empty() && column.starts_with("'p'");
            assert_eq!(
                lines.len(),
                usize::from(!message.is_empty() || may_be_doc),
                "{doc}{column}: {lines:?}"
            );
            assert!(lines.iter().all(|line| line.contains(message)), "{doc}{column}: {lines:?}");
        }
    }
}

#[test]
fn texts_of_queries_that_kernels_cannot_see_are_reported() {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE t AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 599),
               r AS (SELECT i / 10 AS q, i % 10 AS d, (i * 7919 + 17) % 1009 / 1009.0 AS x, (i * 104729 + 5) % 997 / 997.0 AS z FROM n)
             SELECT q AS query_id, d AS doc_id, CAST(3 * iif(q % 2, x, 1 - x) AS INTEGER) AS relevance, x, z,
                    q % 2 AS q_kind, substr('abc', 1 + q % 3, 1) AS q_text FROM r",
        )
        .unwrap();
    for (algorithm, options, unseen) in [
        ("auto", json!({"kernel": "gaussian", "effort": 1}), vec!["q_text"]),
        ("rank_svm", json!({"lambda": 1, "interaction": "linear"}), vec!["q_text"]),
        ("rank_svm", json!({"lambda": 1}), vec!["q_kind", "q_text"]),
        ("q_svm", json!({"lambda": 1}), vec![]),
        ("boosted_trees", json!({"trees": 3}), vec![]),
    ] {
        let found = report(&connection, algorithm, &options);
        let lines = found["warnings"].as_array().unwrap().iter().filter_map(Value::as_str);
        let lines: Vec<&str> =
            lines.filter(|line| line.contains("does not use the query features")).collect();
        assert_eq!(lines.len(), usize::from(!unseen.is_empty()), "{algorithm}: {found}");
        for name in ["q_kind", "q_text"] {
            let columns = found["columns"].as_array().unwrap();
            let of = columns.iter().find(|column| column["name"] == name).unwrap();
            let is_unseen = unseen.contains(&name);
            assert_eq!(lines.iter().any(|line| line.contains(name)), is_unseen, "{algorithm}: {lines:?}");
            assert_eq!(
                of["reason"].as_str().unwrap().contains("does not use"),
                is_unseen,
                "{algorithm}: {of}"
            );
        }
    }
}

#[test]
fn roles_that_an_algorithm_does_not_use_are_reported() {
    let connection = database();
    table(&connection, &format!("{DOC}{WIDE}q % 3 AS q_length, d AS slot"));
    for (algorithm, options, unused) in [
        ("rank_svm", json!({"lambda": 1}), vec!["q_length", "slot"]),
        ("q_svm", json!({"lambda": 1}), vec!["slot"]),
        ("boosted_trees", json!({"trees": 3}), vec!["slot"]),
        ("rank_svm", json!({"lambda": 1, "columns": {"ignore": ["q_length", "slot"]}}), vec![]),
    ] {
        let found = report(&connection, algorithm, &options);
        let warnings = found["warnings"].to_string();
        for name in ["q_length", "slot"] {
            assert_eq!(warnings.contains(name), unused.contains(&name), "{algorithm}: {warnings}");
        }
    }
    // Rule 2.2: null takes a role from a column, which becomes a feature.
    table(&connection, &format!("{DOC}{WIDE}y AS weight"));
    let problem =
        connection.query_row("SELECT ltr_train('rank_svm', 't')", [], |_| Ok(())).unwrap_err().to_string();
    assert!(problem.contains(r#"'{"columns": {"weight": null}}'; if it weighs documents, '{"columns": {"doc_weight": "weight"}}'"#), "{problem}");
    for (columns, role) in
        [(json!({"weight": null}), json!(null)), (json!({"doc_weight": "weight"}), json!("weight"))]
    {
        let found = report(&connection, "rank_svm", &json!({"lambda": 1, "columns": columns}));
        assert_eq!(
            (&found["roles"]["weight"], &found["roles"]["doc_weight"], &found["warnings"]),
            (&json!(null), &role, &json!([]))
        );
    }
}

/// One column of each usage: what it is, and in buckets, which take numbers only.
const OF_EACH_USAGE: [(&str, &str, &str); 8] = [
    ("query_id", "role", "role"),
    ("relevance", "role", "role"),
    ("doc_id", "role", "role"),
    ("x", "feature", "feature"),
    ("kind", "category", "left_out"),
    ("sku", "id", "id"),
    ("shop", "left_out", "left_out"),
    ("q_length", "role", "role"),
];

/// Every way to train in SQL reports the same uses of the columns (rule 2.16); an update reports the model's columns.
#[test]
fn every_way_to_train_reports_the_columns() {
    let connection = database();
    let columns =
        "x, iif(y > 0.5, 'a', 'b') AS kind, 'SKU ' || i AS sku, 'main' AS shop, 1 + q % 3 AS q_length";
    table(&connection, &format!("{DOC}{columns}"));
    let usages = |found: &Value| -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let columns = found["columns"].as_array().unwrap_or_else(|| panic!("no columns: {found}"));
        columns.iter().map(|column| (text(&column["name"]), text(&column["usage"]))).collect()
    };
    let expected = |in_buckets: bool| -> Vec<(String, String)> {
        let usage = |(name, usage, bucket): (&str, &str, &str)| {
            (name.to_owned(), if in_buckets { bucket } else { usage }.to_owned())
        };
        OF_EACH_USAGE.map(usage).to_vec()
    };
    for (algorithm, options, in_buckets) in [
        ("rank_svm", json!({"lambda": 1}), false),
        ("rank_svm", json!({"lambda": [0.1, 1], "folds": 2}), false),
        ("q_svm", json!({"lambda": 1}), false),
        ("auto", json!({"effort": 1}), false),
        ("boosted_trees", json!({"trees": 3}), false),
        ("perceptron", json!({"epochs": 1}), false),
        ("rank_svm", json!({"lambda": 1, "buckets": 4}), true),
        ("boosted_trees", json!({"trees": 3, "buckets": 4}), true),
    ] {
        let actual = report(&connection, algorithm, &options);
        assert_eq!(usages(&actual), expected(in_buckets), "{algorithm} {options}");
        // Rule 2.17: packs have no query features, and these algorithms do not use them either.
        let is_unused = in_buckets || matches!(algorithm, "rank_svm" | "perceptron" | "auto");
        let warnings = actual["warnings"].to_string();
        assert_eq!(
            warnings.contains("does not use the query features"),
            is_unused,
            "{algorithm} {options}: {warnings}"
        );
    }
    let text: String = value(&connection, "SELECT ltr_update('perceptron', 't')", []);
    let actual: Value = serde_json::from_str(&text).unwrap();
    let mut of_update = expected(false);
    for column in [5, 7] {
        of_update[column].1 = "left_out".to_owned();
    }
    assert_eq!(usages(&actual), of_update, "{actual}");
    assert_eq!(actual["columns"][7]["reason"], "no feature of the model");
    // Packs know the names that the caller gives.
    let packs = "SELECT ltr_bucket(query_id, 4) AS bucket, ltr_pack(query_id, doc_id, relevance, ltr_vec(x, x * x)) AS rows FROM t GROUP BY 1";
    for (columns, names) in [
        (json!({}), vec!["query_id", "doc_id", "relevance", "features"]),
        (json!({"doc": "sku", "features": ["x", "x2"]}), vec!["query_id", "sku", "relevance", "x", "x2"]),
    ] {
        let options = json!({"lambda": 1, "columns": columns}).to_string();
        let text: String = value(&connection, "SELECT ltr_train('rank_svm', ?1, ?2)", (packs, options));
        let actual = usages(&serde_json::from_str(&text).unwrap());
        assert_eq!(actual.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), names);
        assert_eq!(actual[3].1, if names.len() > 4 { "feature" } else { "role" });
    }
}

/// Proposals for query features are added to those that the call gives.
#[test]
fn proposals_of_query_features_add_up() {
    let connection = database();
    table(&connection, &format!("{DOC}{WIDE}iif(q % 2, 'a', 'b') AS branch, iif(q % 3, 'en', 'de') AS lang"));
    let columns = json!({"query_features": ["branch"]});
    let found = report(&connection, "q_svm", &json!({"lambda": 1, "columns": columns}));
    let both = r#"{\"columns\": {\"query_features\": [\"branch\", \"lang\"]}}"#;
    assert!(found["warnings"].to_string().contains(both), "{found}");
}

/// Rule 4.4: one text that is not a number makes all numbers of a query feature texts, with a warning.
#[test]
fn numbers_among_texts_of_a_query_feature_are_reported() {
    let connection = database();
    for (age, message) in [
        ("CAST(10 + q AS TEXT)", None),
        ("10 + q", None),
        // A text such as NA is a missing value where missing values are allowed.
        ("iif(q IN (3, 4), '', CAST(10 + q AS TEXT))", None),
        ("iif(q IN (3, 4), 'it''s', CAST(10 + q AS TEXT))", Some("such as 'it's'")),
        ("(10 + q) || ',5'", None),
        ("(10 + q) || ' kg'", Some(r#"CAST(replace(\"q_age\", 'kg', '') AS REAL)"#)),
        ("iif(q % 3 < 2, 'adult', CAST(10 + q AS TEXT))", None),
        ("json_array(q, 100)", None),
        ("'2025-01-' || (10 + q)", None),
    ] {
        table(&connection, &format!("{DOC}{WIDE}{age} AS q_age"));
        let found = report(&connection, "boosted_trees", &json!({"trees": 3}));
        let warnings = found["warnings"].to_string();
        assert_eq!(warnings.contains("are compared as texts"), message.is_some(), "{age}: {warnings}");
        assert!(warnings.contains(message.unwrap_or_default()), "{age}: {warnings}");
    }
}

/// Several columns that look meant have one option that ignores them all, and none of them a longer line.
#[test]
fn several_warnings_have_one_option() {
    let connection = database();
    let columns = "printf('%d.%03d EUR', 1 + 9 * y, i) AS price, '40k - ' || i || 'k' AS pay, NULL AS none";
    table(&connection, &format!("{DOC}{WIDE}{columns}"));
    let found = report(&connection, "rank_svm", &json!({"lambda": 1}));
    let lines: Vec<&str> = found["warnings"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(
        lines[0].contains("'EUR', ''), '.', ''), ',', '.') AS REAL) for the form number 1.234,56 EUR"),
        "{lines:?}"
    );
    assert!(lines[1].contains("each text has several numbers"), "{lines:?}");
    let all = r#"'{"columns": {"ignore": ["price", "pay", "none"]}}'"#;
    assert!(lines[3].contains(all) && lines[..3].iter().all(|line| !line.contains("ignore")), "{lines:?}");
    let columns = json!({"ignore": ["price", "pay", "none"]});
    assert_eq!(
        report(&connection, "rank_svm", &json!({"lambda": 1, "columns": columns}))["warnings"],
        json!([])
    );
}

/// A column `rating` is the relevance by its name. It is a property of documents if all their queries have the same.
#[test]
fn a_rating_of_documents_is_reported() {
    let connection = database();
    let train = |rating: &str, options: Value| {
        let sql = format!(
            "DROP TABLE IF EXISTS t;
             CREATE TABLE t AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 199)
             SELECT i / 10 AS query_id, i * 7 % 23 AS doc_id, {rating} AS rating, i * i % 31 AS x, 5 * i % 9 AS clicks FROM n"
        );
        connection.execute_batch(&sql).unwrap();
        report(&connection, "rank_svm", &options)["warnings"].to_string()
    };
    let message = "each document has one rating in all its queries";
    assert!(train("i * 7 % 23 % 5", json!({"lambda": 1})).contains(message));
    for (rating, options) in [
        ("i * 7 % 23 % 5", json!({"lambda": 1, "columns": {"relevance": "rating"}})),
        ("i * 7 % 23 % 5", json!({"lambda": 1, "columns": {"relevance": "clicks"}})),
        ("i * 13 % 5", json!({"lambda": 1})),
        ("i = 3", json!({"lambda": 1})),
    ] {
        assert!(!train(rating, options).contains(message), "{rating}");
    }
}

#[test]
fn counts_among_ratings_and_sums_without_end_are_reported() {
    let connection = database();
    let train = |algorithm: &str, rating: &str, feature: &str| {
        let sql = format!(
            "DROP TABLE IF EXISTS t;
             CREATE TABLE t AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 199)
             SELECT i / 10 AS user_id, i * 7 % 23 AS item_id, {rating} AS rating, {feature} AS x FROM n"
        );
        connection.execute_batch(&sql).unwrap();
        let sql = "SELECT ltr_train(?1, 't', '{\"lambda\": 1}')";
        let found: rusqlite::Result<String> = connection.query_row(sql, [algorithm], |row| row.get(0));
        found.unwrap_or_else(|problem| problem.to_string())
    };
    for (rating, is_reported) in [
        ("iif(i % 9 = 0, 60, 1 + i % 3)", true),
        ("iif(i % 9 = 0, 4000, 1)", true),
        ("1 + i % 5", false),
        ("1 + i * 13 % 100", false),
        ("iif(i % 9 = 0, 60.5, 1.5)", false),
    ] {
        assert_eq!(train("cofi_rank", rating, "i").contains("implicit"), is_reported, "{rating}");
    }
    let problem = train("rank_svm", "i % 3", "1.7e308 - i");
    assert!(problem.contains("\"x\" are too large: their mean is infinite"), "{problem}");
}

/// A random source: the columns of SQL, the name of a planted column that decides the relevance, and whether it has holes.
fn random_source(random: &mut Random, is_clean: bool) -> (String, Option<String>) {
    let mut columns = String::new();
    if is_clean || random.below(4) > 0 {
        columns += DOC;
    }
    let is_vector = random.below(3) == 0;
    columns += if is_vector { VECTOR } else { WIDE };
    let numbers = [
        "x * 3",
        "CAST(100 * y AS INTEGER)",
        "i * i % 311",
        "1990 + i * 31 % 37",
        "d % 2",
        "(x - 0.5) * 1e6",
        "1 + d",
    ];
    for number in 0..random.below(4) {
        if is_vector {
            break;
        }
        write!(columns, "{} AS f{number}, ", numbers[random.below(numbers.len())]).unwrap();
    }
    if is_clean {
        return (columns.trim_end_matches(", ").to_owned(), None);
    }
    let planted: Vec<&str> =
        MEANT.iter().filter(|(.., message)| !message.is_empty()).map(|(_, column, ..)| *column).collect();
    let planted = planted[random.below(planted.len())];
    let names = ["price", "kind", "a b", "Größe", "x\"y", "note", "is", "t.c", "features2", "Brand"];
    let name = names[random.below(names.len())];
    let value = if random.below(3) == 0 {
        format!("nullif({planted}, iif(i % 11 = 3, {planted}, NULL))")
    } else {
        planted.to_owned()
    };
    write!(columns, "{value} AS \"{}\"", name.replace('"', "\"\"")).unwrap();
    (columns, Some(name.to_owned()))
}

/// No signal is lost without a line, no column without a usage, and clean sources have no warning. With `LTR_LONG=1` a
/// thousand tables of each.
#[test]
fn usages_of_random_sources() {
    let connection = database();
    let mut random = Random::new(36);
    for round in 0..if is_long() { 1000 } else { 40 } {
        let (columns, planted) = random_source(&mut random, false);
        table(&connection, &columns);
        let found = report(&connection, "rank_svm", &json!({"lambda": 1, "missing": "mean"}));
        let names: String =
            value(&connection, "SELECT json_group_array(name) FROM pragma_table_info('t')", []);
        let usages = found["columns"].as_array().unwrap();
        let named: Vec<&Value> = usages.iter().map(|column| &column["name"]).collect();
        assert_eq!(json!(named).to_string(), names);
        let planted = planted.unwrap();
        let last = &usages[usages.len() - 1];
        let quoted = format!("\"{planted}\"");
        let lines = found["warnings"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|line| line.as_str().unwrap().contains(&quoted));
        let is_reported = lines.count() == 1 || last["usage"] == "feature" || last["usage"] == "category";
        assert!(is_reported, "{round}: {columns}: {last} {}", found["warnings"]);
        // 2. A clean source.
        let (columns, _) = random_source(&mut random, true);
        table(&connection, &columns);
        let found = report(&connection, "rank_svm", &json!({"lambda": 1}));
        let about = |line: &&Value| {
            line.as_str().unwrap().contains("column") || line.as_str().unwrap().contains("ignore")
        };
        let alarms: Vec<&Value> = found["warnings"].as_array().unwrap().iter().filter(about).collect();
        assert!(alarms.is_empty(), "{round}: {columns}: {alarms:?}");
    }
}
