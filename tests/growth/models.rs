//! Models that grow, as BLOBs, in each function that reads one.

use std::rc::Rc;

use rusqlite::Connection;
use rusqlite::types::Value;

use crate::Point;
use crate::calls::connect;
use crate::inputs::Input;

const FEATURES: &str =
    "(SELECT '[' || group_concat('0.5') || ']' FROM json_each(ltr_info(?1), '$.roles.features'))";
const SOURCE: &str = "('WITH d(i) AS (VALUES (1), (2)) SELECT 1 AS query_id, i AS doc_id, i AS relevance, ''' || FEATURES || ''' AS features FROM d')";

/// The functions. ?1 is the model.
const CALLS: &[&str] = &[
    "SELECT ltr_info(?1)",
    "SELECT ltr_score(?1, FEATURES)",
    "SELECT ltr_prefer(?1, FEATURES, FEATURES)",
    "SELECT * FROM ltr_explain(?1, FEATURES)",
    "SELECT * FROM ltr_weights(?1)",
    "SELECT * FROM ltr_training_log(?1)",
    "SELECT * FROM ltr_factors(?1)",
    "SELECT * FROM ltr_recommend(?1, 1)",
    "SELECT * FROM ltr_rank(?1, SOURCE)",
    "SELECT * FROM ltr_evaluate(?1, SOURCE)",
    "SELECT * FROM ltr_importance(?1, SOURCE)",
    "SELECT * FROM ltr_monitor(?1, SOURCE)",
    "SELECT * FROM ltr_explain(?1, SOURCE, 1, 1)",
    "SELECT * FROM ltr_explain_rank(?1, SOURCE, 1, 1, 2)",
    "SELECT ltr_plot('weights', ?1)",
    "SELECT ltr_plot('training', ?1)",
    "SELECT ltr_report(?1, SOURCE)",
    "SELECT ltr_export(?1, 'json')",
    "SELECT ltr_export(?1, 'sql')",
    "SELECT ltr_export(?1, 'elasticsearch')",
    "SELECT ltr_export(?1, 'solr')",
    "SELECT ltr_export(?1, 'xgboost')",
];

/// A LightGBM text. `trees` times the same tree of `splits` splits on `features` features, whose names have `letters`
/// letters more. With `words` each split asks for the same set of 32 x `words` categories. A `chain` has one long path,
/// otherwise trees are balanced.
struct Forest {
    features: usize,
    letters: usize,
    trees: usize,
    splits: usize,
    words: usize,
    chain: bool,
}

fn joined(values: impl Iterator<Item = i64>) -> String {
    values.map(|value| value.to_string()).collect::<Vec<_>>().join(" ")
}

impl Forest {
    fn text(&self) -> String {
        let Self { features, letters, trees, splits, words, chain } = *self;
        let count = splits as i64;
        let child = |at: i64| if at < count { at } else { -1 - (at - count) };
        let (left, right): (Vec<i64>, Vec<i64>) = if chain {
            (0..count)
                .map(|split| (-1 - split, if split + 1 < count { split + 1 } else { -1 - count }))
                .unzip()
        } else {
            (0..count).map(|split| (child(2 * split + 1), child(2 * split + 2))).unzip()
        };
        let name = |feature: usize| format!("{}{feature}", "n".repeat(letters));
        let names: Vec<String> = (0..features).map(name).collect();
        let is_set = i64::from(words > 0);
        let threshold = |split: i64| if words > 0 { 0 } else { split };
        let mut text = format!(
            "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx={}\nobjective=regression\n\
             feature_names={}\nfeature_infos={}\n\n",
            features - 1,
            names.join(" "),
            vec!["[0:1]"; features].join(" ")
        );
        for tree in 0..trees {
            text += &format!(
                "Tree={tree}\nnum_leaves={}\nnum_cat={is_set}\nsplit_feature={}\nthreshold={}\ndecision_type={}\nleft_child={}\n\
                 right_child={}\nleaf_value={}\n",
                splits + 1,
                joined((0..count).map(|split| split % features as i64)),
                joined((0..count).map(threshold)),
                joined((0..count).map(|_| is_set)),
                joined(left.iter().copied()),
                joined(right.iter().copied()),
                joined(0..=count)
            );
            if words > 0 {
                text += &format!(
                    "cat_boundaries=0 {words}\ncat_threshold={}\n",
                    joined((0..words).map(|_| 0xffff_ffff))
                );
            }
            text += "is_linear=0\nshrinkage=1\n\n\n";
        }
        text + "end of trees\n"
    }
}

/// What grows with the size of the text.
type Make = fn(usize) -> Forest;
const FORESTS: &[(&str, Make)] = &[
    ("features", |size| Forest {
        features: 1 + size / 16,
        letters: 0,
        trees: 1,
        splits: 1,
        words: 0,
        chain: false,
    }),
    ("trees", |size| Forest {
        features: 3,
        letters: 0,
        trees: 1 + size / 200,
        splits: 3,
        words: 0,
        chain: false,
    }),
    ("splits", |size| Forest {
        features: 1,
        letters: 0,
        trees: 1,
        splits: 1 + size / 24,
        words: 0,
        chain: false,
    }),
    ("splits of many features", |size| Forest {
        features: 1 + size / 48,
        letters: 0,
        trees: 1,
        splits: 1 + size / 48,
        words: 0,
        chain: false,
    }),
    ("long paths", |size| Forest {
        features: 1,
        letters: 0,
        trees: 1 + size / 5000,
        splits: 200,
        words: 0,
        chain: true,
    }),
    ("long paths of many features", |size| Forest {
        features: 200,
        letters: 0,
        trees: 1 + size / 5000,
        splits: 200,
        words: 0,
        chain: true,
    }),
    ("letters of a name", |size| Forest {
        features: 1,
        letters: size,
        trees: 1,
        splits: 3,
        words: 0,
        chain: false,
    }),
    ("splits of a long name", |size| Forest {
        features: 1,
        letters: 200,
        trees: 1,
        splits: 1 + size / 48,
        words: 0,
        chain: false,
    }),
    ("categories", |size| Forest {
        features: 1,
        letters: 0,
        trees: 1,
        splits: 1,
        words: 1 + size / 12,
        chain: false,
    }),
    ("splits of many categories", |size| Forest {
        features: 1,
        letters: 0,
        trees: 1,
        splits: 1 + size / 48,
        words: 8,
        chain: false,
    }),
];

/// A linear model of this library as JSON.
fn linear(features: usize) -> String {
    let list = |value: &str| vec![value; features].join(",");
    let names: Vec<String> = (0..features).map(|feature| format!("\"f{feature}\"")).collect();
    format!(
        r#"{{"format":"sqlite-ltr model","format_version":1,"algorithm":"rank_svm","features":[{}],"missing":"error","means":[{}],"slots":false,"terms":[{{"scaling":{{"kind":"none"}},"form":"scoring","kernel":"linear","weights":[{}]}}],"objective":0.5,"gap":0.0,"columns":{{"query":"query_id","doc":"doc_id","relevance":"relevance","weight":null,"doc_weight":null,"slot":null,"features":"features","query_features":null,"ignored":[]}},"settings":{{}},"training":{{}},"log":[]}}"#,
        names.join(","),
        list("0.5"),
        list("0.25")
    )
}

/// The model of a text as a BLOB.
fn imported(connection: &Connection, text: &str) -> Value {
    let sql = r#"SELECT ltr_import(?1, '{"name": "grown", "keep_versions": 1}')"#;
    connection.query_row(sql, [text], |_| Ok(())).unwrap_or_else(|problem| panic!("{problem}: {text:.300}"));
    let model =
        connection
            .query_row("SELECT model FROM ltr_models WHERE name = 'grown' AND active", [], |row| row.get(0));
    model.expect("a stored model")
}

/// Ratings of as many users as fit.
fn rated(connection: &Connection, size: usize) -> Value {
    let source = format!(
        "WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < {}) SELECT i / 2 AS user, i % 97 AS item, 1 + i % 5 AS rating FROM n",
        size / 32
    );
    let sql = r#"SELECT ltr_fit('cofi_rank', ?1, '{"lambda": 1, "factors": 2, "max_rounds": 1}')"#;
    connection.query_row(sql, [source], |row| row.get(0)).expect("a model")
}

/// Each kind of model in each function.
pub fn points(is_chosen: &dyn Fn(&str) -> bool) -> Vec<Point> {
    let connection = Rc::new(connect());
    let mut points = Vec::new();
    let function =
        |sql: &str| sql[sql.find("ltr_").unwrap_or(0)..].split('(').next().unwrap_or_default().to_owned();
    for sql in CALLS.iter().filter(|sql| is_chosen(&function(sql))) {
        let statement = sql.replace("SOURCE", SOURCE).replace("FEATURES", FEATURES);
        let mut add = |kind: &str, make: Box<dyn Fn(usize) -> Value>| {
            let (name, sql) = (format!("{sql}: {kind}"), statement.clone());
            points.push(Point { name, sql, input: Input { name: kind.to_owned(), make } });
        };
        for (kind, make) in FORESTS {
            let connection = Rc::clone(&connection);
            add(kind, Box::new(move |size| imported(&connection, &make(size).text())));
        }
        let of_linear = Rc::clone(&connection);
        add("linear", Box::new(move |size| imported(&of_linear, &linear(1 + size / 32))));
        let of_ratings = Rc::clone(&connection);
        add("users", Box::new(move |size| rated(&of_ratings, size)));
    }
    points
}
