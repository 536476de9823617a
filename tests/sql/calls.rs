//! Calls of a wrong form are answered with the right call (rule 13.10).

use crate::support::{database, value};

fn refusal(sql: &str) -> String {
    let connection = database();
    let mut statement = connection.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let error = statement.query([]).and_then(|mut rows| rows.next().map(drop));
    error.expect_err(sql).to_string()
}

#[test]
fn a_table_valued_function_outside_of_from_is_answered_with_its_call() {
    let connection = database();
    let modules: String = value(
        &connection,
        "SELECT group_concat(name) FROM pragma_module_list WHERE name LIKE 'ltr!_%' ESCAPE '!'",
        [],
    );
    assert!(modules.split(',').count() >= 12, "{modules}");
    for name in modules.split(',') {
        for arguments in ["", "'b'", "1, 2, 3, 4, 5, 6"] {
            let actual = refusal(&format!("SELECT {name}({arguments})"));
            let expected = format!("{name}: it is a table-valued function; call SELECT * FROM {name}(");
            assert!(actual.starts_with(&expected), "{actual}");
        }
    }
    assert_eq!(
        refusal("SELECT ltr_weights('b')"),
        "ltr_weights: it is a table-valued function; call SELECT * FROM ltr_weights(model [, query_features])"
    );
}

#[test]
fn a_wrong_number_of_arguments_is_answered_with_the_call() {
    let connection = database();
    let functions: String = value(
        &connection,
        "SELECT group_concat(DISTINCT name) FROM pragma_function_list WHERE name LIKE 'ltr!_%' ESCAPE '!'
            AND name NOT IN ('ltr_fts', 'ltr_vec') AND name NOT IN (SELECT name FROM pragma_module_list)",
        [],
    );
    assert!(functions.split(',').count() >= 20, "{functions}");
    for name in functions.split(',') {
        let found = refusal(&format!("SELECT {name}(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)"));
        assert!(found.starts_with(&format!("{name}: got 12 arguments; call {name}(")), "{found}");
    }
    for (call, answer) in [
        (
            "ltr_train('rank_svm')",
            "got 1 argument; call ltr_train(algorithm, source [, options] [, value1, ...])",
        ),
        ("ltr_fit()", "got 0 arguments; call ltr_fit(algorithm, source [, options] [, value1, ...])"),
        ("ltr_update('m')", "got 1 argument; call ltr_update(model, source [, options])"),
        ("ltr_score('m')", "got 1 argument; call ltr_score(model, features [, query_features])"),
        ("ltr_info()", "got 0 arguments; call ltr_info(model)"),
    ] {
        let name = call.split('(').next().unwrap();
        assert_eq!(refusal(&format!("SELECT {call}")), format!("{name}: {answer}"));
    }
}

#[test]
fn an_aggregate_with_a_wrong_number_of_arguments_fails_in_every_position() {
    let usage = "call ltr_ndcg(relevance, score [, k] [, options])";
    for (sql, problem) in [
        ("SELECT ltr_ndcg(1)", "got 1 argument"),
        ("SELECT ltr_ndcg(1) WHERE 0", "wrong number of arguments"),
        ("SELECT ltr_ndcg(*) FROM (SELECT 1)", "got 0 arguments"),
        ("SELECT ltr_ndcg(x) OVER () FROM (SELECT 1 AS x UNION ALL SELECT 2)", "got 1 argument"),
    ] {
        assert_eq!(refusal(sql), format!("ltr_ndcg: {problem}; {usage}"), "{sql}");
    }
}

/// Tables of the user may have the names of functions.
#[test]
fn answers_reserve_no_names_of_tables() {
    let connection = database();
    let sql = "DROP TABLE IF EXISTS ltr_train; CREATE TABLE ltr_train(a); INSERT INTO ltr_train VALUES (1);
               DROP TABLE ltr_train; DROP TABLE IF EXISTS ltr_train; DROP TABLE IF EXISTS ltr_score";
    connection.execute_batch(sql).unwrap();
}
