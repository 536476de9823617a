//! Exports of models whose text is much longer than their bytes, under a limit of the process: exports have no option
//! `max_memory`.

use super::{FACTOR, MB, PROCESS_LIMIT, UNCOUNTED_MB, can_measure, child, connect, judged, report_text};

/// The variable with the file and the format that a child exports.
const EXPORT: &str = "LTR_MEMORY_EXPORT";

/// A text of LightGBM: balanced trees of one feature. With `words`, all splits ask for the same 32 * `words` categories.
fn lightgbm(name: &str, trees: usize, splits: usize, words: usize) -> String {
    let list = |numbers: &mut dyn Iterator<Item = i64>| -> String {
        numbers.map(|number| number.to_string()).collect::<Vec<String>>().join(" ")
    };
    let (count, has_sets) = (splits as i64, i64::from(words > 0));
    let child = |node: i64| if node < count { node } else { count - 1 - node };
    let mut tree = format!(
        "num_leaves={}\nnum_cat={has_sets}\nsplit_feature={}\nthreshold={}\ndecision_type={}\nleft_child={}\nright_child={}\nleaf_value={}\n",
        splits + 1,
        list(&mut (0..count).map(|_| 0)),
        list(&mut (0..count).map(|split| split * (1 - has_sets))),
        list(&mut (0..count).map(|_| has_sets)),
        list(&mut (0..count).map(|split| child(2 * split + 1))),
        list(&mut (0..count).map(|split| child(2 * split + 2))),
        list(&mut (0..=count).map(|leaf| 1 + leaf % 7)),
    );
    if words > 0 {
        let all = list(&mut std::iter::repeat_n(i64::from(u32::MAX), words));
        tree += "cat_boundaries=0 ";
        tree += &words.to_string();
        tree += "\ncat_threshold=";
        tree += &all;
        tree += "\n";
    }
    let trees = (0..trees).map(|number| format!("Tree={number}\n{tree}\n")).collect::<Vec<String>>().concat();
    format!(
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=0\nobjective=regression\n\
         feature_names={name}\nfeature_infos=none\n\n{trees}end of trees\n"
    )
}

/// A model of each kind whose text is much longer than its bytes.
fn amplified() -> Vec<(&'static str, Vec<u8>)> {
    let connection = connect();
    let import = |text: String| -> Vec<u8> {
        let sql = "SELECT ltr_import(?1, '{\"name\": \"m\"}')";
        connection.query_row(sql, [text], |_| Ok(())).expect("a model");
        let sql = "SELECT model FROM ltr_models WHERE name = 'm' AND active";
        connection.query_row(sql, [], |row| row.get(0)).expect("its bytes")
    };
    connection.execute_batch(&format!("CREATE TABLE src AS {}", judged(40, 20, 5))).expect("rows");
    let sql =
        "SELECT ltr_fit('boosted_trees', 'src', '{\"trees\": 600, \"depth\": 8, \"learning_rate\": 0.01}')";
    vec![
        ("a long name", import(lightgbm(&"n".repeat(20_000), 1, 2000, 0))),
        ("a shared set", import(lightgbm("n", 1, 500, 1000))),
        ("many leaves", import(lightgbm("n", 100, 1500, 0))),
        ("oblivious trees", connection.query_row(sql, [], |row| row.get(0)).expect("a model")),
    ]
}

#[test]
fn exports_stay_within_the_memory_of_the_process_or_refuse() {
    // 1. A child process measures one export.
    if let Ok(request) = std::env::var(EXPORT) {
        let (format, file) = request.split_once(' ').expect("a format and a file");
        let (model, connection) = (std::fs::read(file).expect("a model"), connect());
        // SQLite's copies of the arguments are the host's, so they are made before.
        let mut statement = connection.prepare("SELECT length(ltr_export(?1, ?2))").expect("a statement");
        statement.raw_bind_parameter(1, model).expect("a model");
        statement.raw_bind_parameter(2, format).expect("a format");
        return report_text(|| {
            let mut rows = statement.raw_query();
            let row = rows.next()?.expect("a row");
            Ok(format!("{} bytes", row.get::<_, i64>(0)?))
        });
    }
    if !can_measure() {
        return;
    }
    // 2. Each model in each format.
    let (mut problems, mut done) = (Vec::new(), 0);
    for (number, (name, model)) in amplified().into_iter().enumerate() {
        let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("exported-{number}"));
        std::fs::write(&file, &model).expect("a file");
        for format in ["json", "sql", "elasticsearch", "opensearch", "solr", "xgboost"] {
            for limit in [20_000_000_u32, 200_000_000] {
                let (peak, outcome) = child(
                    "exports::exports_stay_within_the_memory_of_the_process_or_refuse",
                    &[(EXPORT, format!("{format} {}", file.display())), (PROCESS_LIMIT, limit.to_string())],
                );
                let line = format!(
                    "{name:16} {} bytes as {format}, {limit}: {:.1} MB, {outcome}",
                    model.len(),
                    peak / MB
                );
                println!("{line}");
                let (refused, bytes) = (
                    outcome.contains("MAX_MEMORY")
                        || outcome.contains("cannot be exported")
                        || outcome.contains("longest"),
                    &outcome,
                );
                let bytes: Option<usize> = bytes.strip_suffix(" bytes").and_then(|bytes| bytes.parse().ok());
                done += usize::from(bytes.is_some());
                let is_long = !["json", "sql"].contains(&format)
                    && bytes.is_some_and(|bytes| bytes > 100 * model.len());
                if peak > FACTOR * f64::from(limit) + UNCOUNTED_MB * MB
                    || is_long
                    || !(refused || bytes.is_some())
                {
                    problems.push(line);
                }
            }
        }
        std::fs::remove_file(&file).expect("the file");
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(done >= 20, "{done} exports");
}
