//! Statements that read a model, each returning the number of wrong values. The targets of fuzzing use them, too.

use super::models::{SLOTS, WITHOUT_MOOD};

/// True for a number that is not finite: infinite, or NaN, which SQLite shows as NULL.
const BAD: &str = "coalesce(abs(X) > 1.7976931348623157e308, 1)";
/// The same where NULL has a meaning.
const INFINITE: &str = "coalesce(abs(X) > 1.7976931348623157e308, 0)";

const NEW: &str = "SELECT 77 AS query_id, doc_id, b AS a, a AS b, relevance, 0.4 AS q_mood, 'a' AS q_site, '[2, 4, 1]' AS q_wish \
     FROM judged WHERE query_id < 3";
const HUGE: &str = "SELECT 78 AS query_id, doc_id, 5e307 * (doc_id - 2) AS a, 5e-324 AS b, 1e100 AS q_mood, \
     'z' AS q_site, '[]' AS q_wish FROM judged";
const METRICS: &str = r#"{"metric": ["ndcg@3", "dcg", "map", "err", "eru", "kendall_tau", "mre"]}"#;

/// Statements of a model ?1 that return the number of wrong values: function, column with its check.
#[allow(clippy::too_many_lines, reason = "one list")]
pub fn statements() -> Vec<String> {
    let from = |column: &str, check: &str, table: &str| {
        format!("SELECT coalesce(sum({}), 0) FROM {table}", check.replace('X', column))
    };
    let quoted = |source: &str| format!("'{}'", source.replace('\'', "''"));
    let scalar = |call: &str| format!("SELECT {}", BAD.replace('X', call));
    let mut statements = Vec::new();
    for source in ["judged", WITHOUT_MOOD, NEW, HUGE, SLOTS, "ratings"] {
        statements.push(from(
            "score",
            BAD,
            &format!("ltr_rank(?1, {}, '{{\"threads\": 1}}')", quoted(source)),
        ));
    }
    statements.push(from("score", BAD, "ltr_rank(?1, 'judged', '{\"diversify_by\": \"relevance\", \"k\": 2, \"allow_short\": true, \"threads\": 1}')"));
    for source in ["judged", SLOTS, "ratings"] {
        let options = METRICS.replace('{', "{\"threads\": 1, ");
        statements.push(from(
            "value",
            INFINITE,
            &format!("ltr_evaluate(?1, {}, '{options}')", quoted(source)),
        ));
    }
    for features in ["'[0.5, 0.25]'", "'[1e308, -1e308]'", "ltr_vec(0.5, 0.25)"] {
        statements.push(scalar(&format!("ltr_score(?1, {features})")));
        statements.push(scalar(&format!("ltr_prefer(?1, '[0.5, 0.5]', {features})")));
        statements.push(from("contribution", BAD, &format!("ltr_explain(?1, {features})")));
    }
    for query in
        ["'[0.4]'", "'[0.5, 0.25]'", "'[1e300]'", r#"'[0.4, "b", [3, 2]]'"#, r#"'[-1e100, "z", []]'"#]
    {
        statements.push(scalar(&format!("ltr_score(?1, '[0.5, 0.25]', {query})")));
        statements.push(scalar(&format!("ltr_prefer(?1, '[0.5, 0.25]', ltr_vec(1, 0), {query})")));
        statements.push(from("contribution", BAD, &format!("ltr_explain(?1, '[0.5, 0.25]', {query})")));
        statements.push(from("weight", BAD, &format!("ltr_weights(?1, {query})")));
        statements.push(from("max(abs(distance), abs(weight))", BAD, &format!("ltr_neighbors(?1, {query})")));
    }
    for (source, query) in [("judged", "3"), (NEW, "77"), (SLOTS, "2"), ("ratings", "3")] {
        let arguments = format!("?1, {}, {query}, 1", quoted(source));
        statements.push(from("contribution", BAD, &format!("ltr_explain({arguments})")));
        statements.push(from("contribution", BAD, &format!("ltr_explain_rank({arguments}, 2)")));
    }
    statements.push(from("loss", INFINITE, "ltr_importance(?1, 'judged', '{\"threads\": 1}')"));
    for source in ["judged", "ratings", SLOTS, HUGE] {
        // Every kind of finding with a limit has a value and a reference.
        let limited = "kind IN ('drift', 'grades', 'outside', 'missing', 'new_users', 'new_items')";
        let finite =
            ["value", "reference", "threshold"].map(|column| INFINITE.replace('X', column)).join(" OR ");
        let check = format!("{finite} OR {limited} AND value + reference + threshold IS NULL");
        statements.push(from(
            "",
            &check,
            &format!("ltr_monitor(?1, {}, '{{\"threads\": 1}}')", quoted(source)),
        ));
    }
    for arguments in [
        "'validation', ?1",
        "'training', ?1",
        "'weights', ?1",
        "'scores', ?1, 'judged'",
        "'calibration', ?1, 'judged'",
    ] {
        // What is drawn has no such coordinates.
        let plot = format!("ltr_plot({arguments})");
        statements.push(format!(
            "SELECT {plot} GLOB '*NaN*' OR {plot} GLOB '*\"inf\"*' OR {plot} GLOB '*\"-inf\"*'"
        ));
    }
    for format in ["json", "sql", "elasticsearch", "solr"] {
        statements.push(format!("SELECT ltr_export(?1, '{format}') IS NULL"));
    }
    let import = "ltr_import(ltr_export(?1, 'json'), '{\"name\": \"imported\", \"keep_versions\": 1}')";
    statements.push(format!("SELECT {import} IS NULL"));
    statements.push(from("weight", BAD, "ltr_weights(?1)"));
    // The rounds of a perceptron have a surrogate loss, the others a gap.
    statements.push(from("max(abs(objective), abs(coalesce(gap, surrogate)))", BAD, "ltr_training_log(?1)"));
    for arguments in [
        "3",
        "77",
        "3, 5, '{\"include_seen\": true}'",
        "'x', '{\"ratings\": {\"i0\": 2, \"i1\": 0, \"i3\": 1}}'",
    ] {
        statements.push(from("score", BAD, &format!("ltr_recommend(?1, {arguments})")));
    }
    statements.push(from("score", BAD, "ltr_search(?1, 2)"));
    statements.push(from(
        "value",
        INFINITE,
        "ltr_evaluate(?1, 'SELECT query_id, doc_id, relevance FROM judged')",
    ));
    statements.push(from("bias", BAD, "ltr_factors(?1)"));
    statements.push(
        "SELECT ltr_update(?1, 'judged', '{\"name\": \"updated\", \"keep_versions\": 1}') IS NULL".to_owned(),
    );
    statements
}

/// Statements of a stored model, whose blocks are read on demand.
pub const STORED: &[&str] = &[
    "SELECT coalesce(sum(coalesce(abs(score) > 1.7976931348623157e308, 1)), 0) FROM ltr_rank('stored', 'judged', '{\"threads\": 1}')",
    "SELECT coalesce(sum(coalesce(abs(score) > 1.7976931348623157e308, 1)), 0) FROM ltr_rank('stored', 'SELECT 77 AS query_id, doc_id, b AS a, a AS b, 0.4 AS q_mood, ''c'' AS q_site, ''[1]'' AS q_wish FROM judged', '{\"threads\": 1}')",
    "SELECT coalesce(abs(ltr_score('stored', '[0.5, 0.25]', '[0.4]')) > 1.7976931348623157e308, 1)",
    r#"SELECT coalesce(abs(ltr_score('stored', '[0.5, 0.25]', '[0.4, "b", [3, 1]]')) > 1.7976931348623157e308, 1)"#,
];
