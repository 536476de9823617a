//! Rule 3.9: prices, percentages, dates and durations in text as features, from training to ranking and exports.

use rusqlite::Connection;
use serde_json::{Value, json};

use super::support::{database, value};

/// 30 queries of 8 documents. The relevance rises with `x`, a number from 0 to 239, which `{text}` writes.
fn rows(connection: &Connection, text: &str) {
    let sql = format!(
        "CREATE TABLE plain AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 239),
             shuffled AS (SELECT i, i * 77 % 240 AS x FROM n)
         SELECT i / 8 AS query_id, i % 8 AS doc_id, x / 60 AS relevance, x AS v, i * 31 % 17 AS w FROM shuffled;
         CREATE TABLE written AS SELECT query_id, doc_id, relevance, {text} AS v, w FROM (SELECT *, v AS x FROM plain)"
    );
    connection.execute_batch(&sql).unwrap();
}

fn train(connection: &Connection, algorithm: &str, source: &str, options: &Value) -> Value {
    let sql = "SELECT ltr_train(?1, ?2, ?3)";
    let text: String = value(connection, sql, (algorithm, source, options.to_string()));
    serde_json::from_str(&text).unwrap()
}

fn problem(connection: &Connection, sql: &str) -> String {
    connection.query_row(sql, [], |_| Ok(())).unwrap_err().to_string()
}

fn column(report: &Value, name: &str) -> Value {
    let columns = report["columns"].as_array().unwrap();
    columns.iter().find(|column| column["name"] == name).unwrap().clone()
}

/// SQL that writes the number `x`, the name of the form, and the number that `x` becomes.
const FORMS: &[(&str, &str, &str)] = &[
    ("printf('$%,d.50', 100 * x)", "number $ 1,234.56", "100 * v + 0.5"),
    ("replace(printf('%d.5 EUR', x), '.', ',')", "number 1234,56 EUR", "v + 0.5"),
    ("printf('%d.25 %%', x)", "number 1234.56 %", "v + 0.25"),
    ("printf('%s%d.5', char(8722), x)", "number 1234.56", "-v - 0.5"),
    ("printf('%d:%02d:07', x / 7, x % 7)", "duration h:mm:ss", "v / 7 * 3600 + v % 7 * 60 + 7"),
    ("printf('%dh %dm', x / 7, x % 7)", "duration 1h 47m", "v / 7 * 3600 + v % 7 * 60"),
    ("date('2024-01-01', x || ' days')", "date Y-m-d", "19723 + v"),
    ("datetime('2024-01-01', x || ' hours') || 'Z'", "date Y-m-d", "19723 + v / 24.0"),
    ("strftime('%d.%m.%Y', '2024-01-01', x || ' days')", "date d.m.Y", "19723 + v"),
    ("strftime('%m/%d/%Y', '2024-01-01', x || ' days')", "date m/d/Y", "19723 + v"),
];

/// Those that one expression of SQL converts.
const SIMPLE: [&str; 6] = [FORMS[0].0, FORMS[1].0, FORMS[2].0, FORMS[6].0, FORMS[8].0, FORMS[9].0];

#[test]
fn a_text_scores_as_its_number_through_every_door() {
    for (text, form, number) in FORMS {
        let connection = database();
        rows(&connection, text);
        let converted = format!("SELECT query_id, doc_id, relevance, {number} AS v, w FROM plain");
        for algorithm in ["rank_svm", "boosted_trees", "knn_svm"] {
            let mut options = json!({"name": "texts", "lambda": 0.01, "scale": "standard"});
            if algorithm == "boosted_trees" {
                options = json!({"name": "texts", "trees": 10});
            }
            let report = train(&connection, algorithm, "written", &options);
            assert_eq!(column(&report, "v")["form"], json!(form), "{text}");
            assert_eq!(column(&report, "v")["usage"], json!("feature"), "{text}");
            options["name"] = json!("numbers");
            train(&connection, algorithm, &converted, &options);
            // 1. Rankings of texts and of numbers by both models.
            let differs = |model: &str, source: &str, other: &str| -> f64 {
                let sql = "SELECT max(abs(a.score - b.score)) FROM ltr_rank(?1, ?2) AS a JOIN ltr_rank('numbers', ?3) AS b \
                           USING (query_id, doc_id)";
                value(&connection, sql, (model, source, other))
            };
            assert!(differs("texts", "written", &converted) < 1e-9, "{text} {algorithm}");
            assert!(differs("texts", &converted, &converted) < 1e-9, "{text} {algorithm}");
            // 2. Scores and explanations of one document.
            if algorithm != "knn_svm" {
                let sql = "SELECT max(abs(ltr_score('texts', json_array(v, w)) - score)) FROM written JOIN \
                           ltr_rank('texts', 'written') USING (query_id, doc_id)";
                assert!(value::<f64>(&connection, sql, []) < 1e-9, "{text} {algorithm}");
                let sql = "SELECT abs(sum(contribution) - ltr_score('texts', json_array(v, w))) FROM written, \
                           ltr_explain('texts', json_array(v, w)) WHERE query_id = 1 AND doc_id = 2";
                assert!(value::<f64>(&connection, sql, []) < 1e-9, "{text} {algorithm}");
                // 3. Exports.
                for format in ["sql", "xgboost", "solr", "elasticsearch", "opensearch"] {
                    let refused = problem(&connection, &format!("SELECT ltr_export('texts', '{format}')"));
                    assert!(refused.contains("\"v\"") && refused.contains(form), "{format}: {refused}");
                    let sql = between(&refused, "convert it in the source, as in ", ", and train again");
                    assert_eq!(sql.is_some(), SIMPLE.contains(text), "{refused}");
                    let Some(sql) = sql else { continue };
                    let sql = format!(
                        "SELECT max(abs({sql} - number)) FROM written JOIN (SELECT query_id, doc_id, {number} AS number FROM plain) \
                         USING (query_id, doc_id)"
                    );
                    assert!(value::<f64>(&connection, &sql, []) < 1e-9, "{sql}");
                }
                let json: String = value(&connection, "SELECT ltr_export('texts', 'json')", []);
                let _: String = value(&connection, "SELECT ltr_import(?1, '{\"name\": \"copy\"}')", [json]);
                assert!(differs("copy", "written", &converted) < 1e-9, "{text} {algorithm}");
            }
        }
        // 4. Monitoring and evaluation read the same form.
        let ndcg: f64 = value(
            &connection,
            "SELECT value FROM ltr_evaluate('texts', 'written') WHERE metric = 'ndcg@10' AND query_id IS NULL",
            [],
        );
        assert!(ndcg > 0.0);
        let drift: i64 =
            value(&connection, "SELECT count(*) FROM ltr_monitor('texts', 'written') WHERE name = 'v'", []);
        assert!(drift > 0);
    }
}

#[test]
fn texts_that_may_mean_two_things_are_left_out_with_a_reason() {
    for (text, reason) in [
        ("printf('%d,%03d', 1 + x / 100, x)", "whether a mark separates thousands or decimals"),
        ("strftime('%m/%d/%Y', '2024-01-01', (x % 12) || ' days')", "the order of day, month and year"),
        ("printf('%dK', x)", "words or a unit"),
        ("printf('%d kg', x)", "words or a unit"),
        ("iif(x % 2, 'R', 'D') || printf(' +%d.5', x)", "words or a unit"),
        ("iif(x % 9, iif(x % 2, 'R', 'D') || '+' || x, 'EVEN')", "words or a unit"),
        ("iif(x % 9, printf('%d kg', x), 'N/A')", "words or a unit"),
        ("iif(x % 2, '$', '\u{20ac}') || x", "several currencies"),
        ("printf('%d-%d', x, x + 10)", "several numbers"),
        ("printf('POINT (%d %d)', x, x % 7)", "several numbers"),
        ("printf('[%d %d]', x, x % 7)", "lists"),
        ("iif(x < 24, 'unknown', '$' || x)", "other texts have a different form"),
    ] {
        let connection = database();
        rows(&connection, text);
        let report = train(&connection, "rank_svm", "written", &json!({"lambda": 0.01}));
        let warnings = report["warnings"].to_string();
        assert_eq!(column(&report, "v")["usage"], json!("left_out"), "{text}");
        assert!(column(&report, "v")["reason"].to_string().contains(reason), "{text}: {report}");
        assert!(warnings.contains("\\\"v\\\"") && warnings.contains(reason), "{text}: {warnings}");
    }
}

#[test]
fn options_choose_the_columns_and_missing_allows_a_few_other_texts() {
    let connection = database();
    rows(&connection, "'$' || x");
    for columns in [json!({"quantities": "none"}), json!({"quantities": ["w"]})] {
        let report = train(&connection, "rank_svm", "written", &json!({"lambda": 0.01, "columns": columns}));
        assert_eq!(column(&report, "v")["usage"], json!("left_out"));
    }
    for columns in [json!({"quantities": ["v"]}), json!({"features": ["v", "w"]})] {
        let report = train(&connection, "rank_svm", "written", &json!({"lambda": 0.01, "columns": columns}));
        assert_eq!(column(&report, "v")["form"], json!("number $ 1234.56"));
    }
    let category = json!({"lambda": 0.01, "columns": {"categories": ["v"]}});
    let refused = connection
        .query_row("SELECT ltr_train('rank_svm', 'written', ?1)", [category.to_string()], |_| Ok(()))
        .unwrap_err();
    assert!(refused.to_string().contains("no value with 3 rows in 2 queries"), "{refused}");
    let unknown = problem(
        &connection,
        r#"SELECT ltr_train('rank_svm', 'written', '{"columns": {"quantities": ["price"]}}')"#,
    );
    assert!(unknown.contains("price"), "{unknown}");
    // NULL is not a text of the form.
    let source = "SELECT query_id, doc_id, relevance, iif(doc_id = 3, NULL, v) AS v, w FROM written";
    let report = train(&connection, "rank_svm", source, &json!({"lambda": 0.01}));
    assert_eq!(column(&report, "v")["usage"], json!("left_out"));
    assert!(report["warnings"].to_string().contains("use the option \\\"missing\\\" to read it"), "{report}");
    let report = train(&connection, "rank_svm", source, &json!({"lambda": 0.01, "missing": "mean"}));
    assert_eq!(column(&report, "v")["form"], json!("number $ 1234.56"));
    // A text of another form in 12 of 240 rows.
    connection.execute_batch("UPDATE written SET v = '?' WHERE query_id < 12 AND doc_id = 3").unwrap();
    let report = train(&connection, "rank_svm", "written", &json!({"lambda": 0.01, "missing": "zero"}));
    assert_eq!(
        (&report["missing_filled"], &column(&report, "v")["facts"]["missing"]),
        (&json!(12), &json!(12))
    );
    let ranked: i64 = value(&connection, "SELECT count(*) FROM ltr_rank('rank_svm', 'written')", []);
    let score: f64 = value(&connection, "SELECT ltr_score('rank_svm', '[\"?\", 1]')", []);
    assert_eq!((ranked, score.is_finite()), (240, true));
    // Without missing values a text of another form is an error, in rows and in arguments.
    connection.execute_batch("UPDATE written SET v = '$7' WHERE v = '?'").unwrap();
    train(&connection, "rank_svm", "written", &json!({"lambda": 0.01}));
    for sql in [
        "SELECT count(*) FROM ltr_rank('rank_svm', 'SELECT 1 AS query_id, 1 AS doc_id, ''7 kg'' AS v, 1 AS w')",
        "SELECT ltr_score('rank_svm', '[\"7 kg\", 1]')",
    ] {
        let refused = problem(&connection, sql);
        assert!(refused.contains("7 kg"), "{refused}");
    }
}

/// The text between two others.
fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    Some(text.split_once(start)?.1.split_once(end)?.0)
}

fn warning(report: &Value) -> String {
    let lines = report["warnings"].as_array().unwrap().iter().filter_map(Value::as_str);
    lines.filter(|line| line.contains("\"v\"")).collect()
}

#[test]
fn texts_that_mark_missing_values_are_missing_with_the_option() {
    for mark in ["NA", "n/a", "-", "--", "None", "null", "NaN", "?", "", " N/A "] {
        for text in ["x", "x / 7.0", "printf('$%d.50', x)", "x || ' %'", "date('2024-01-01', x || ' days')"] {
            let connection = database();
            rows(&connection, &format!("iif(x % 5 = 1, '{mark}', {text})"));
            // 1. Without it the message names it, or SQL that makes the texts NULL.
            let plain = json!({"lambda": 0.01});
            if text.starts_with("x /") || text == "x" {
                let refused = connection
                    .query_row("SELECT ltr_train('rank_svm', 'written', ?1)", [plain.to_string()], |_| Ok(()))
                    .unwrap_err()
                    .to_string();
                assert!(
                    refused.contains("option \"missing\"") && !refused.contains("categories"),
                    "{mark}: {refused}"
                );
            } else {
                let warning = warning(&train(&connection, "rank_svm", "written", &plain));
                let sql = between(&warning, "NULL in the source, as in ", ", with the option").unwrap();
                assert_eq!(sql, format!("nullif(\"v\", '{mark}')"), "{text}");
                assert!(
                    warning.contains("or use the option \"missing\", which makes them missing"),
                    "{warning}"
                );
            }
            // 2. With it they are NULL, in the training and in what reads rows later.
            let options = json!({"lambda": 0.01, "missing": "mean", "name": "marks"});
            let report = train(&connection, "rank_svm", "written", &options);
            assert_eq!(column(&report, "v")["usage"], "feature", "{mark} {text}: {report}");
            assert_eq!(column(&report, "v")["facts"]["missing"], 48, "{mark} {text}");
            let nulls =
                format!("SELECT query_id, doc_id, relevance, nullif(v, '{mark}') AS v, w FROM written");
            train(
                &connection,
                "rank_svm",
                &nulls,
                &json!({"lambda": 0.01, "missing": "mean", "name": "nulls"}),
            );
            let sql = "SELECT max(abs(a.score - b.score)) FROM ltr_rank('marks', 'written') AS a JOIN \
                       ltr_rank('nulls', ?1) AS b USING (query_id, doc_id)";
            assert!(value::<f64>(&connection, sql, [&nulls]) < 1e-12, "{mark} {text}");
            let alone = format!("SELECT 1 AS query_id, 1 AS doc_id, '{mark}' AS v, 1 AS w");
            let score: f64 = value(&connection, "SELECT score FROM ltr_rank('marks', ?1)", [alone]);
            assert!(score.is_finite());
        }
    }
}

#[test]
fn a_column_of_mostly_quantities_reports_how_it_is_read() {
    for (text, form, _) in FORMS {
        // One text in three has another form: two such texts, and more than SQL lists.
        for others in ["iif(x % 2, 'Free', 'call us')", "'from shop ' || char(65 + x % 26)"] {
            let connection = database();
            rows(&connection, &format!("iif(x % 3 = 1, {others}, {text})"));
            let report = train(&connection, "rank_svm", "written", &json!({"lambda": 0.01}));
            let warning = warning(&report);
            let read = |source: &str, columns: Value| {
                let mut options = json!({"lambda": 0.01, "missing": "zero"});
                options.as_object_mut().unwrap().extend(columns.as_object().cloned().unwrap_or_default());
                let report = train(&connection, "rank_svm", source, &options);
                let column = column(&report, "v");
                assert_eq!(
                    (&column["form"], &column["facts"]["missing"]),
                    (&json!(form), &json!(80)),
                    "{text}"
                );
            };
            let options = between(&warning, "and the options '", "'").unwrap();
            read("written", serde_json::from_str(options).unwrap());
            let sql = between(&warning, "NULL in the source, as in ", ", with the option");
            assert_eq!(sql.is_some(), others.contains("Free"), "{warning}");
            if let Some(sql) = sql {
                let source = format!("SELECT query_id, doc_id, relevance, {sql} AS v, w FROM written");
                read(&source, json!({}));
            }
        }
    }
    // As a category it is also reported.
    let connection = database();
    rows(&connection, "iif(x % 3 = 1, 'Free', '$' || (x % 7))");
    let report = train(&connection, "rank_svm", "written", &json!({"lambda": 0.01}));
    assert_eq!(column(&report, "v")["usage"], "category", "{report}");
    let warning = self::warning(&report);
    assert!(warning.contains("CASE WHEN") || warning.contains("nullif(\"v\", 'Free')"), "{warning}");
    let kept = between(&warning, "keep it a category, use the options '", "'").unwrap();
    let mut options: Value = serde_json::from_str(kept).unwrap();
    options["lambda"] = json!(0.01);
    assert_eq!(self::warning(&train(&connection, "rank_svm", "written", &options)), "");
}

#[test]
fn words_among_numbers_have_sql_that_was_tried() {
    let connection = database();
    rows(&connection, "iif(x % 9 = 1, 'it''s free', x)");
    let refused = problem(&connection, "SELECT ltr_train('rank_svm', 'written')");
    let sql = between(&refused, "well-formed number; ", " in the source").unwrap();
    let source = format!("SELECT query_id, doc_id, relevance, {sql} AS v, w FROM written");
    let report = train(&connection, "rank_svm", &source, &json!({"lambda": 0.01, "missing": "mean"}));
    assert_eq!((&column(&report, "v")["usage"], &report["missing_filled"]), (&json!("feature"), &json!(27)));
}

#[test]
fn query_features_in_text_are_numbers() {
    let connection = database();
    rows(&connection, "x");
    let source = "SELECT *, '$' || (query_id * 100) || '.50' AS q_budget FROM plain";
    let number = "SELECT *, query_id * 100 + 0.5 AS q_budget FROM plain";
    let options = json!({"name": "texts", "lambda": 0.01, "neighbors": 5});
    let report = train(&connection, "knn_svm", source, &options);
    assert_eq!(column(&report, "q_budget")["form"], json!("number $ 1234.56"));
    train(&connection, "knn_svm", number, &json!({"name": "numbers", "lambda": 0.01, "neighbors": 5}));
    let sql = "SELECT max(abs(a.score - b.score)) FROM ltr_rank('texts', ?1) AS a JOIN ltr_rank('numbers', ?2) AS b \
               USING (query_id, doc_id)";
    assert!(value::<f64>(&connection, sql, (source, number)) < 1e-9);
    let scores: (f64, f64) = connection
        .query_row(
            "SELECT ltr_score('texts', '[3, 1]', '[\"$250.50\"]'), ltr_score('numbers', '[3, 1]', '[250.5]')",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    assert!((scores.0 - scores.1).abs() < 1e-9, "{scores:?}");
    // Text without the form is missing, if it may be.
    let marked = "SELECT query_id, doc_id, relevance, v, w, iif(query_id = 3, 'NA', '$' || query_id) AS q_budget FROM plain";
    let options = json!({"name": "marked", "lambda": 0.01, "neighbors": 5, "missing": "mean"});
    let report = train(&connection, "knn_svm", marked, &options);
    assert_eq!(column(&report, "q_budget")["form"], json!("number $ 1234.56"));
    let sql = "SELECT max(abs(a.score - b.score)) FROM ltr_rank('marked', ?1) AS a JOIN ltr_rank('marked', ?2) AS b \
               USING (query_id, doc_id)";
    let nulls = marked.replace("'NA'", "NULL");
    assert!(value::<f64>(&connection, sql, (marked, &nulls)) < 1e-12);
    let sql =
        "SELECT abs(ltr_score('marked', '[3, 1]', '[\"n/a\"]') - ltr_score('marked', '[3, 1]', '[null]'))";
    assert!(value::<f64>(&connection, sql, []) < 1e-12);
    // A distance that is given compares texts.
    let overlap = json!({"lambda": 0.01, "neighbors": 5, "query_distance": {"q_budget": "overlap"}});
    let report = train(&connection, "knn_svm", source, &overlap);
    assert!(column(&report, "q_budget").get("form").is_none());
}

#[test]
fn updates_read_the_form_of_the_training() {
    let connection = database();
    rows(&connection, "replace(printf('%d.5', x), '.', ',')");
    train(&connection, "perceptron", "written", &json!({"name": "texts"}));
    // Alone, 1,234 may be two numbers.
    let more = "SELECT 100 + query_id AS query_id, doc_id, relevance, '1,' || printf('%03d', v) AS v, w FROM plain WHERE query_id < 3";
    let _: String = value(&connection, "SELECT ltr_update('texts', ?1)", [more]);
    let score: f64 = value(
        &connection,
        "SELECT ltr_score('texts', '[\"1,234\", 2]') - ltr_score('texts', '[1.234, 2]')",
        [],
    );
    assert!(score.abs() < 1e-12, "{score}");
    let other = more.replace("'1,' ||", "'1 kg' ||");
    let refused =
        connection.query_row("SELECT ltr_update('texts', ?1)", [other], |_| Ok(())).unwrap_err().to_string();
    assert!(refused.contains("number 1234,56"), "{refused}");
}

#[test]
fn buckets_refuse_text_that_would_be_read_and_say_how_to_convert_it() {
    let (connection, rank_svm) = (database(), "rank_svm");
    rows(&connection, "replace(printf('%d.5', x), '.', ',')");
    let refused =
        problem(&connection, r#"SELECT ltr_fit('rank_svm', 'written', '{"lambda": 0.01, "buckets": 4}')"#);
    assert!(refused.contains("\"v\"") && refused.contains("number 1234,56"), "{refused}");
    let sql = between(&refused, "convert it in the source, as in ", "; a training in buckets").unwrap();
    let source = format!("SELECT query_id, doc_id, relevance, {sql} AS v, w FROM written");
    let report = train(&connection, rank_svm, &source, &json!({"lambda": 0.01, "buckets": 4}));
    assert_eq!(column(&report, "v")["usage"], json!("feature"));
    for columns in [json!({"ignore": ["v"]}), json!({"quantities": "none"})] {
        let options = json!({"lambda": 0.01, "buckets": 4, "columns": columns});
        assert_eq!(
            column(&train(&connection, rank_svm, "written", &options), "v")["usage"],
            json!("left_out")
        );
    }
    // Text that no training reads is a warning, and so are properties of queries.
    let source = "SELECT *, '$' || query_id AS q_budget FROM plain";
    train(&connection, rank_svm, source, &json!({"lambda": 0.01, "buckets": 4}));
}

#[test]
fn texts_that_mark_missing_values_are_missing_in_arguments() {
    let connection = database();
    rows(&connection, "iif(x % 5 = 1, 'NA', x)");
    for (source, missing, same) in
        [("written", "zero", "[0, 1]"), ("written", "mean", "[null, 1]"), ("plain", "zero", "[0, 1]")]
    {
        train(&connection, "rank_svm", source, &json!({"name": "m", "lambda": 0.01, "missing": missing}));
        for text in [r#"["NA", 1]"#, r#"[" n/a ", "1"]"#, r#"["", 1.0]"#, r#"{"v": "NA", "w": 1}"#] {
            let differs: f64 =
                value(&connection, "SELECT abs(ltr_score('m', ?1) - ltr_score('m', ?2))", (text, same));
            assert!(differs < 1e-15, "{source} {missing} {text}");
            let sql = "SELECT count(*) FROM ltr_explain('m', ?1)";
            assert!(value::<i64>(&connection, sql, [text]) >= 2, "{text}");
        }
        let refused = problem(&connection, r#"SELECT ltr_score('m', '["cheap", 1]')"#);
        assert!(refused.contains("the text \"cheap\", expected a number"), "{refused}");
    }
    train(&connection, "rank_svm", "plain", &json!({"name": "m", "lambda": 0.01}));
    let refused = problem(&connection, r#"SELECT ltr_score('m', '["NA", 1]')"#);
    assert!(refused.contains("the text \"NA\", expected a number"), "{refused}");
}

#[test]
fn several_numbers_have_sql_that_was_tried() {
    for (text, numbers) in [
        ("printf('%d.25, -%d', x, x % 7)", Some(["v + 0.25", "-(v % 7)"])),
        ("printf('%dx%d', x, x % 7)", Some(["v", "v % 7"])),
        ("printf('%d-%d', x, x + 7)", Some(["v", "v + 7"])),
        ("printf('POINT (%d.5 %d)', x, x % 7)", Some(["v + 0.5", "v % 7"])),
        ("json_array(x, x % 7)", None),
        ("printf('%d/%d/%d kg', x, x % 7, x % 3)", None),
    ] {
        let connection = database();
        rows(&connection, text);
        let warning = warning(&train(&connection, "rank_svm", "written", &json!({"lambda": 0.01})));
        let Some(sql) = between(&warning, "of its own in the source, as in ", ", or ignore") else {
            assert!(numbers.is_none() && warning.contains("in the source"), "{warning}");
            continue;
        };
        let (one, other) = sql.split_once(" and ").unwrap();
        let [first, second] = numbers.unwrap();
        let sql = format!(
            "SELECT max(abs({one} - first) + abs({other} - second)) FROM written JOIN (SELECT query_id, doc_id, {first} AS first, \
             {second} AS second FROM plain) USING (query_id, doc_id)"
        );
        assert!(value::<f64>(&connection, &sql, []) < 1e-9, "{sql}");
    }
}

/// Ratings, positions and clicks are numbers: text with a unit is refused with the name of its column.
#[test]
fn logs_and_ratings_refuse_quantities_by_name() {
    let connection = database();
    let numbers = "WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 59)";
    let ratings = format!(
        "CREATE TABLE ratings AS {numbers} SELECT i / 6 AS user, i % 6 AS item, (i * 7 % 5) || ' stars' AS rating FROM n"
    );
    let log = format!(
        "CREATE TABLE log AS {numbers} SELECT i / 6 AS impression, i / 6 % 3 AS query_id, i AS doc_id, 1 + i % 6 AS place, \
         i % 2 AS chosen FROM n"
    );
    connection.execute_batch(&format!("{ratings}; {log}")).unwrap();
    let of_log = |values: &str| {
        let source = format!("SELECT impression, query_id, doc_id, {values} FROM log").replace('\'', "''");
        format!("SELECT count(*) FROM ltr_judgments('{source}')")
    };
    for (sql, column) in [
        ("SELECT ltr_train('cofi_rank', 'ratings')".to_owned(), "rating"),
        (of_log("place || 'st' AS position, chosen AS clicked"), "position"),
        (of_log("place AS position, chosen || ' times' AS clicked"), "clicked"),
    ] {
        let refused = problem(&connection, &sql);
        assert!(
            refused.contains(&format!("column \"{column}\"")) && refused.contains("expected"),
            "{refused}"
        );
    }
}
