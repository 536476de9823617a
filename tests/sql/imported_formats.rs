//! The details of each library's format: keys, envelopes, sums, categories, versions (rules 9.17 and 9.21).

use serde_json::{Value, json};
use sqlite_ltr::Model;

use super::imported::{exported, file, import, ranked};
use super::support::{database, value};

/// Rule 9.21: a key that its reader does not know is named, at every place of every format.
#[test]
fn keys_that_are_not_known_are_refused_by_name() {
    for name in [
        "lightgbm.json",
        "xgboost.json",
        "xgboost_dump.json",
        "catboost.json",
        "catboost_lossguide.json",
        "solr.json",
        "plugin.json",
        "linear.json",
    ] {
        let text = file(&format!("small/{name}"));
        // A definition that is a text has quotes with backslashes.
        for (open, key) in [("{", "\"new_key\": 1"), ("{", "\"new_key\": {\"a\": [1]}")] {
            let places = text.match_indices(open).map(|(at, _)| at + 1);
            let places: Vec<usize> = places.filter(|at| !text[*at..].starts_with('\\')).collect();
            let mut refused = 0;
            for at in &places {
                let comma = if text[*at..].trim_start().starts_with('}') { "" } else { ", " };
                let changed = format!("{}{key}{comma}{}", &text[..*at], &text[*at..]);
                match Model::import(&changed) {
                    Ok(_) => {}
                    Err(error) => {
                        assert!(error.to_string().contains("new_key"), "{name}: {error}\n{changed}");
                        refused += 1;
                    }
                }
            }
            // Parameters of the training and of the objective may have any keys.
            assert!(2 * refused >= places.len(), "{name}: {refused} of {}", places.len());
        }
    }
    for (name, line) in
        [("lightgbm.txt", "version=v4"), ("lightgbm.txt", "num_cat=0"), ("ranklib.txt", "<ensemble>")]
    {
        let text = file(&format!("small/{name}"));
        let line = if text.contains(line) { line } else { "num_cat=1" };
        let new = if name == "ranklib.txt" { "<new_key/>" } else { "\nnew_key=1" };
        let error = Model::import(text.replacen(line, &format!("{line}{new}"), 1)).unwrap_err().to_string();
        assert!(error.contains("new_key"), "{name}: {error}");
    }
    let ranklib = file("small/ranklib.txt");
    for (old, new) in [
        ("<tree ", "<tree new_key=\"1\" "),
        ("<split pos", "<split new_key=\"1\" pos"),
        ("<output", "<output new_key=\"1\""),
    ] {
        let error = Model::import(ranklib.replacen(old, new, 1)).unwrap_err().to_string();
        assert!(error.contains("'new_key'"), "{old}: {error}");
    }
}

/// Rule 9.21: errors name library files that are not model texts, with the line that makes one.
#[test]
fn other_files_are_named() {
    let cases: [(&[u8], &str); 12] = [
        (b"\x1f\x8b\x08\x00", "gzip.open("),
        (b"PK\x03\x04", "ZIP archive"),
        (b"CBM1\x00", "load_model('model.cbm').save_model("),
        (b"{L\x00\x00\x00\x00\x00\x00\x00\x07learner", "Booster(model_file='model.ubj').save_model("),
        (b"\x80\x04\x95", "pickle"),
        (b"\x08\x08\x12\x08skl2onnx", "ONNX"),
        (b"binf\x00", "model.bin"),
        (b"\xff\xfe{\x00", "UTF-16"),
        (b"[\"0:[f0<0.5] yes=1,no=2\"]", "booster.save_model('model.json')"),
        (b" [ \"{}\"]", "booster.save_model('model.json')"),
        (b"booster[0]:\n0:[f0<0.5]", "booster.save_model('model.json')"),
        (b"/data/my models/model.json\n", "readfile('model.json')"),
    ];
    for (bytes, expected) in cases {
        let error = Model::import(bytes).unwrap_err().to_string();
        assert!(error.starts_with("argument 'text' ") && error.contains(expected), "{error}");
    }
}

fn scores_of(text: &str, rows: &[&str]) -> Vec<f64> {
    let connection = database();
    import(&connection, text, &json!({ "name": "m" }));
    let score = |row: &&str| value(&connection, "SELECT ltr_score('m', ?1)", [*row]);
    rows.iter().map(score).collect()
}

/// Rule 9.17: Solr's branch for missing values, and numbers as Java reads them.
#[test]
fn solr_sends_missing_values_where_its_nodes_say() {
    let model = |null_is_zero: &Value, missing: &Value| {
        let mut root = json!({ "feature": "a", "threshold": "0.5f", "left": { "value": "-1" }, "right": { "value": "2.0F" } });
        if !missing.is_null() {
            root["missing"] = missing.clone();
        }
        let mut params = json!({ "trees": [{ "weight": "1f", "root": root }] });
        if !null_is_zero.is_null() {
            params["isNullSameAsZero"] = null_is_zero.clone();
        }
        json!({ "class": "org.apache.solr.ltr.model.MultipleAdditiveTreesModel", "name": "m", "features": [{ "name": "a" }], "params": params })
            .to_string()
    };
    for (null_is_zero, missing, expected) in [
        (json!(false), json!("left"), -1.0),
        (json!(false), json!("right"), 2.0),
        (json!(false), Value::Null, 2.0),
        (json!(true), json!("right"), -1.0),
        (Value::Null, json!("right"), -1.0),
    ] {
        let actual = scores_of(&model(&null_is_zero, &missing), &["[null]", "[0]", "[1]"]);
        assert_eq!(actual, [expected, -1.0, 2.0], "{null_is_zero} {missing}");
    }
    for (null_is_zero, missing) in [(json!("no"), json!("left")), (json!(false), json!("up"))] {
        let error = Model::import(model(&null_is_zero, &missing)).unwrap_err().to_string();
        assert!(error.contains("damaged"), "{error}");
    }
}

/// Rule 9.17: the order and the 32 bits of RankLib's sums; a random forest has the mean of its ensembles.
#[test]
fn ranklib_sums_in_32_bits() {
    let tree = |output: f32, weight: f32| {
        format!(
            "<tree id=\"1\" weight=\"{weight}\"><split><feature>1</feature><threshold>0.5</threshold><split pos=\"left\"><output>{output:?}</output></split><split pos=\"right\"><output>0</output></split></split></tree>"
        )
    };
    let outputs: Vec<f32> = (0..1000).map(|i| 1.0 / (i as f32 + 3.0)).collect();
    let trees: String = outputs.iter().map(|output| tree(*output, 0.1)).collect();
    let sum = outputs
        .iter()
        .fold(0.0_f32, |sum, output| (f64::from(sum) + f64::from(*output) * f64::from(0.1_f32)) as f32);
    let text = format!("## LambdaMART\n\n<ensemble>{trees}</ensemble>");
    assert_eq!(scores_of(&text, &["[0]"]), [f64::from(sum)]);
    let connection = database();
    import(&connection, &text, &json!({ "name": "m" }));
    let rows = "SELECT i / 40 AS query_id, i AS doc_id, 0 AS \"1\" FROM (WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 99) SELECT i FROM n)";
    assert_eq!(ranked(&connection, "m", rows), vec![f64::from(sum); 100]);
    let forest = format!(
        "## Random Forests\n<ensemble>{}</ensemble>\n<ensemble>{}</ensemble>",
        tree(3.0, 1.0),
        tree(4.0, 0.5)
    );
    assert_eq!(scores_of(&forest, &["[0]", "[1]"]), [2.5, 0.0]);
}

/// Rule 9.17: categories that are whole numbers of any size, and truth values in the spellings of SQL, JSON and Python.
#[test]
fn categories_are_numbers_and_truth_values() {
    let text = |values: &str| {
        let sets = "Tree=0\nnum_leaves=2\nnum_cat=1\nsplit_feature=0\nthreshold=0\ndecision_type=1\nleft_child=-1\nright_child=-2\nleaf_value=-1 2\ncat_boundaries=0 1\ncat_threshold=1\nis_linear=0\nshrinkage=1\n\n\n";
        format!(
            "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=0\nobjective=lambdarank\nfeature_names=c\nfeature_infos=0:1\n\n{sets}end of trees\n\npandas_categorical:[[{values}]]\n"
        )
    };
    let cases = [
        (
            "9007199254740993, 9007199254740992",
            vec!["9007199254740993", "9007199254740992", "'9007199254740993'"],
            vec![-1.0, 2.0, -1.0],
        ),
        (
            "18446744073709551615, 1541815603606036487",
            vec!["'18446744073709551615'", "1541815603606036487"],
            vec![-1.0, 2.0],
        ),
        ("1.0, 2.5", vec!["1", "1.0", "2.5"], vec![-1.0, -1.0, 2.0]),
        (
            "true, false",
            vec!["1", "'True'", "'true'", "0", "'False'", "'false'", "'yes'", "NULL"],
            vec![-1.0, -1.0, -1.0, 2.0, 2.0, 2.0, 2.0, 2.0],
        ),
        ("\"True\", \"False\"", vec!["1", "'True'", "'true'", "0"], vec![-1.0, -1.0, -1.0, 2.0]),
        ("\"true\", \"maybe\"", vec!["1", "'True'", "'true'"], vec![2.0, 2.0, -1.0]),
    ];
    for (values, cells, expected) in cases {
        let connection = database();
        import(&connection, &text(values), &json!({ "name": "m" }));
        for format in ["json", "xgboost"] {
            import(&connection, &exported(&connection, "m", format), &json!({ "name": format }));
        }
        let rows: Vec<String> = cells
            .iter()
            .enumerate()
            .map(|(doc, cell)| format!("SELECT 1 AS query_id, {doc} AS doc_id, {cell} AS c"))
            .collect();
        for name in ["m", "json", "xgboost"] {
            assert_eq!(ranked(&connection, name, &rows.join(" UNION ALL ")), expected, "{values} {name}");
        }
    }
    let error = Model::import(text("null, [1]")).unwrap_err().to_string();
    assert!(error.contains("the category null is not a text"), "{error}");
    let many: Vec<String> = (0..10_001).map(|value| value.to_string()).collect();
    let error = Model::import(text(&many.join(","))).unwrap_err().to_string();
    assert!(error.contains("categories with 10001 values"), "{error}");
}

/// Rule 9.17: the envelopes of the plugin, from a request to what a search for the model returns.
#[test]
fn the_plugin_stores_models_in_envelopes() {
    let linear = "## Coordinate Ascent\n1:0.5 2:0.25";
    let inner = json!({ "type": "model/ranklib", "definition": linear });
    let features = json!({ "name": "set", "features": [{ "name": "bm25", "params": ["q"], "template_language": "mustache", "template": {} }, { "name": "stars" }] });
    let stored = json!({ "name": "m", "type": "model", "model": { "name": "m", "feature_set": features, "model": inner } });
    let hit =
        |source: &Value| json!({ "_index": ".ltrstore", "_id": "model-m", "_score": 1.0, "_source": source });
    let answer = |hits: &[Value]| json!({ "took": 1, "timed_out": false, "_shards": { "total": 1 }, "hits": { "total": { "value": 1 }, "max_score": 1.0, "hits": hits } });
    let set = json!({ "name": "set", "type": "featureset", "featureset": features });
    let texts = [
        json!({ "model": { "name": "m", "model": inner } }),
        json!({ "name": "m", "model": inner }),
        inner.clone(),
        stored.clone(),
        hit(&stored),
        answer(&[hit(&stored)]),
        answer(&[hit(&set), hit(&stored)]),
    ];
    for text in &texts {
        assert_eq!(scores_of(&text.to_string(), &["[1, 2]"]), [1.0], "{text}");
    }
    assert_eq!(Model::import(texts[3].to_string()).unwrap().info().features, ["bm25", "stars"]);
    assert_eq!(Model::import(texts[0].to_string()).unwrap().info().features, ["1", "2"]);
    for (text, expected) in [
        (answer(&[hit(&stored), hit(&stored)]), "the answer has 2 models (m, m)"),
        (answer(&[hit(&set)]), "the answer has no model"),
    ] {
        let error = Model::import(text.to_string()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Rule 9.17: a split of an indicator has no threshold. It is 1 or absent.
#[test]
fn indicators_are_one_or_absent() {
    let text = r#"[{"nodeid": 0, "depth": 0, "split": "red", "yes": 2, "no": 1, "children": [{"nodeid": 1, "leaf": -1}, {"nodeid": 2, "leaf": 2}]}]"#;
    assert_eq!(scores_of(text, &["[1]", "[0]", "[null]"]), [2.0, -1.0, -1.0]);
}

/// Rule 9.17: the text of LightGBM 2.1 and before has no line 'end of trees'.
#[test]
fn old_texts_of_lightgbm_end_with_their_last_tree() {
    let text = file("small/lightgbm.txt").replace("version=v4", "version=v2");
    // The lines behind the trees have the texts of the categories: without them its values are codes.
    let scores = |text: &str| scores_of(text, &["[1, 2, 3, 0]", "[null, 0, -3, 2]"]);
    let (trees, _) = text.split_once("end of trees").unwrap();
    let expected = scores(&format!("{trees}end of trees\n"));
    assert_eq!(scores(trees), expected);
    assert_eq!(scores(&format!("{trees}feature importances:\nu=3\n")), expected);
    let rows = ["[1, 2, 3, \"a\"]", "[null, 0, -3, \"b\"]"];
    assert_eq!(scores_of(&text.replace("end of trees\n", ""), &rows), scores_of(&text, &rows));
    let error = Model::import(&trees[..trees.rfind("shrinkage").unwrap()]).unwrap_err().to_string();
    assert!(error.contains("it is cut off"), "{error}");
}

/// Rule 9.17: what versions of XGBoost write in other ways.
#[test]
fn versions_of_xgboost_agree() {
    let rows = ["[1, 2, 3, \"a\"]", "[null, 0, -3, \"b\"]", "[0.3, -1, 1, \"e\"]"];
    // 1. The threshold of a split of categories is NaN before version 3.
    let text = file("small/xgboost.json");
    let older = text.replacen("1E-45", "NaN", 1);
    assert!(older != text);
    let indented = older.replace("\"split_conditions\":[", "\"split_conditions\": [\n");
    assert!(indented != older);
    for older in [older, indented] {
        assert_eq!(scores_of(&older, &rows), scores_of(&text, &rows));
    }
    // 2. Since 3.3 dart is stored as gbtree with weights.
    let old: Value = serde_json::from_str(&file("small/xgboost_dart.json")).unwrap();
    let mut new = old.clone();
    let booster = &old["learner"]["gradient_booster"];
    let mut inner = booster["gbtree"].clone();
    inner["model"]["weight_drop"] = booster["weight_drop"].clone();
    new["learner"]["gradient_booster"] = inner;
    let rows = ["[1, 2, 3]", "[null, 0, -3]"];
    let scores = [&old, &new].map(|model| scores_of(&model.to_string(), &rows));
    assert_eq!(scores[0], scores[1]);
}

/// A LightGBM text: a split whose gain is infinite, and a tree of one leaf as before version 4.
fn lightgbm_stump(threshold: &str, decision: u8) -> String {
    format!(
        "tree\nversion=v3\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=0\nobjective=lambdarank\nfeature_names=a\nfeature_infos=[0:1]\n\nTree=0\nnum_leaves=2\nnum_cat=0\nsplit_feature=0\nsplit_gain=inf\nthreshold={threshold}\ndecision_type={decision}\nleft_child=-1\nright_child=-2\nleaf_value=-1 2\nleaf_count=3 4\ninternal_count=7\nshrinkage=1\n\n\nTree=1\nnum_leaves=1\nnum_cat=0\nsplit_feature=\nsplit_gain=\nthreshold=\ndecision_type=\nleft_child=\nright_child=\nleaf_value=10\nleaf_weight=\nleaf_count=\ninternal_count=\nshrinkage=1\n\n\nend of trees\n"
    )
}

/// Rule 9.17: LightGBM treats numbers up to 1e-35 as 0, also next to a threshold. The sides come from LightGBM 4.6.
#[test]
fn numbers_near_zero_are_zero_for_lightgbm() {
    let rows =
        ["[-2e-35]", "[-1.0000000180025095e-35]", "[1e-36]", "[1.0000000180025095e-35]", "[2e-35]", "[null]"];
    let (left, right) = (9.0, 12.0);
    let below = [left, right, right, right, right];
    let above = [left, left, left, left, right];
    for (threshold, sides) in [
        ("-1.0000000180025095e-35", below),
        ("-5e-36", below),
        ("-0.0", above),
        ("5e-36", above),
        ("1.0000000180025095e-35", above),
    ] {
        for (decision, kind, default_left) in [(8, "NaN", false), (10, "NaN", true), (0, "None", false)] {
            let missing = match kind {
                "NaN" => default_left,
                _ => sides[2] < right,
            };
            let expected: Vec<f64> = sides.into_iter().chain([if missing { left } else { right }]).collect();
            let actual = scores_of(&lightgbm_stump(threshold, decision), &rows);
            assert_eq!(actual, expected, "{threshold} {decision}");
            let nodes = json!({ "split_feature": 0, "threshold": threshold.parse::<f64>().unwrap(), "decision_type": "<=", "default_left": default_left, "missing_type": kind, "left_child": { "leaf_value": left }, "right_child": { "leaf_value": right } });
            let json = json!({ "version": "v4", "num_class": 1, "num_tree_per_iteration": 1, "feature_names": ["a"], "tree_info": [{ "tree_structure": nodes }] });
            assert_eq!(scores_of(&json.to_string(), &rows), expected, "{json}");
        }
    }
}

/// Rule 9.17: a threshold of infinity is 1e300 in LightGBM's JSON.
#[test]
fn infinite_thresholds_are_above_all_numbers() {
    let node = json!({ "split_feature": 0, "threshold": 1e300, "decision_type": "<=", "default_left": false, "missing_type": "NaN", "left_child": { "leaf_value": 9 }, "right_child": { "leaf_value": 12 } });
    let json = json!({ "version": "v4", "num_class": 1, "num_tree_per_iteration": 1, "feature_names": ["a"], "tree_info": [{ "tree_structure": node }] });
    for text in [json.to_string(), lightgbm_stump("inf", 8)] {
        assert_eq!(scores_of(&text, &["[1.7e308]", "[null]"]), [9.0, 12.0], "{text}");
    }
}

/// The objects of a value that have this key, by their pointers.
fn objects_with(value: &Value, key: &str, at: &str, found: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(object) => object.iter().map(|(key, child)| (format!("{at}/{key}"), child)).collect(),
        Value::Array(list) => {
            list.iter().enumerate().map(|(i, child)| (format!("{at}/{i}"), child)).collect()
        }
        _ => Vec::new(),
    };
    if value.get(key).is_some() {
        found.push(at.to_owned());
    }
    for (at, child) in children {
        objects_with(child, key, &at, found);
    }
}

/// Rule 9.21: a node is a leaf or a split. Parts of one, or of both, are errors.
#[test]
fn nodes_are_leaves_or_splits() {
    let formats: [(&str, &str, &[&str]); 4] = [
        ("lightgbm.json", "leaf_value", &["split_feature", "threshold", "left_child", "right_child"]),
        ("xgboost_dump.json", "leaf", &["split", "yes", "no", "children"]),
        ("catboost_lossguide.json", "value", &["split", "left", "right"]),
        ("solr.json", "value", &["feature", "threshold", "left", "right"]),
    ];
    for (name, leaf, split) in formats {
        let document: Value = serde_json::from_str(&file(&format!("small/{name}"))).unwrap();
        let child = *split.last().unwrap();
        let (mut splits, mut changed) = (Vec::new(), Vec::new());
        objects_with(&document, child, "", &mut splits);
        for at in &splits {
            for key in split {
                let mut without = document.clone();
                without.pointer_mut(at).unwrap().as_object_mut().unwrap().remove(*key);
                changed.push(without);
            }
            // A leaf that has children.
            let mut both = document.clone();
            let node = both.pointer_mut(at).unwrap().as_object_mut().unwrap();
            node.remove(split[0]);
            node.insert(leaf.to_owned(), json!(1));
            changed.push(both);
        }
        assert!(!splits.is_empty(), "{name}");
        for text in changed {
            assert!(Model::import(text.to_string()).is_err(), "{name}: {text}");
        }
    }
}

/// Rule 9.21: Solr's other classes of models are named.
#[test]
fn other_models_of_solr_are_named() {
    for (class, params) in [
        (
            "NeuralNetworkModel",
            json!({ "layers": [{ "matrix": [[1.0]], "bias": [0.0], "activation": "relu" }] }),
        ),
        ("DefaultWrapperModel", json!({ "resource": "model.json" })),
    ] {
        let text = json!({ "class": format!("org.apache.solr.ltr.model.{class}"), "name": "m", "features": [{ "name": "a" }], "params": params });
        let error = Model::import(text.to_string()).unwrap_err().to_string();
        assert!(error.contains(class), "{error}");
    }
}
