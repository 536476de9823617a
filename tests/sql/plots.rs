//! `ltr_plot` and `ltr_report`: SVG and HTML are well formed, safe and complete, and show the numbers of the other SQL functions.

use roxmltree::{Document, Node};
use rusqlite::Connection;

/// The example data with models.
pub(crate) fn hotels() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    sqlite_ltr::register(&connection).unwrap();
    connection.execute_batch(include_str!("../../sql/hotels.sql")).unwrap();
    connection
}

pub(crate) fn text(connection: &Connection, sql: &str) -> String {
    connection.query_row(sql, [], |row| row.get(0)).unwrap_or_else(|problem| panic!("{sql}: {problem}"))
}

/// The SVG of a call, checked: XML without anything that runs or loads, with a name, and with its marks inside.
pub(crate) fn plot(connection: &Connection, arguments: &str) -> String {
    let sql = format!("SELECT ltr_plot({arguments})");
    let svg = text(connection, &sql);
    assert_eq!(svg, text(connection, &sql), "the same bytes again");
    check(&svg);
    keep(arguments, &svg);
    svg
}

pub(crate) fn check(svg: &str) {
    let document = Document::parse(svg).unwrap_or_else(|problem| panic!("{problem}\n{svg}"));
    let root = document.root_element();
    let sizes: Vec<f64> =
        root.attribute("viewBox").unwrap().split(' ').map(|size| size.parse().unwrap()).collect();
    assert!(!root.attribute("aria-label").unwrap().is_empty());
    for node in document.descendants().filter(Node::is_element) {
        let known = ["svg", "title", "desc", "style", "rect", "circle", "line", "path", "text", "g"];
        assert!(known.contains(&node.tag_name().name()), "{}", node.tag_name().name());
        for attribute in node.attributes() {
            assert!(!attribute.name().starts_with("on") && !attribute.name().ends_with("href"));
            let value = attribute.value();
            let limit = match attribute.name() {
                "x" | "cx" | "x1" | "x2" | "width" => sizes[2],
                "y" | "cy" | "y1" | "y2" | "height" => sizes[3],
                _ => continue,
            };
            let inside = value == "100%" || (0.0..=limit).contains(&value.parse().unwrap());
            assert!(inside, "{}={value} of {}", attribute.name(), node.tag_name().name());
        }
    }
}

/// Writes the SVG next to other files of tests, to look at.
fn keep(arguments: &str, svg: &str) {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("plots");
    std::fs::create_dir_all(&folder).unwrap();
    let name: String = arguments.chars().filter(|c| c.is_alphanumeric() || *c == '_').take(60).collect();
    std::fs::write(folder.join(name + ".svg"), svg).unwrap();
}

/// The exact numbers of all marks of a kind, in their order.
pub(crate) fn numbers(svg: &str, mark: &str, key: &str) -> Vec<f64> {
    let document = Document::parse(svg).unwrap();
    let marks = document.descendants().filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", mark)));
    marks.filter_map(|node| node.attribute(key)).map(|value| value.parse().unwrap()).collect()
}

/// A table of judged documents with these columns as features.
fn table_with(connection: &Connection, name: &str, columns: &[String], from: &str) {
    let columns = columns.join(", ");
    let sql = format!("CREATE TABLE {name} AS SELECT query_id, doc_id, relevance, {columns} FROM {from}");
    connection.execute_batch(&sql).unwrap();
}

/// The first column of a query.
pub(crate) fn column(connection: &Connection, sql: &str) -> Vec<f64> {
    let mut statement = connection.prepare(sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn the_validation_curve_matches_the_card() {
    let connection = hotels();
    text(&connection, "SELECT ltr_train('rank_svm', 'judgments')");
    let svg = plot(&connection, "'validation', 'rank_svm'");
    let curve = "json_each(ltr_info('rank_svm'), '$.training.validation.curve')";
    for (key, index) in [("data-x", 0), ("data-y", 1)] {
        let sql = format!("SELECT value ->> {index} FROM {curve} ORDER BY value ->> 0");
        assert_eq!(numbers(&svg, "circle", key), column(&connection, &sql));
    }
    assert!(svg.contains("chosen: "), "{svg}");
}

#[test]
fn the_validation_curve_of_trees_has_their_number() {
    let connection = hotels();
    text(&connection, "SELECT ltr_train('boosted_trees', 'judgments')");
    let trees = text(&connection, "SELECT CAST(ltr_info('boosted_trees') ->> '$.training.trees' AS TEXT)");
    let svg = plot(&connection, "'validation', 'boosted_trees'");
    assert!(svg.contains(&format!("chosen: trees {trees}, ")), "{svg}");
    assert!(!svg.contains("lambda"), "{svg}");
}

#[test]
fn the_training_curve_matches_the_log() {
    let connection = hotels();
    text(&connection, "SELECT ltr_train('rank_svm', 'judgments')");
    text(&connection, "SELECT ltr_train('slam', 'judgments', '{\"lambda\": 1}')");
    text(&connection, "SELECT ltr_train('q_svm', 'judgments', '{\"lambda\": 1}')");
    text(&connection, "SELECT ltr_train('perceptron', 'judgments')");
    for model in ["rank_svm", "slam"] {
        let svg = plot(&connection, &format!("'training', '{model}'"));
        let log = format!("ltr_training_log('{model}')");
        let objective = column(&connection, &format!("SELECT objective FROM {log}"));
        let mut bounds = column(&connection, &format!("SELECT objective - gap FROM {log}"));
        let found = numbers(&svg, "circle", "data-y");
        let (drawn, last) = found.split_at(found.len() - objective.len());
        assert_eq!(last, objective);
        // Bounds far below the objective are cut off.
        bounds.retain(|bound| drawn.contains(bound));
        assert!(drawn == bounds && !drawn.is_empty(), "{drawn:?} {bounds:?}");
    }
    plot(&connection, "'training', 'q_svm'");
    plot(&connection, "'training', 'perceptron'");
}

/// One linear and one query-dependent model, trained without validation.
pub(crate) fn two_models() -> Connection {
    let connection = hotels();
    text(&connection, "SELECT ltr_train('rank_svm', 'judgments', '{\"lambda\": 0.01}')");
    text(&connection, "SELECT ltr_train('q_svm', 'judgments', '{\"lambda\": 0.01}')");
    connection
}

#[test]
fn weights_match_ltr_weights() {
    let connection = two_models();
    let svg = plot(&connection, "'weights', 'rank_svm'");
    let sql = "SELECT weight FROM ltr_weights('rank_svm') ORDER BY abs(weight) DESC";
    assert_eq!(numbers(&svg, "rect", "data-value"), column(&connection, sql));
    let svg = plot(&connection, "'weights', 'q_svm', '[0.9]'");
    let sql = "SELECT weight FROM ltr_weights('q_svm', '[0.9]') ORDER BY abs(weight) DESC";
    assert_eq!(numbers(&svg, "rect", "data-value"), column(&connection, sql));
}

#[test]
fn importance_matches_ltr_importance() {
    let connection = two_models();
    for model in ["rank_svm", "q_svm"] {
        let svg = plot(&connection, &format!("'importance', '{model}', 'candidates'"));
        let sql = format!("SELECT loss FROM ltr_importance('{model}', 'candidates') ORDER BY loss DESC");
        assert_eq!(numbers(&svg, "rect", "data-value"), column(&connection, &sql));
    }
}

#[test]
fn of_many_features_the_largest_weights_are_drawn() {
    let connection = hotels();
    for (table, name) in [("wide", "feature_number_of_the_document_"), ("narrow", "f")] {
        let column_of = |n| format!("abs(price * {n} * 7919 % 101 + stars * {n} % 7) AS {name}{n}");
        let columns: Vec<String> = (1..=136).map(column_of).collect();
        table_with(&connection, table, &columns, "judgments WHERE query_id < 20");
        let options = format!("{{\"lambda\": 0.01, \"name\": \"{table}\"}}");
        text(&connection, &format!("SELECT ltr_train('rank_svm', '{table}', '{options}')"));
        let svg = plot(&connection, &format!("'weights', '{table}'"));
        let sql = format!("SELECT weight FROM ltr_weights('{table}') ORDER BY abs(weight) DESC LIMIT 20");
        assert_eq!(numbers(&svg, "rect", "data-value"), column(&connection, &sql));
        // The text ends at x. It takes 6 units per letter, and is not cut off.
        let before = svg.split(">and 116 more<").next().unwrap().rsplit("<text").next().unwrap();
        let x: f64 = before.split("x=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
        assert!(x >= 72.0, "{x}");
    }
}

#[test]
fn queries_have_the_values_of_ltr_evaluate() {
    let connection = two_models();
    let svg = plot(&connection, "'queries', 'q_svm', 'rank_svm', 'candidates'");
    let values = |model: &str| {
        let sql =
            format!("SELECT value FROM ltr_evaluate('{model}', 'candidates') WHERE query_id IS NOT NULL");
        column(&connection, &sql)
    };
    let mut expected: Vec<(f64, f64)> = values("rank_svm").into_iter().zip(values("q_svm")).collect();
    let mut actual: Vec<(f64, f64)> =
        numbers(&svg, "circle", "data-x").into_iter().zip(numbers(&svg, "circle", "data-y")).collect();
    assert_eq!(numbers(&svg, "circle", "data-count").iter().sum::<f64>() as usize, expected.len());
    let order = |a: &(f64, f64), b: &(f64, f64)| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1));
    expected.sort_by(order);
    expected.dedup();
    actual.sort_by(order);
    assert_eq!(actual, expected);
}

#[test]
fn bins_of_scores_have_the_documents_of_ltr_rank() {
    let connection = two_models();
    let svg = plot(&connection, "'calibration', 'q_svm', 'candidates'");
    let sql = "SELECT avg(relevance) FROM (SELECT relevance, ntile(10) OVER (ORDER BY score) AS bin
                 FROM ltr_rank('q_svm', 'candidates') JOIN candidates USING (query_id, doc_id)) GROUP BY bin";
    let (found, expected) = (numbers(&svg, "circle", "data-y"), column(&connection, sql));
    assert_eq!(found.len(), 10);
    assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?} {expected:?}");

    let svg = plot(&connection, "'scores', 'q_svm', 'candidates'");
    let counts = numbers(&svg, "rect", "data-count");
    assert_eq!(counts.iter().sum::<f64>() as usize, 240);
    let lowest = numbers(&svg, "rect", "data-from").into_iter().fold(f64::INFINITY, f64::min);
    assert_eq!(vec![lowest], column(&connection, "SELECT min(score) FROM ltr_rank('q_svm', 'candidates')"));
}

/// The quantile of Student's t for a probability of .975, by its expansion around the normal quantile.
fn t_quantile(df: f64) -> f64 {
    let z = 1.959_963_984_540_054_f64;
    let terms = [
        (z.powi(3) + z) / 4.0,
        (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0,
        (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0,
    ];
    terms.iter().zip(1..).fold(z, |sum, (term, power)| sum + term / df.powi(power))
}

/// Rule 14.6: the queries are the sample, and a mean grade is a ratio over them.
#[test]
fn intervals_of_mean_grades_are_of_a_ratio_over_queries() {
    let connection = two_models();
    let svg = plot(&connection, "'calibration', 'q_svm', 'candidates'");
    let sql = "WITH r AS (SELECT query_id, relevance, ntile(10) OVER (ORDER BY score) AS bin
                            FROM ltr_rank('q_svm', 'candidates') JOIN candidates USING (query_id, doc_id)),
                    g AS (SELECT bin, avg(relevance) AS mean, count(*) AS n FROM r GROUP BY bin),
                    u AS (SELECT bin, mean, sum(relevance - mean) / n AS u FROM r JOIN g USING (bin) GROUP BY bin, query_id)
               SELECT mean, sum(u * u) * count(*) / (count(*) - 1.0), count(*) FROM u GROUP BY bin ORDER BY bin";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    let bins: Vec<(f64, f64, f64)> = rows.collect::<Result<_, _>>().unwrap();
    let document = Document::parse(&svg).unwrap();
    let titles = document.descendants().filter(|node| node.tag_name().name() == "title");
    let titles: Vec<&str> =
        titles.filter_map(|title| title.text()).filter(|text| text.contains(" to ")).collect();
    assert_eq!((titles.len(), bins.len()), (10, 10));
    for (title, (mean, variance, queries)) in titles.into_iter().zip(bins) {
        let (low, rest) = title.split_once('(').unwrap().1.split_once(" to ").unwrap();
        let (high, rest) = rest.split_once(')').unwrap();
        let actual = [low, high].map(|number| number.parse::<f64>().unwrap());
        assert!(rest.contains(&format!(" of {queries} queries")), "{title}: {queries}");
        let half = t_quantile(queries - 1.0) * variance.sqrt();
        for (actual, expected) in actual.into_iter().zip([mean - half, mean + half]) {
            assert!((actual - expected).abs() < 0.002 * (1.0 + expected.abs()), "{title}: {expected}");
        }
    }
    let one = plot(&connection, "'calibration', 'q_svm', 'SELECT * FROM candidates WHERE query_id = 81'");
    assert!(one.contains("One query has no interval."), "{one}");
}

/// Sources with little to draw, with much, and with extreme numbers.
#[test]
fn unusual_data_give_complete_plots() {
    let connection = two_models();
    connection
        .execute_batch(
            "CREATE TABLE one_query AS SELECT * FROM candidates WHERE query_id = 81;
             CREATE TABLE one_row AS SELECT * FROM candidates WHERE query_id = 81 LIMIT 1;
             CREATE TABLE nothing_relevant AS SELECT query_id, doc_id, q_luxury, price, stars, 0 AS relevance FROM candidates;
             CREATE TABLE same AS SELECT query_id, doc_id, q_luxury, 0.5 AS price, 3 AS stars, relevance FROM candidates;
             CREATE TABLE graded AS SELECT query_id, doc_id, q_luxury, price, stars, price * 3 AS relevance FROM candidates;
             CREATE TABLE many AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 24)
               SELECT query_id + 1000 * i AS query_id, doc_id, q_luxury, (price * (i + 7) * 31) % 1 AS price, stars, relevance
                 FROM judgments, n;",
        )
        .unwrap();
    for source in ["one_query", "same", "graded", "many"] {
        plot(&connection, &format!("'queries', 'rank_svm', 'q_svm', '{source}'"));
    }
    for source in ["one_query", "one_row", "nothing_relevant", "same", "graded", "many"] {
        plot(&connection, &format!("'calibration', 'rank_svm', '{source}'"));
        plot(&connection, &format!("'scores', 'rank_svm', '{source}'"));
    }
    for (name, factor) in [("tiny", "1e-200"), ("huge", "1e150")] {
        let source =
            format!("SELECT query_id, doc_id, relevance, price * {factor} AS price, stars FROM judgments");
        let options = format!("{{\"lambda\": 1, \"scale\": \"none\", \"name\": \"{name}\"}}");
        text(&connection, &format!("SELECT ltr_train('rank_svm', '{source}', '{options}')"));
        plot(&connection, &format!("'weights', '{name}'"));
        plot(&connection, &format!("'training', '{name}'"));
        plot(&connection, &format!("'scores', '{name}', '{source}'"));
    }
    let source = "SELECT query_id, doc_id, relevance, price FROM judgments";
    text(&connection, &format!("SELECT ltr_train('rank_svm', '{source}', '{{\"name\": \"one feature\"}}')"));
    plot(&connection, "'weights', 'one feature'");
    plot(&connection, "'validation', 'one feature'");
}

/// Rule 14.2: names of models, features and queries that try to leave their texts. `plot` checks the rest of the rule.
#[test]
fn hostile_names_stay_texts() {
    let connection = hotels();
    let hostile = "</text><script>alert(\"1\")</script>'&amp;\u{1}\u{202e}";
    let long = "x".repeat(1 << 20);
    connection
        .execute(
            "CREATE TABLE hostile AS SELECT CASE query_id WHEN 1 THEN ?1 WHEN 2 THEN ?2 WHEN 3 THEN x'00ff' ELSE query_id END
               AS query_id, doc_id, relevance, price AS \"<script>alert(1)</script>\", stars AS \"\"\"'&]]>\" FROM judgments
              WHERE query_id < 9",
            [hostile, &long],
        )
        .unwrap();
    let name = "<b onload=\"x\">&";
    let train = "SELECT ltr_train(?1, 'hostile', json_object('lambda', 0.1, 'name', ?2))";
    for algorithm in ["rank_svm", "regression"] {
        let name = format!("{name}{algorithm}");
        connection.query_row(train, [algorithm, &name], |row| row.get::<_, String>(0)).unwrap();
    }
    for (kind, arguments) in [
        ("weights", ""),
        ("training", ""),
        ("queries", ", '<b onload=\"x\">&regression', 'hostile'"),
        ("calibration", ", 'hostile'"),
        ("scores", ", 'hostile'"),
        ("effect", ", 'hostile', '<script>alert(1)</script>'"),
    ] {
        let svg = plot(&connection, &format!("'{kind}', '{name}rank_svm'{arguments}"));
        assert!(svg.len() < 50_000, "{kind}: {} bytes", svg.len());
    }
}

/// The page of a call, checked: well formed, nothing that runs or loads, small.
fn report(connection: &Connection, arguments: &str) -> String {
    let sql = format!("SELECT ltr_report({arguments})");
    let page = text(connection, &sql);
    assert_eq!(page, text(connection, &sql), "the same bytes again");
    assert!(page.len() < 500_000, "{} bytes", page.len());
    let name: String = arguments.chars().filter(|c| c.is_alphanumeric() || *c == '_').take(60).collect();
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("plots");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("report_{name}.html")), &page).unwrap();
    let html = page.strip_prefix("<!DOCTYPE html>\n").unwrap();
    let document = Document::parse(html).unwrap_or_else(|problem| panic!("{problem}\n{html}"));
    for node in document.descendants().filter(Node::is_element) {
        let tag = node.tag_name().name();
        assert!(
            !["script", "iframe", "object", "embed", "form", "image", "img", "a", "base"].contains(&tag),
            "{tag}"
        );
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            assert!(!name.starts_with("on") && name != "src", "{name}");
            assert!(name != "href" || value == "data:,", "{value}");
        }
    }
    page
}

#[test]
fn a_report_has_metrics_baselines_and_worst_queries() {
    let connection = hotels();
    text(&connection, "SELECT ltr_train('rank_svm', 'judgments', '{\"lambda\": 100}')");
    text(&connection, "SELECT ltr_train('rank_svm', 'judgments')");
    let page = report(&connection, "'rank_svm', 'candidates'");
    let metric = |source: &str| {
        format!(
            "SELECT avg(m) FROM (SELECT ltr_ndcg(relevance, {source}, 10) AS m FROM candidates GROUP BY query_id)"
        )
    };
    let best = ["price", "-price", "stars", "-stars"].map(|order| column(&connection, &metric(order))[0]);
    let best = best.into_iter().fold(0.0, f64::max);
    let mut expected = column(
        &connection,
        "SELECT value FROM ltr_evaluate('rank_svm', 'candidates') WHERE query_id IS NULL",
    );
    expected.extend(column(
        &connection,
        "SELECT value FROM ltr_evaluate('rank_svm@1', 'candidates') WHERE query_id IS NULL",
    ));
    expected.push(best);
    expected.extend(column(&connection, &metric("0.0")));
    let html = page.strip_prefix("<!DOCTYPE html>\n").unwrap();
    let actual = numbers(html, "rect", "data-value");
    assert!(actual.len() > expected.len());
    for (actual, expected) in actual.iter().zip(&expected) {
        assert!((actual - expected).abs() < 1e-12, "{actual} {expected}");
    }
    // The metric of the worst query is on the page.
    let worst = column(&connection, "SELECT min(value) FROM ltr_evaluate('rank_svm', 'candidates')")[0];
    assert!(page.contains(&format!("ndcg@10 {worst:.3}</h3>")), "{worst}");
    for part in ["version 1 (previous)", "random order", "Warnings", "Card", "Validation of", " ± "] {
        assert!(page.contains(part), "{part}");
    }
}

/// Rule 14.5: the warning of a report on the training data.
const TRAINING_ROWS: &str = "contains the training rows";

/// The same models in `main`, and in another schema, with other models of the same name in `main`.
#[test]
fn models_of_another_schema_give_the_same_pages() {
    let connection = hotels();
    let train = |algorithm: &str, options: &str| {
        text(&connection, &format!("SELECT ltr_train('{algorithm}', 'judgments', '{options}')"));
    };
    train("rank_svm", r#"{"lambda": 10}"#);
    train("rank_svm", r#"{"lambda": [0.01, 0.1, 1]}"#);
    train("q_svm", r#"{"lambda": 0.1}"#);
    let calls = |options: &str| {
        [
            format!("SELECT ltr_report('rank_svm', 'candidates', '{options}')"),
            format!("SELECT ltr_report('q_svm', 'candidates', '{options}')"),
            format!("SELECT ltr_report('rank_svm@1', 'candidates', '{options}')"),
            format!("SELECT ltr_plot('importance', 'rank_svm', 'candidates', '{options}')"),
            format!("SELECT ltr_plot('queries', 'rank_svm', 'q_svm', 'candidates', '{options}')"),
            format!("SELECT ltr_plot('queries', 'rank_svm', 'rank_svm@1', 'candidates', '{options}')"),
            format!("SELECT ltr_plot('calibration', 'rank_svm', 'candidates', '{options}')"),
            format!("SELECT ltr_plot('scores', 'q_svm', 'candidates', '{options}')"),
            format!("SELECT ltr_plot('effect', 'q_svm', 'candidates', 'price', '{options}')"),
        ]
        .map(|sql| text(&connection, &sql))
    };
    let expected = calls("{}");
    let move_models = "ATTACH ':memory:' AS shop;
         CREATE TABLE shop.ltr_models AS SELECT * FROM ltr_models;
         DELETE FROM ltr_models;";
    connection.execute_batch(move_models).unwrap();
    assert_eq!(calls(r#"{"schema": "shop"}"#), expected, "no models in main");
    for lambda in [3, 4, 5] {
        train("rank_svm", &format!("{{\"lambda\": {lambda}}}"));
        train("q_svm", &format!("{{\"lambda\": {lambda}}}"));
    }
    assert_eq!(calls(r#"{"schema": "shop"}"#), expected, "others in main");
}

/// Rule 14.4: of features without information, the best one on these rows beats a random order; the cross-fitted one does not.
#[test]
fn the_best_single_feature_is_not_chosen_on_its_rows() {
    let connection = hotels();
    let columns: Vec<String> = (1..=60)
        .map(|n| {
            format!("x * x % 65537 * x % 65537 * (x + {n}) % 65537 AS f{n}")
                .replace('x', &format!("((query_id * 7919 + doc_id * 104729 + {n} * 1299709) % 65537)"))
        })
        .collect();
    table_with(&connection, "noise", &columns, "candidates");
    text(&connection, "SELECT ltr_train('rank_svm', 'noise', '{\"lambda\": 1, \"name\": \"noise\"}')");
    let ndcg = |by: String| {
        let sql = format!(
            "SELECT avg(m) FROM (SELECT ltr_ndcg(relevance, {by}, 10) AS m FROM noise GROUP BY query_id)"
        );
        column(&connection, &sql)[0]
    };
    let best = (1..=60).flat_map(|n| [ndcg(format!("f{n}")), ndcg(format!("-f{n}"))]).fold(0.0, f64::max);
    let random = ndcg("0.0".to_owned());
    let page = report(&connection, "'noise', 'noise'");
    let shown = numbers(page.strip_prefix("<!DOCTYPE html>\n").unwrap(), "rect", "data-value");
    assert!(page.contains("best single feature"));
    assert!((shown[2] - random).abs() < 1e-12, "{shown:?} {random}");
    assert!(shown[1] < random + 0.5 * (best - random), "{} {best} {random}", shown[1]);
}

#[test]
fn every_kind_of_model_has_a_report() {
    let connection = hotels();
    connection
        .execute_batch(
            "CREATE TABLE ratings AS SELECT query_id AS user, doc_id AS item, relevance + 1 AS rating FROM judgments;
             CREATE TABLE placed AS SELECT j.query_id, j.doc_id, s.slot, j.doc_id = s.slot AS relevance, j.price, j.stars
               FROM judgments AS j, (SELECT 0 AS slot UNION SELECT 1) AS s WHERE query_id < 12 AND doc_id < 5;",
        )
        .unwrap();
    for (algorithm, source, options) in [
        ("q_svm", "judgments", "\"lambda\": 0.1"),
        ("indv_svm", "judgments", "\"lambda\": 0.1"),
        ("perceptron", "judgments", "\"epochs\": 2"),
        ("regression", "judgments", "\"kernel\": \"gaussian\", \"lambda\": 0.1"),
        ("cofi_rank", "ratings", "\"lambda\": 1"),
        ("matching", "placed", "\"lambda\": 0.1"),
    ] {
        text(&connection, &format!("SELECT ltr_train('{algorithm}', '{source}', '{{{options}}}')"));
        let page = report(&connection, &format!("'{algorithm}', '{source}'"));
        // Only models of 'perceptron' keep no fingerprint.
        assert_eq!(page.contains(TRAINING_ROWS), algorithm != "perceptron", "{algorithm}");
        let has_importance = ["q_svm", "indv_svm", "regression"].contains(&algorithm);
        assert_eq!(page.contains("Importance of features"), has_importance, "{algorithm}");
    }
    // A BLOB has no stored report and no version before it.
    let sql = "SELECT ltr_report(ltr_fit('rank_svm', 'judgments', '{\"lambda\": 1}'), 'candidates', '{\"metric\": \"map\"}')";
    assert!(text(&connection, sql).contains("<h1>a model of rank_svm</h1>"));
    assert!(text(&connection, sql).contains("Training: warnings are stored in ltr_models"));
    // No query has a value.
    report(
        &connection,
        "'q_svm', 'SELECT query_id, doc_id, q_luxury, price, stars, 0 AS relevance FROM candidates'",
    );
    assert!(!report(&connection, "'q_svm', 'candidates'").contains(TRAINING_ROWS));
    let one = report(&connection, "'q_svm', 'SELECT * FROM candidates LIMIT 1'");
    assert!(!one.contains("best single feature"), "fewer than two queries");
}

/// A page of 10,000 queries with long names is as small as others.
#[test]
fn a_report_of_many_queries_stays_small() {
    let connection = hotels();
    connection
        .execute_batch(
            "CREATE TABLE many AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 124)
               SELECT printf('%.400c', '<') || (query_id + 1000 * i) AS query_id, doc_id, relevance,
                      price * (i + 1) * 31 - CAST(price * (i + 1) * 31 AS INTEGER) AS \"<script>alert(1)</script>\", stars + i * 7 % 3 AS stars
                 FROM judgments, n",
        )
        .unwrap();
    text(&connection, "SELECT ltr_train('rank_svm', 'SELECT * FROM many LIMIT 9000', '{\"lambda\": 1}')");
    text(&connection, "SELECT ltr_train('rank_svm', 'SELECT * FROM many LIMIT 900', '{\"lambda\": 0.001}')");
    report(&connection, "'rank_svm', 'many'");
}

/// A program of `PATH`.
fn program(names: &[&str]) -> Option<std::path::PathBuf> {
    let folders: Vec<_> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|path| path.is_file())
}

/// Pages in headless Chromium, light and dark, 400 and 1000 pixels wide: no message, no request, no horizontal scrolling.
/// `LTR_PICTURES` names a folder for pictures.
#[test]
fn a_browser_shows_reports_without_messages_requests_and_scrolling() {
    let (Some(python), Some(chromium)) =
        (program(&["python3"]), program(&["chromium", "chromium-browser", "google-chrome"]))
    else {
        let required =
            std::env::var_os("LTR_REQUIRE_HOSTS").is_some_and(|value| !value.is_empty() && value != "0");
        assert!(!required, "no python3 or no chromium");
        let note = b"\n*** NOT TESTED: reports in a browser. Install python3 and chromium ***\n";
        std::io::Write::write_all(&mut std::io::stderr(), note).unwrap();
        return;
    };
    // 1. A report with all parts, one with long and hostile names, and a page that does what none may do.
    let connection = hotels();
    text(&connection, "SELECT ltr_train('rank_svm', 'judgments', '{\"lambda\": 100}')");
    text(&connection, "SELECT ltr_train('rank_svm', 'judgments')");
    let bad = "<!DOCTYPE html><p style='width:2000px'>wide<script>console.log('hello')</script><img src='http://127.0.0.1:9/x.png'>";
    let pages = [
        ("good", report(&connection, "'rank_svm', 'candidates'")),
        ("hostile", hostile_report()),
        ("bad", bad.to_owned()),
    ];
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
    std::fs::create_dir_all(&folder).unwrap();
    let files = pages.map(|(name, page)| {
        let file = folder.join(name).with_extension("html");
        std::fs::write(&file, page).unwrap();
        file
    });
    // 2. The browser.
    let output = std::process::Command::new(python)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hosts/browser.py"))
        .arg(chromium)
        .arg(std::env::var_os("LTR_PICTURES").unwrap_or_default())
        .args(files)
        .output()
        .unwrap();
    let actual = String::from_utf8_lossy(&output.stdout);
    let problems = String::from_utf8_lossy(&output.stderr);
    assert!(actual.ends_with("VIEWS 12\n"), "{actual}{problems}");
    let (bad, others): (Vec<&str>, Vec<&str>) =
        actual.lines().filter(|line| !line.starts_with("VIEWS")).partition(|line| line.starts_with("bad-"));
    assert!(others.is_empty(), "{others:#?}");
    for expected in ["console", "request http://127.0.0.1:9/x.png", "horizontal scrolling"] {
        assert_eq!(bad.iter().filter(|line| line.contains(expected)).count(), 4, "{expected}: {bad:#?}");
    }
}

/// A report of a model, features, queries and documents whose names are long, are markup, have lines or run from right to left.
fn hostile_report() -> String {
    let connection = hotels();
    let sql = format!(
        "CREATE TABLE hostile AS SELECT CASE query_id % 5 WHEN 0 THEN '<script>alert(1)</script>' WHEN 1 THEN printf('%.300c', 'W')
               WHEN 2 THEN 'two' || char(10) || 'lines' WHEN 3 THEN char(0x5e9, 0x5dc, 0x5d5, 0x5dd, 0x202e) ELSE '' END || query_id AS query_id,
             printf('%.120c', 'm') || doc_id AS doc_id, relevance, price AS \"</text><script>alert(1)</script>\",
             stars AS \"{}\", price * stars AS \"two\nlines \u{5e9}\u{5dc}\u{5d5}\u{5dd}\" FROM judgments",
        "wide".repeat(60)
    );
    connection.execute_batch(&sql).unwrap();
    let name = format!("<b>{}&amp;", "long_name_".repeat(30));
    for lambda in [1, 0] {
        let options = format!("{{\"lambda\": [{lambda}.1, 10], \"name\": \"{name}\"}}");
        text(
            &connection,
            &format!("SELECT ltr_train('rank_svm', 'SELECT * FROM hostile LIMIT 300', '{options}')"),
        );
    }
    report(&connection, &format!("'{name}', 'hostile'"))
}
