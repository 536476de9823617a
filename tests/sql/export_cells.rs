//! Exported SQL gives every cell of a table the score of `ltr_rank`, or NULL where `ltr_rank` refuses it (rule 9.9): values of
//! every kind, in columns of every type, for every kind of model.

use rusqlite::Connection;
use serde_json::{Value, json};

use super::support::{database, value};

const TYPES: [&str; 5] = ["TEXT", "INTEGER", "REAL", "NUMERIC", ""];

/// Values as SQL writes them.
const CELLS: [&str; 54] = [
    "NULL",
    "0",
    "3",
    "-7",
    "10",
    "0.25",
    "4.99",
    "-0.0",
    "1e-36",
    "1e300",
    "-1e300",
    "9e999",
    "-9e999",
    "9007199254740993",
    "9007199254740994",
    "9007199254740994.0",
    "10000000000000000",
    "1e16",
    "9223372036854775807",
    "4294967295",
    "'3'",
    "'7'",
    "'10'",
    "'40'",
    "'.3'",
    "'5.'",
    "'+5'",
    "'-0'",
    "' 10'",
    "'10 '",
    "char(9, 49, 11, 12, 13, 10)",
    "char(160) || '10'",
    "char(8195) || '10'",
    "'1e1'",
    "'1E3'",
    "'1e'",
    "'1e400'",
    "'1e-400'",
    "'0x10'",
    "'1_0'",
    "'1,5'",
    "'10abc'",
    "'abc'",
    "'inf'",
    "'nan'",
    "''",
    "' '",
    "'.'",
    "'10' || char(0)",
    "x'3130'",
    "x''",
    "CAST(x'ff31' AS TEXT)",
    "'red'",
    "'9007199254740993'",
];

/// Rows with two numbers and two categories, the second with means.
const JUDGED: &str = "CREATE TABLE judged AS
    WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 599)
    SELECT i / 12 AS query_id, i AS doc_id, ((i * 7919) % 101 > 40) + ((i * 31) % 11 > 5) + (i % 23 > 11) AS relevance,
           (i * 7919) % 101 / 7.0 AS a, (i * 31) % 11 AS b,
           CASE i % 9 WHEN 0 THEN 'red' WHEN 1 THEN '10' WHEN 2 THEN 'it''s' WHEN 3 THEN '' WHEN 4 THEN 9007199254740993
           WHEN 5 THEN 9007199254740994 WHEN 6 THEN 10000000000000000 WHEN 7 THEN 'inf' END AS color, 'maker ' || (i % 23) AS maker
    FROM n";

/// A table of each type with a row for each cell in each column; the other columns have a value that is accepted. Each row is a
/// query. Returns the number of rows.
fn fill(connection: &Connection, kind: &str, columns: &[&str]) -> usize {
    let types: Vec<String> = columns.iter().map(|column| format!("{column} {kind}")).collect();
    let create = format!(
        "DROP TABLE IF EXISTS cells; CREATE TABLE cells(query_id, doc_id INTEGER PRIMARY KEY, {})",
        types.join(", ")
    );
    connection.execute_batch(&create).unwrap();
    for column in columns {
        for cell in CELLS {
            let values: Vec<&str> =
                columns.iter().map(|other| if other == column { cell } else { "1" }).collect();
            let insert = format!(
                "INSERT INTO cells SELECT 1 + count(*), 1 + count(*), {} FROM cells",
                values.join(", ")
            );
            connection.execute_batch(&insert).unwrap();
        }
    }
    columns.len() * CELLS.len()
}

/// Whether a cell of a row is a text that marks a missing value.
fn has_mark(connection: &Connection, row: i64) -> bool {
    let columns: String =
        value(connection, "SELECT group_concat(name) FROM pragma_table_info('cells') WHERE cid > 1", []);
    columns.split(',').any(|column| {
        let sql = format!("SELECT typeof(\"{column}\") = 'text' AND lower(trim(\"{column}\", char(32, 9, 10, 160))) IN ('', '.', 'nan') FROM cells WHERE doc_id = ?1");
        value(connection, &sql, [row])
    })
}

/// Compares all rows of `cells`; returns how many have a score.
fn compare(connection: &Connection, model: &str, sql: &str, what: &str) -> usize {
    let mut expressions = connection
        .prepare(&format!("SELECT doc_id, {sql} FROM cells ORDER BY doc_id"))
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    let actual: Vec<(i64, Option<f64>)> = expressions
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    let mut rank = connection
        .prepare("SELECT score FROM ltr_rank(?1, 'SELECT * FROM cells WHERE doc_id = ?1', NULL, ?2)")
        .unwrap();
    let mut scored = 0;
    for (row, score) in actual {
        let expected: Result<f64, _> = rank.query_row((model, row), |row| row.get(0));
        let same = match (&expected, score) {
            (Ok(expected), Some(score)) => (expected - score).abs() <= 1e-6 * expected.abs().max(1.0),
            (Err(_), None) => true,
            // Rule 3.9: a text such as NA is a missing value; SQL takes NULL alone.
            (Ok(_), None) => has_mark(connection, row),
            // SQL cannot recognize invalid UTF-8: in a category it is a different value.
            (Err(problem), Some(_)) => {
                problem.to_string().contains(": text '\u{fffd}1'; a category may have UTF-8 text")
            }
        };
        scored += usize::from(same && expected.is_ok());
        if !same {
            let shown: String =
                value(connection, "SELECT json_group_array(name) FROM pragma_table_info('cells')", []);
            let columns: Vec<String> = serde_json::from_str(&shown).unwrap();
            let columns: Vec<String> =
                columns.iter().map(|name| format!("typeof({name}) || ' ' || quote({name})")).collect();
            let shown = format!("SELECT {} FROM cells WHERE doc_id = {row}", columns.join(" || ', ' || "));
            let shown: String = value(connection, &shown, []);
            panic!("{what}: {shown}: SQL {score:?}, ltr_rank {expected:?}");
        }
    }
    scored
}

/// Compares in columns of each type.
fn compare_types(connection: &Connection, model: &str, columns: &[&str]) {
    let sql: String = value(connection, "SELECT ltr_export(?1, 'sql')", [model]);
    for kind in TYPES {
        let rows = fill(connection, kind, columns);
        let what = format!("{model}, type '{kind}'");
        let scored = compare(connection, model, &sql, &what);
        assert!(scored >= 10 && scored < rows, "{what}: {scored} of {rows}");
    }
}

#[test]
fn trained_models_score_cells_of_every_kind() {
    let connection = database();
    connection.execute_batch(JUDGED).unwrap();
    let numbers = "SELECT query_id, doc_id, relevance, a, b FROM judged";
    let all = "judged";
    let (two, four): (&[&str], &[&str]) = (&["a", "b"], &["a", "b", "color", "maker"]);
    let mut models: Vec<(&str, &str, Value, &[&str])> = vec![
        ("regression", all, json!({}), four),
        ("rank_svm", all, json!({ "missing": "mean", "form": "ranking" }), four),
        ("boosted_trees", all, json!({ "trees": 3, "depth": 3, "missing": "branch" }), four),
        ("boosted_trees", all, json!({ "trees": 3, "depth": 3, "missing": "error" }), four),
        ("boosted_trees", numbers, json!({ "trees": 3, "missing": "mean", "scale": "quantile" }), two),
        ("boosted_trees", numbers, json!({ "trees": 3, "missing": "zero", "scale": "standard" }), two),
        ("lambdamart", numbers, json!({ "trees": 3, "missing": "branch" }), two),
        ("perceptron", numbers, json!({}), two),
        ("rank_svm", numbers, json!({ "scale": "quantile_minmax", "form": "ranking" }), two),
        ("list_net", numbers, json!({ "scale": "quantile" }), two),
        ("auto", numbers, json!({ "effort": 1 }), two),
    ];
    for scale in ["none", "standard", "max_norm", "quantile", "query_minmax", "quantile_minmax"] {
        for missing in ["error", "zero", "mean"] {
            models.push(("rank_svm", numbers, json!({ "scale": scale, "missing": missing }), two));
        }
    }
    for (algorithm, source, mut options, columns) in models {
        let name = format!("{algorithm} {options}");
        options["name"] = json!(name);
        if columns.len() == 4 {
            options["columns"] = json!({ "categories": ["color", "maker"] });
        }
        if ["rank_svm", "regression", "list_net"].contains(&algorithm) {
            options["lambda"] = json!(0.1);
        }
        let _: String =
            value(&connection, "SELECT ltr_train(?1, ?2, ?3)", (algorithm, source, options.to_string()));
        compare_types(&connection, &name, columns);
    }
}

#[test]
fn imported_models_score_cells_of_every_kind() {
    let connection = database();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/imported");
    let files =
        ["", "/small"].into_iter().flat_map(|part| std::fs::read_dir(format!("{folder}{part}")).unwrap());
    let mut compared = 0;
    for file in files.map(|file| file.unwrap().path()) {
        let name = file.file_name().unwrap().to_str().unwrap();
        if file.is_dir() || ["expected.json", "generate.py"].contains(&name) {
            continue;
        }
        let options = json!({ "name": name }).to_string();
        let text = std::fs::read_to_string(&file).unwrap();
        let report: String = value(&connection, "SELECT ltr_import(?1, ?2)", (text, options));
        let report: Value = serde_json::from_str(&report).unwrap();
        let columns: Vec<String> = report["features"]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| format!("`{}`", name.as_str().unwrap()))
            .collect();
        compare_types(&connection, name, &columns.iter().map(String::as_str).collect::<Vec<&str>>());
        compared += 1;
    }
    assert!(compared >= 15, "{compared} models");
    // Categories are codes, or 0 counts as missing.
    let codes = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=1\nobjective=regression\n\
        feature_names=a b\nfeature_infos=1:3:10 [0:9]\n\nTree=0\nnum_leaves=3\nnum_cat=1\nsplit_feature=0 1\nthreshold=0 0.5\n\
        decision_type=9 4\nleft_child=1 -2\nright_child=-1 -3\nleaf_value=1 2 4\ncat_boundaries=0 1\ncat_threshold=1032\n\n\
        end of trees\n";
    let _: String = value(&connection, "SELECT ltr_import(?1, '{\"name\": \"codes\"}')", [codes]);
    compare_types(&connection, "codes", &["a", "b"]);
}

#[test]
fn vectors_are_json_arrays_of_numbers() {
    let connection = database();
    connection.execute_batch(JUDGED).unwrap();
    let source = "SELECT query_id, doc_id, relevance, json_array(a, b) AS features FROM judged";
    let vectors = [
        "[3, 4]",
        "[\"3\", 4]",
        "[\" 3 \", \"1e1\"]",
        "[null, 4]",
        "[null, null]",
        "[true, 4]",
        "[3, false]",
        "[\"true\", 1]",
        "[[1], 2]",
        "[{}, 2]",
        "[\"abc\", 2]",
        "[\"\", 2]",
        "[1e400, 2]",
        "[-0.0, 1e300]",
        "[9007199254740993, 2]",
        "[1]",
        "[1, 2, 3]",
        "[]",
        "{}",
        "{\"a\": 1, \"b\": 2}",
        "[1, 2",
        "3",
        "abc",
        "",
        " [1, 2] ",
        "[1, 2] 3",
        "[0x10, 2]",
        "[1, +2]",
        "[.5, 2]",
        "[NaN, 2]",
        "[1, 2,]",
    ];
    for missing in ["error", "zero", "mean", "branch"] {
        let algorithm = if missing == "branch" { "boosted_trees" } else { "rank_svm" };
        let mut options = json!({ "name": missing, "missing": missing });
        options[if missing == "branch" { "trees" } else { "lambda" }] = json!(1);
        let _: String =
            value(&connection, "SELECT ltr_train(?1, ?2, ?3)", (algorithm, source, options.to_string()));
        let sql: String = value(&connection, "SELECT ltr_export(?1, 'sql')", [missing]);
        connection
            .execute_batch("DROP TABLE IF EXISTS cells; CREATE TABLE cells(query_id, doc_id INTEGER PRIMARY KEY, features)")
            .unwrap();
        for vector in vectors {
            connection.execute("INSERT INTO cells(query_id, features) VALUES (1, ?1)", [vector]).unwrap();
        }
        connection.execute_batch("INSERT INTO cells(features) VALUES (NULL), (12)").unwrap();
        connection.execute_batch("UPDATE cells SET query_id = doc_id").unwrap();
        let scored = compare(&connection, missing, &sql, missing);
        assert!(scored >= 6, "{missing}: {scored}");
    }
}

/// Scores within queries depend on all rows of the query.
#[test]
fn a_refused_row_refuses_its_query_if_scores_depend_on_it() {
    let connection = database();
    connection.execute_batch(JUDGED).unwrap();
    let source = "SELECT query_id, doc_id, relevance, a, b FROM judged";
    for (options, others) in [
        (json!({ "lambda": 0.1, "scale": "query_minmax" }), 0),
        (json!({ "lambda": 0.1, "form": "ranking" }), 0),
        (json!({ "lambda": 0.1 }), 2),
    ] {
        let sql = "SELECT ltr_export(ltr_fit('rank_svm', ?1, ?2), 'sql')";
        let sql: String = value(&connection, sql, (source, options.to_string()));
        for cell in ["NULL", "'abc'", "x'31'", "9e999"] {
            let counted = format!(
                "SELECT count(score) FROM (SELECT {sql} AS score FROM (SELECT 1 AS query_id, {cell} AS a, 1 AS b
                 UNION ALL VALUES (1, 2, 3), (1, 3, '1')))"
            );
            assert_eq!(value::<i64>(&connection, &counted, []), others, "{cell}, {options}");
        }
    }
}

/// LightGBM writes the codes of ordered categories as numbers.
#[test]
fn a_category_that_is_compared_with_a_number_is_refused() {
    let connection = database();
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/imported/lightgbm.json"));
    let mut document: Value = serde_json::from_str(&text.unwrap()).unwrap();
    let nodes = document["tree_info"][0]["tree_structure"].as_object_mut().unwrap();
    let brand = 2;
    nodes.insert("split_feature".to_owned(), json!(brand));
    nodes.insert("decision_type".to_owned(), json!("<="));
    nodes.insert("threshold".to_owned(), json!(0.5));
    let imported = connection.query_row("SELECT ltr_import(?1)", [document.to_string()], |_| Ok(()));
    let refused =
        imported.and_then(|()| connection.query_row("SELECT ltr_export('imported', 'sql')", [], |_| Ok(())));
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("tree 0") && error.contains("'brand") && error.contains("number"), "{error}");
}
