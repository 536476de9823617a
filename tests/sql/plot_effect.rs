//! `ltr_plot('effect', ...)`: the mean score for each value of a feature.

use super::plots::{column, numbers, plot, text, two_models};

/// Rule 14.7: the points are means of `ltr_rank` over documents that all have the value.
#[test]
fn the_effect_of_a_feature_is_the_mean_score_with_its_value() {
    let connection = two_models();
    text(&connection, "SELECT ltr_train('boosted_trees', 'judgments', '{\"trees\": 20}')");
    text(
        &connection,
        "SELECT ltr_train('rank_svm', 'judgments', '{\"name\": \"bent\", \"kernel\": \"gaussian\", \"lambda\": 0.1}')",
    );
    for model in ["rank_svm", "q_svm", "boosted_trees", "bent"] {
        for feature in ["price", "stars"] {
            let svg = plot(&connection, &format!("'effect', '{model}', 'candidates', '{feature}'"));
            let values = numbers(&svg, "circle", "data-x");
            assert!((2..=21).contains(&values.len()) && values.is_sorted(), "{values:?}");
            for end in ["min", "max"] {
                let of_all = column(&connection, &format!("SELECT {end}({feature}) FROM candidates"))[0];
                assert!(values.contains(&of_all), "{values:?} {of_all}");
            }
            for (value, drawn) in values.iter().zip(numbers(&svg, "circle", "data-y")) {
                let other = if feature == "price" { "stars" } else { "price" };
                let source = format!(
                    "SELECT query_id, doc_id, q_luxury, {other}, {value:?} AS {feature} FROM candidates"
                );
                let mean = format!("SELECT avg(score) FROM ltr_rank('{model}', '{source}')");
                let expected = column(&connection, &mean)[0];
                assert!(
                    (drawn - expected).abs() <= 1e-9 * expected.abs().max(1.0),
                    "{model} {drawn} {expected}"
                );
            }
        }
    }
}

#[test]
fn an_effect_that_cannot_be_drawn_is_refused() {
    let connection = two_models();
    connection
        .execute_batch(
            "CREATE TABLE brands AS SELECT *, CASE doc_id % 3 WHEN 0 THEN 'a' WHEN 1 THEN 'b' ELSE 'c' END AS brand
               FROM judgments",
        )
        .unwrap();
    text(&connection, "SELECT ltr_train('rank_svm', 'brands', '{\"name\": \"brands\", \"lambda\": 0.1}')");
    text(
        &connection,
        "SELECT ltr_train('rank_svm', 'judgments', '{\"name\": \"within\", \"scale\": \"query_minmax\", \"lambda\": 1}')",
    );
    for (arguments, expected) in [
        ("'rank_svm', 'candidates', 'prise'", "unknown feature 'prise', did you mean 'price'?"),
        ("'brands', 'brands', 'brand'", "'brand' is a category, whose values have no order to draw"),
        ("'within', 'candidates', 'price'", "draw 'importance'"),
        ("'rank_svm', 'candidates'", "ltr_plot('effect', model, source, feature [, options])"),
        ("'rank_svm', 'candidates', 3", "argument 'feature'"),
        ("'rank_svm', 'SELECT * FROM candidates WHERE 0', 'price'", "no value"),
    ] {
        let sql = format!("SELECT ltr_plot('effect', {arguments})");
        let actual = connection.query_row(&sql, [], |row| row.get::<_, String>(0)).unwrap_err().to_string();
        assert!(actual.contains(expected), "{actual}");
    }
}
