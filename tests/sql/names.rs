//! The exact functions and modules that registration adds: an accidental rename, removal or addition fails here.

use std::collections::BTreeSet;

use rusqlite::Connection;

/// Each function with its numbers of arguments; -1 means any number. Every name but `ltr_fts` and `ltr_vec` also has a function for any
/// number of arguments that answers calls of a wrong form (`calls.rs`).
const FUNCTIONS: &[&str] = &[
    "ltr_activate/2",
    "ltr_activate/3",
    "ltr_ap/2",
    "ltr_ap/3",
    "ltr_ap/4",
    "ltr_begin/1",
    "ltr_begin/2",
    "ltr_bucket/2",
    "ltr_debug/0",
    "ltr_export/2",
    "ltr_finish/1",
    "ltr_fit/10",
    "ltr_fit/11",
    "ltr_fit/2",
    "ltr_fit/3",
    "ltr_fit/4",
    "ltr_fit/5",
    "ltr_fit/6",
    "ltr_fit/7",
    "ltr_fit/8",
    "ltr_fit/9",
    "ltr_fts/-1",
    "ltr_fts_names/1",
    "ltr_fts_query/1",
    "ltr_fts_query/2",
    "ltr_import/1",
    "ltr_import/2",
    "ltr_info/1",
    "ltr_merge/1",
    "ltr_metric/3",
    "ltr_metric/4",
    "ltr_ndcg/2",
    "ltr_ndcg/3",
    "ltr_ndcg/4",
    "ltr_pack/4",
    "ltr_pack/5",
    "ltr_pack/6",
    "ltr_pack/7",
    "ltr_paired_test/2",
    "ltr_paired_test/3",
    "ltr_partial/3",
    "ltr_plot/2",
    "ltr_plot/3",
    "ltr_plot/4",
    "ltr_plot/5",
    "ltr_precision/2",
    "ltr_precision/3",
    "ltr_precision/4",
    "ltr_prefer/3",
    "ltr_prefer/4",
    "ltr_recall/2",
    "ltr_recall/3",
    "ltr_recall/4",
    "ltr_report/2",
    "ltr_report/3",
    "ltr_rr/2",
    "ltr_rr/3",
    "ltr_rr/4",
    "ltr_score/2",
    "ltr_score/3",
    "ltr_step/2",
    "ltr_train/10",
    "ltr_train/11",
    "ltr_train/2",
    "ltr_train/3",
    "ltr_train/4",
    "ltr_train/5",
    "ltr_train/6",
    "ltr_train/7",
    "ltr_train/8",
    "ltr_train/9",
    "ltr_update/2",
    "ltr_update/3",
    "ltr_vec/-1",
    "ltr_vec_to_json/1",
    "ltr_version/0",
];

/// The table-valued functions.
const MODULES: &[&str] = &[
    "ltr_algorithms",
    "ltr_click_models",
    "ltr_compare",
    "ltr_cross_validate",
    "ltr_evaluate",
    "ltr_evaluate_clicks",
    "ltr_explain",
    "ltr_explain_rank",
    "ltr_factors",
    "ltr_importance",
    "ltr_interleave",
    "ltr_interleave_result",
    "ltr_judgments",
    "ltr_letor",
    "ltr_metrics",
    "ltr_monitor",
    "ltr_neighbors",
    "ltr_options",
    "ltr_propensities",
    "ltr_query",
    "ltr_rank",
    "ltr_recommend",
    "ltr_search",
    "ltr_training_log",
    "ltr_weights",
];

/// Names that planned functions will have. Nothing else may take them, and a name without its function would mislead
/// callers that probe for it.
const RESERVED: &[&str] = &[];

fn listed(connection: &Connection, sql: &str) -> BTreeSet<String> {
    let mut statement = connection.prepare(sql).expect("a list that SQLite has");
    let rows = statement.query_map([], |row| row.get(0)).expect("its rows");
    rows.collect::<Result<_, _>>().expect("texts")
}

const LIST_FUNCTIONS: &str = "SELECT name || '/' || narg FROM pragma_function_list WHERE narg >= 0 OR name NOT LIKE 'ltr!_%' ESCAPE '!' OR name IN ('ltr_fts', 'ltr_vec')";
const LIST_MODULES: &str = "SELECT name FROM pragma_module_list";

/// What registration adds to a connection.
fn added(list: &str) -> Vec<String> {
    let connection = Connection::open_in_memory().expect("a database");
    let before = listed(&connection, list);
    sqlite_ltr::register(&connection).expect("registration");
    listed(&connection, list).difference(&before).cloned().collect()
}

/// Aggregates of metrics may come in addition: a metric is one file and one line of a table.
#[test]
fn the_functions_are_exactly_these() {
    let connection = Connection::open_in_memory().expect("a database");
    sqlite_ltr::register(&connection).expect("registration");
    let aggregates = listed(&connection, "SELECT function FROM ltr_metrics");
    let is_pinned = |function: &String| {
        let name = function.split('/').next().unwrap_or_default();
        FUNCTIONS.contains(&function.as_str()) || !aggregates.contains(name)
    };
    let found: Vec<String> = added(LIST_FUNCTIONS).into_iter().filter(is_pinned).collect();
    assert_eq!(found, FUNCTIONS);
}

#[test]
fn the_modules_are_exactly_these() {
    assert_eq!(added(LIST_MODULES), MODULES);
}

#[test]
fn reserved_names_are_free() {
    let all: Vec<String> = [added(LIST_FUNCTIONS), added(LIST_MODULES)].concat();
    for name in RESERVED {
        assert!(all.iter().all(|known| known.split('/').next() != Some(name)), "{name}");
    }
}

#[test]
fn registering_twice_does_no_harm() {
    let connection = Connection::open_in_memory().expect("a database");
    sqlite_ltr::register(&connection).expect("registration");
    sqlite_ltr::register(&connection).expect("registration again");
    let version: String =
        connection.query_row("SELECT ltr_version()", [], |row| row.get(0)).expect("a version");
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
}

/// Functions of their arguments alone, besides the aggregates. What is neither here nor in [`READING`] fails below.
const PURE: &[&str] = &[
    "ltr_begin/1",
    "ltr_begin/2",
    "ltr_bucket/2",
    "ltr_finish/1",
    "ltr_fts_query/1",
    "ltr_merge/1",
    "ltr_pack/4",
    "ltr_pack/5",
    "ltr_pack/6",
    "ltr_pack/7",
    "ltr_paired_test/2",
    "ltr_paired_test/3",
    "ltr_partial/3",
    "ltr_step/2",
    "ltr_vec/-1",
    "ltr_vec_to_json/1",
    "ltr_version/0",
];

/// Functions that read tables, files or the state of the connection, start threads or write, for any number of arguments that
/// is not in [`PURE`]: for direct use only.
const READING: &[&str] = &[
    "ltr_activate",
    "ltr_debug",
    "ltr_export",
    "ltr_fit",
    "ltr_fts_names",
    "ltr_fts_query",
    "ltr_import",
    "ltr_info",
    "ltr_plot",
    "ltr_prefer",
    "ltr_report",
    "ltr_score",
    "ltr_train",
    "ltr_update",
];

/// Functions that read `ltr_models` or a full-text table for views of a trusted schema (rule 13.3).
const TRUSTED: &[&str] = &["ltr_fts_query/2", "ltr_prefer/3", "ltr_score/2"];

/// Rules 13.2 and 13.3. Flags in `pragma_function_list`: 0x800 deterministic, 0x200000 innocuous, 0x80000 direct only.
#[test]
fn each_function_has_the_flags_it_should() {
    let connection = Connection::open_in_memory().expect("a database");
    sqlite_ltr::register(&connection).expect("registration");
    let aggregates = listed(&connection, "SELECT function FROM ltr_metrics");
    let sql = "SELECT DISTINCT name || '/' || narg || ' ' || iif(flags & 0x800, 'deterministic ', '') || iif(flags & 0x200000, 'innocuous ', '') \
               || iif(flags & 0x80000, 'direct', '') FROM pragma_function_list WHERE name LIKE 'ltr!_%' ESCAPE '!'";
    for line in listed(&connection, sql) {
        let (function, flags) = line.split_once(' ').expect("flags");
        let (name, arity) = function.split_once('/').expect("a number of arguments");
        let is_reading = READING.contains(&name) && !PURE.contains(&function);
        let expected = match function {
            // A function of the current match.
            "ltr_fts/-1" => "innocuous ",
            // What answers calls of a wrong form.
            _ if arity == "-1" => "deterministic innocuous ",
            _ if TRUSTED.contains(&function) => "",
            _ if is_reading => "direct",
            _ => "deterministic innocuous ",
        };
        assert_eq!(flags, expected, "{function}");
        let is_known = arity == "-1" || is_reading || PURE.contains(&function) || aggregates.contains(name);
        assert!(is_known, "{function}: PURE or READING?");
    }
}
