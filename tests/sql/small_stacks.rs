//! Calls on threads with a stack of 128 kB, as in musl: nothing recurses as deep as its input.

use rusqlite::Connection;

use super::support::{database, value};

/// Levels of the deepest trees that are accepted (rule 9.21).
const DEEPEST: usize = 512;

fn on_small_stack(work: impl FnOnce(&Connection) + Send + 'static) {
    let call = || work(&database());
    std::thread::Builder::new().stack_size(128 * 1024).spawn(call).unwrap().join().unwrap();
}

/// A text of LightGBM: a path of splits of this many features, with training weights.
fn path(levels: usize, features: usize) -> String {
    let list = |number: &dyn Fn(usize) -> String, count: usize| {
        (0..count).map(number).collect::<Vec<String>>().join(" ")
    };
    let last = |split: usize| if split + 1 < levels { split as i64 + 1 } else { -1 - levels as i64 };
    format!(
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx={}\nobjective=regression\nfeature_names={}\n\
         feature_infos=\n\nTree=0\nnum_leaves={}\nnum_cat=0\nsplit_feature={}\nthreshold={}\ndecision_type={}\nleft_child={}\n\
         right_child={}\nleaf_value={}\nleaf_count={}\ninternal_count={}\n\nend of trees\n",
        features - 1,
        list(&|feature| format!("f{feature}"), features),
        levels + 1,
        list(&|split| (split % features).to_string(), levels),
        list(&|_| "0.5".to_owned(), levels),
        list(&|_| "10".to_owned(), levels),
        list(&|split| last(split).to_string(), levels),
        list(&|split| (-1 - split as i64).to_string(), levels),
        list(&|leaf| (leaf % 7).to_string(), levels + 1),
        list(&|_| "1".to_owned(), levels + 1),
        list(&|split| (levels + 1 - split).to_string(), levels),
    )
}

#[test]
fn the_deepest_trees_are_read_ranked_explained_and_written() {
    on_small_stack(|connection| {
        let import = "SELECT ltr_import(?1, '{\"name\": \"deep\"}')";
        let error =
            connection.query_row(import, [path(DEEPEST + 1, 10)], |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains("512 levels"), "{error}");
        // Exact contributions of that many different features do not exist in 64-bit floats.
        let _: String = value(connection, import, [path(DEEPEST, DEEPEST)]);
        let zeros = format!("[{}]", vec!["0"; DEEPEST].join(","));
        let explain = "SELECT count(*) FROM ltr_explain('deep', ?1)";
        let error = connection.query_row(explain, [zeros], |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains("so many different features"), "{error}");
        let _: String = value(connection, import, [path(DEEPEST, 10)]);
        let zeros = format!("[{}]", ["0"; 10].join(","));
        let score: f64 = value(connection, "SELECT ltr_score('deep', ?1)", [&zeros]);
        let sum: f64 = value(connection, "SELECT sum(contribution) FROM ltr_explain('deep', ?1)", [&zeros]);
        assert!((score - sum).abs() < 1e-6, "{score}, {sum}");
        let columns = (0..10).map(|feature| format!(", 0 AS f{feature}")).collect::<Vec<String>>().concat();
        let source = format!(
            "SELECT 1 AS query_id, value AS doc_id, 1 AS relevance{columns} FROM json_each('[1, 2]')"
        );
        for (sql, rows) in [
            ("SELECT count(*) FROM ltr_rank('deep', ?1)", 2),
            ("SELECT count(*) FROM ltr_explain('deep', ?1, 1, 1)", 11),
            ("SELECT count(*) FROM ltr_importance('deep', ?1)", 10),
        ] {
            assert_eq!(value::<i64>(connection, sql, [&source]), rows, "{sql}");
        }
        for format in ["json", "elasticsearch", "opensearch", "solr", "xgboost"] {
            let text: String = value(connection, "SELECT ltr_export('deep', ?1)", [format]);
            if ["json", "xgboost"].contains(&format) {
                let _: String = value(connection, "SELECT ltr_import(?1, '{\"name\": \"again\"}')", [text]);
                let again: f64 = value(connection, "SELECT ltr_score('again', ?1)", [&zeros]);
                assert!((again - score).abs() < 1e-6, "{format}: {again}, {score}");
            } else {
                assert!(text.len() > 10_000, "{format}: {text}");
                // Nested JSON of that many levels is not read.
                connection.query_row("SELECT ltr_import(?1)", [text], |_| Ok(())).unwrap_err();
            }
        }
        let error = connection.query_row("SELECT ltr_export('deep', 'sql')", [], |_| Ok(())).unwrap_err();
        assert!(error.to_string().contains("512 levels"), "{error}");
    });
}

/// Trees as nested JSON, as deep as the parser reads them.
#[test]
fn nested_trees_are_read() {
    let nested = |leaf: &str, levels: usize, node: &dyn Fn(usize, &str) -> String| {
        (0..levels).fold(leaf.to_owned(), |inner, level| node(level, &inner))
    };
    let lightgbm = nested(r#"{"leaf_value":1,"leaf_count":1}"#, 110, &|level, inner| {
        format!(
            r#"{{"split_feature":0,"threshold":{level},"decision_type":"<=","missing_type":"NaN","internal_count":{},"left_child":{inner},"right_child":{{"leaf_value":0.5,"leaf_count":1}}}}"#,
            level + 2
        )
    });
    let catboost = nested(r#"{"value":1,"weight":1}"#, 110, &|level, inner| {
        format!(
            r#"{{"split":{{"split_type":"FloatFeature","float_feature_index":0,"border":{level}}},"left":{inner},"right":{{"value":0.5,"weight":1}}}}"#
        )
    });
    let xgboost = nested(r#"{"nodeid":1000,"leaf":1}"#, 58, &|level, inner| {
        format!(
            r#"{{"nodeid":{},"split":"f{level}","split_condition":{level},"yes":{},"no":{},"missing":{},"children":[{inner},{{"nodeid":{},"leaf":0.5}}]}}"#,
            999 - level,
            1000 - level,
            2000 + level,
            1000 - level,
            2000 + level
        )
    });
    let solr = nested(r#"{"value":"1"}"#, 110, &|level, inner| {
        format!(r#"{{"feature":"a","threshold":"{level}","left":{inner},"right":{{"value":"0.5"}}}}"#)
    });
    let texts = [
        format!(
            r#"{{"version":"v4","num_class":1,"num_tree_per_iteration":1,"feature_names":["a"],"tree_info":[{{"tree_structure":{lightgbm}}}]}}"#
        ),
        format!(
            r#"{{"features_info":{{"float_features":[{{"feature_index":0,"flat_feature_index":0}}]}},"trees":[{catboost}]}}"#
        ),
        format!("[{xgboost}]"),
        format!(
            r#"{{"class":"org.apache.solr.ltr.model.MultipleAdditiveTreesModel","name":"m","features":[{{"name":"a"}}],"params":{{"trees":[{{"weight":"1","root":{solr}}}]}}}}"#
        ),
    ];
    on_small_stack(move |connection| {
        for text in texts {
            let report: String = value(connection, "SELECT ltr_import(?1, '{\"name\": \"m\"}')", [text]);
            assert!(report.contains("imported"), "{report}");
            let _: String = value(connection, "SELECT ltr_export('m', 'json')", []);
        }
    });
}
