//! Peak resident memory of calls under the option `max_memory` and under `SQLITE_LTR_MAX_MEMORY`: at most 1.25 times the
//! limit + 10 MB above what is resident before the call (rule 13.11). A call succeeds within that or refuses.
//!
//! [`cases`] walks algorithms and options under `max_memory`, `walk` walks the functions under a limit of the process, and
//! `exports` walks the formats.
//!
//! Every case runs in a child process, because memory that was freed stays resident. Linux only: the peak is `VmHWM` of
//! `/proc/self/status`. The full matrix, about 10 minutes:
//! `LTR_LONG=1 cargo test --release --test memory -- --nocapture`

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a child process reports by its output; figures are shown"
)]

mod exports;
mod walk;

use std::fmt::Write as _;
use std::process::Command;

use rusqlite::Connection;

/// The variable with a child's case and limit in bytes.
const CASE: &str = "LTR_MEMORY_CASE";
/// The limit of the process.
const PROCESS_LIMIT: &str = "SQLITE_LTR_MAX_MEMORY";
/// What the limit may be exceeded by: a fraction and a constant for what is not counted.
const FACTOR: f64 = 1.25;
const UNCOUNTED_MB: f64 = 10.0;
const MB: f64 = 1e6;

/// A call whose memory is measured. `{options}` in the call is replaced by its options with the limit.
struct Case {
    name: String,
    /// The source, as a query.
    source: String,
    /// Statements that run before.
    before: String,
    call: String,
    /// Options besides `max_memory`, with a comma at the end if there are any.
    options: String,
}

/// Judged documents of queries with this many REAL features.
fn judged(queries: usize, documents: usize, features: usize) -> String {
    let mut columns = String::new();
    for feature in 0..features {
        let (a, b) = (7 + 13 * feature, 101 + feature);
        write!(columns, ", ((i * {a} + (i * i) % {b}) % 1000) / 1000.0 AS f{feature}").expect("a text");
    }
    let relevance = "((i * 7 + (i * i) % 101) % 1000) / 250 AS relevance";
    counted(queries * documents, &format!("i / {documents} AS query_id, i AS doc_id, {relevance}{columns}"))
}

/// Documents with one feature and ids of this many bytes.
fn long_ids(rows: usize, bytes: usize) -> String {
    let id = format!("printf('%0{bytes}d', i) AS doc_id");
    counted(rows, &format!("i / 10 AS query_id, {id}, i % 3 AS relevance, (i % 17) / 17.0 AS a"))
}

fn ratings(users: usize, items: usize, each: usize) -> String {
    let item = format!("(i * 7919 + (i / {each}) * 31) % {items} AS item_id");
    counted(users * each, &format!("i / {each} AS user_id, {item}, 1 + (i * 7 + i / {each}) % 5 AS rating"))
}

/// Documents at three slots; the first three documents of every four belong to a slot.
fn slots(queries: usize, documents: usize, features: usize) -> String {
    let belongs = "doc_id % 4 = s.value";
    let columns: Vec<String> = (0..features).map(|f| format!("f{f} + ({belongs}) AS f{f}")).collect();
    let (rows, columns) = (judged(queries, documents, features), columns.join(", "));
    format!(
        "SELECT query_id, doc_id, {belongs} AS relevance, s.value AS slot, {columns} \
         FROM ({rows}) AS j, json_each('[1, 2, 3]') AS s"
    )
}

fn counted(rows: usize, columns: &str) -> String {
    let numbers = format!("VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < {}", rows - 1);
    format!("WITH RECURSIVE n(i) AS ({numbers}) SELECT {columns} FROM n")
}

fn training(name: &str, algorithm: &str, source: String, options: &str) -> Case {
    let call = format!("SELECT length(ltr_fit('{algorithm}', 'src', '{{options}}'))");
    let (name, options) = (name.to_owned(), options.to_owned());
    Case { name, source, before: String::new(), call, options }
}

/// A call with a model that was trained before without a limit.
fn with_model(name: &str, train: &str, call: &str, source: String) -> Case {
    let before = format!("SELECT {train};");
    Case { name: name.to_owned(), source, before, call: call.to_owned(), options: String::new() }
}

/// Every algorithm. `size` multiplies the number of queries.
fn algorithms(size: usize) -> Vec<Case> {
    let connection = connect();
    let mut names = connection.prepare("SELECT name FROM ltr_algorithms()").expect("a statement");
    let names = names.query_map([], |row| row.get::<_, String>(0)).expect("rows");
    let case = |name: String| match &name[..] {
        "cofi_rank" => {
            training(&name, &name, ratings(200 * size, 300, 30), "\"lambda\": 1, \"max_rounds\": 2,")
        }
        "matching" => training(&name, &name, slots(20 * size, 4, 20), "\"lambda\": 1,"),
        "perceptron" => training(&name, &name, judged(50 * size, 40, 20), ""),
        "boosted_trees" | "lambdamart" => training(&name, &name, judged(25 * size, 20, 20), "\"trees\": 20,"),
        "auto" => training(&name, &name, judged(15 * size, 20, 20), ""),
        _ => training(&name, &name, judged(25 * size, 20, 20), "\"lambda\": 1,"),
    };
    names.map(|name| case(name.expect("a name"))).collect()
}

/// What took many times the limit before it was counted, and what solvers, kernels and results allocate.
fn large(size: usize) -> Vec<Case> {
    vec![
        training("rows", "rank_svm", judged(1000 * size, 10, 10), "\"lambda\": 1,"),
        training("ids", "rank_svm", long_ids(2000 * size, 5000), "\"lambda\": 1,"),
        training(
            "quantile_minmax",
            "regression",
            judged(100 * size, 20, 50),
            "\"lambda\": 1, \"scale\": \"quantile_minmax\",",
        ),
        training(
            "3000 landmarks",
            "rank_svm",
            judged(40 * size, 30, 5),
            "\"lambda\": 1, \"kernel\": \"gaussian\", \"landmarks\": 3000,",
        ),
        training(
            "kernel, lists",
            "list_net",
            judged(40 * size, 30, 5),
            "\"lambda\": 1, \"kernel\": \"laplace_l1\", \"landmarks\": 300,",
        ),
        training(
            "kernel of pairs",
            "rank_svm",
            judged(20 * size, 10, 5),
            "\"lambda\": 1, \"kernel\": \"gaussian\", \"form\": \"ranking\", \"landmarks\": 300,",
        ),
        training(
            "kernel, many documents",
            "regression",
            judged(300 * size, 20, 5),
            "\"kernel\": \"gaussian\", \"landmarks\": 500,",
        ),
        training("auto, kernel", "auto", judged(100 * size, 20, 5), "\"kernel\": \"gaussian\","),
        training(
            "many trees",
            "boosted_trees",
            judged(10 * size, 20, 5),
            "\"trees\": 2000, \"depth\": 8, \"learning_rate\": 0.01,",
        ),
        training("many features", "rank_svm", judged(20 * size, 20, 300), "\"lambda\": 1,"),
        training("many features, lists", "regression", judged(20 * size, 20, 300), "\"lambda\": 1,"),
        training(
            "long query, curvatures",
            "rank_svm",
            judged(2, 600 * size, 3),
            "\"lambda\": 1, \"loss\": \"squared_hinge\",",
        ),
        training(
            "long query, dual",
            "rank_svm",
            judged(2, 600 * size, 3),
            "\"lambda\": 1, \"solver\": \"admm\", \"time_limit\": 5,",
        ),
        training("validation", "knn_svm", judged(20 * size, 10, 20), ""),
    ]
}

/// Factors of users and items.
fn large_factors(size: usize) -> Vec<Case> {
    vec![
        training(
            "1000 factors",
            "cofi_rank",
            ratings(200 * size, 1000, 20),
            "\"lambda\": 1, \"factors\": 1000, \"max_rounds\": 1,",
        ),
        training(
            "1000 factors of pairs",
            "cofi_rank",
            ratings(20 * size, 40, 20),
            "\"lambda\": 1, \"factors\": 1000, \"max_rounds\": 1, \"feedback\": \"implicit\", \"count_weight\": 0,",
        ),
        training(
            "drawn pairs",
            "cofi_rank",
            ratings(60 * size, 300, 20),
            "\"factors\": 20, \"max_rounds\": 1, \"feedback\": \"implicit\", \"negatives\": 5,",
        ),
        training(
            "folds of factors",
            "cofi_rank",
            ratings(60 * size, 300, 20),
            "\"factors\": 100, \"max_rounds\": 1,",
        ),
        training(
            "factors, planes",
            "cofi_rank",
            ratings(60 * size, 300, 30),
            "\"lambda\": 1, \"factors\": 50, \"loss\": \"hinge\", \"max_rounds\": 1,",
        ),
    ]
}

/// Calls with a stored model.
fn with_models(size: usize) -> Vec<Case> {
    let small_part = "SELECT * FROM src WHERE query_id < 20";
    let linear = format!("ltr_train('rank_svm', '{small_part}', '{{\"lambda\": 1, \"name\": \"m\"}}')");
    let online = format!("ltr_train('perceptron', '{small_part}', '{{\"name\": \"m\"}}')");
    let rated = "ltr_train('cofi_rank', 'src', '{\"lambda\": 1, \"factors\": 2, \"max_rounds\": 1, \"name\": \"m\"}')";
    let kernel = "ltr_train('rank_svm', 'src', '{\"lambda\": 1, \"kernel\": \"gaussian\", \"landmarks\": 200, \"name\": \"m\"}')";
    let local = "ltr_train('q_svm', 'src', '{\"lambda\": 1, \"fit_at\": \"query_time\", \"name\": \"m\"}')";
    let rank = "SELECT count(*) FROM ltr_rank('m', 'src', '{options}')";
    let evaluate = "SELECT count(*) FROM ltr_evaluate('m', 'src', '{options}')";
    let interleave =
        "SELECT count(*) FROM ltr_interleave('m', 'm', 'src', json_set('{options}', '$.seed', 1))";
    let importance = "SELECT count(*) FROM ltr_importance('m', 'src', '{options}')";
    let explain = "SELECT count(*) FROM ltr_explain('m', 'src', 1, 3000, '{options}')";
    let recommend = "SELECT count(*) FROM ltr_recommend('m', 1, '{\"k\": 100000, \"include_seen\": true, \"max_memory\": {limit}}')";
    let update = "SELECT ltr_update('m', 'src', '{options}')";
    let moved = "SELECT count(*) FROM ltr_rank('m', 'SELECT query_id + 100000 AS query_id, doc_id, f0 + 0.1 AS f0, f1, f2, f3 FROM src', '{options}')";
    let mut cases = vec![
        with_model("rank", &linear, rank, judged(1000 * size, 40, 2)),
        with_model("rank, kernel", kernel, rank, judged(100 * size, 40, 4)),
        with_model("rank, new queries", local, moved, judged(60 * size, 10, 4)),
        with_model("evaluate", &linear, evaluate, judged(4000 * size, 10, 2)),
        with_model("interleave", &linear, interleave, judged(1000 * size, 40, 2)),
        with_model("importance", &linear, importance, judged(500 * size, 40, 4)),
        with_model("explain, kernel", kernel, explain, judged(2 * size, 3000, 14)),
        with_model("update", &online, update, judged(1000 * size, 10, 10)),
        with_model("recommend", rated, recommend, ratings(20000 * size, 200_000, 2)),
    ];
    let report = "SELECT length(ltr_report('m', 'src', '{options}'))";
    let plot = "SELECT length(ltr_plot('calibration', 'm', 'src', '{options}'))";
    cases.push(with_model("report", &linear, report, judged(4000 * size, 10, 2)));
    cases.push(with_model("plot", &linear, plot, judged(4000 * size, 10, 2)));
    cases
}

/// Models of other libraries that take many times the bytes of their text. `size` multiplies their length.
fn imports(size: usize) -> Vec<Case> {
    let numbers =
        |count: usize, between: &str| (0..count).map(|i| i.to_string()).collect::<Vec<_>>().join(between);
    let list = |count: usize, text: &str| vec![text; count].join(",");
    // Splits whose left child is a leaf would be too deep: the nodes of a full tree, with the leaves behind the splits.
    let splits = (1 << 10) * size - 1;
    let child = |first: usize| {
        let number = |split: usize| {
            let node = 2 * split + first;
            if node < splits { node as i64 } else { -1 - (node - splits) as i64 }
        };
        (0..splits).map(|split| number(split).to_string()).collect::<Vec<_>>().join(" ")
    };
    let [zeros, ones] = ["0", "1"].map(|word| vec![word; splits].join(" "));
    let header =
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=0\nfeature_names=a\n";
    let words = vec!["4294967295"; splits].join(" ");
    let (left, right) = (child(1), child(2));
    let shared_sets = format!(
        "{header}\nTree=0\nnum_leaves={}\nnum_cat=1\nsplit_feature={zeros}\nthreshold={zeros}\ndecision_type={ones}\nleft_child={left}\n\
         right_child={right}\nleaf_value={ones} 1\ncat_boundaries=0 {splits}\ncat_threshold={words}\nshrinkage=1\nend of trees\n",
        splits + 1
    );
    let many = 100_000 * size;
    let far = "{\"features_info\":{\"float_features\":[{\"feature_index\":0,\"flat_feature_index\":99999}]},\"oblivious_trees\":[{\"splits\":[],\"leaf_values\":[1]}]}";
    let wide = "{\"version\":[3,0,0],\"learner\":{\"gradient_booster\":{\"name\":\"gbtree\",\"model\":{\"trees\":[]}},\"learner_model_param\":{\"base_score\":\"0.5\",\"num_feature\":\"99999\"},\"objective\":{\"name\":\"rank:ndcg\"}}}";
    let flat = format!(
        "{{\"features_info\":{{\"float_features\":[{{\"feature_index\":0,\"flat_feature_index\":0}}]}},\"oblivious_trees\":[{{\"splits\":[],\"leaf_values\":[{}]}}]}}",
        list(many, "0")
    );
    let categories = format!("{header}end of trees\npandas_categorical:[[{}]]\n", list(many, "\"a\""));
    let tree = "<tree><split><output>1</output></split></tree>";
    let weights: Vec<String> = (0..many / 2).map(|i| format!("\"f{i}\":1")).collect();
    let features: Vec<String> = (0..many / 4).map(|i| format!("{{\"name\":\"f{i}\"}}")).collect();
    let texts = [
        ("LightGBM, shared sets", shared_sets),
        ("LightGBM, categories", categories),
        (
            "LightGBM, trees",
            format!("{header}{}end of trees\n", "\nTree=0\nnum_leaves=1\nleaf_value=1\n".repeat(many / 10)),
        ),
        ("XGBoost, features", wide.to_owned()),
        ("XGBoost, empty nodes", format!("[{}]", list(3 * many, "{}"))),
        ("XGBoost, empty children", format!("[{}]", list(many, "{\"children\":[{}]}"))),
        (
            "XGBoost, categories of a split",
            format!("[{{\"split\":\"a\",\"split_condition\":[{}]}}]", numbers(many, ",")),
        ),
        ("CatBoost, a far feature", far.to_owned()),
        ("CatBoost, leaves", flat),
        ("RankLib, trees", format!("## MART\n<ensemble>{}</ensemble>", tree.repeat(many / 10))),
        ("RankLib, weights", format!("## Coordinate Ascent\n{}:1", numbers(many / 2, ":1 "))),
        ("RankLib, attributes", format!("## MART\n<ensemble {}/>", "a=\"\" ".repeat(many))),
        (
            "Solr, features",
            format!(
                "{{\"class\":\"LinearModel\",\"features\":[{}],\"params\":{{\"weights\":{{}}}}}}",
                features.join(",")
            ),
        ),
        (
            "plugin, weights",
            format!("{{\"type\":\"model/linear\",\"definition\":{{{}}}}}", weights.join(",")),
        ),
        ("lists", "[".repeat(many)),
    ];
    let case = |(name, text): (&str, String)| Case {
        name: format!("import of {name}"),
        source: "SELECT 1".to_owned(),
        before: String::new(),
        // No other statement may read the database.
        call: format!("SELECT ltr_import('{text}', '{{options}}')"),
        options: String::new(),
    };
    texts.into_iter().map(case).collect()
}

fn connect() -> Connection {
    let connection = Connection::open_in_memory().expect("a database");
    sqlite_ltr::register(&connection).expect("registration");
    connection
}

/// Aggregates and functions of vectors. Those without options keep the limit of the process.
fn without_models(size: usize) -> Vec<Case> {
    let case = |name: &str, source: String, call: &str| {
        let (name, call) = (name.to_owned(), call.to_owned());
        Case { name, source, before: String::new(), call, options: String::new() }
    };
    let graded = counted(100_000 * size, "i % 3 AS relevance, i * 7919 % 1000003 AS score");
    let packed =
        |rows: usize| counted(rows, "i / 9 AS query_id, i % 3 AS relevance, zeroblob(400) AS features");
    let vector = |numbers: usize| format!("SELECT zeroblob({}) AS vector", 4 * numbers);
    let mut cases = vec![
        case(
            "pack",
            packed(15_000 * size),
            "SELECT length(ltr_pack(query_id, 1, relevance, features)) FROM src",
        ),
        case(
            "pack, JSON",
            packed(3_000 * size),
            "SELECT length(ltr_pack(query_id, 1, relevance, ltr_vec_to_json(features))) FROM src",
        ),
        case("vec_to_json", vector(500_000 * size), "SELECT length(ltr_vec_to_json(vector)) FROM src"),
        case("vec", vector(500_000 * size), "SELECT length(ltr_vec(vector, vector)) FROM src"),
    ];
    for metric in ["ndcg", "ap", "err", "kendall_tau", "pair_loss"] {
        let function = match metric {
            "ndcg" | "ap" => format!("ltr_{metric}("),
            named => format!("ltr_metric('{named}', "),
        };
        let call = format!("SELECT {function}relevance, score, '{{options}}') FROM src");
        cases.push(case(metric, graded.clone(), &call));
    }
    for (name, subtopics) in
        [("alpha_ndcg", "'[1, 2]'"), ("subtopic_recall", "json_array('topic ' || score, relevance)")]
    {
        let call = format!("SELECT ltr_metric('{name}', {subtopics}, score, '{{options}}') FROM src");
        cases.push(case(name, graded.clone(), &call));
    }
    cases
}

fn cases(size: usize) -> Vec<Case> {
    without_models(size)
        .into_iter()
        .chain(algorithms(size))
        .chain(large(size))
        .chain(large_factors(size))
        .chain(with_models(size))
        .chain(imports(size))
        .collect()
}

/// Peak and current resident bytes; `None` if the system does not report them.
fn resident() -> Option<(f64, f64)> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kilobytes = |key: &str| -> Option<f64> {
        let line = status.lines().find(|line| line.starts_with(key))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    Some((1024.0 * kilobytes("VmHWM:")?, 1024.0 * kilobytes("VmRSS:")?))
}

/// What a child process does: it measures the case of this request.
fn measure_here(request: &str) {
    let numbers: Vec<usize> = request.split(' ').map(|number| number.parse().expect("a number")).collect();
    let [index, size, limit] = numbers[..] else { panic!("three numbers") };
    let case = &cases(size)[index];
    // 1. The rows, and a model if the call needs one.
    let connection = connect();
    let prepare = format!("PRAGMA cache_size = -500; CREATE TABLE src AS {};", case.source);
    connection.execute_batch(&prepare).expect("rows");
    for statement in case.before.split_terminator(';') {
        connection.query_row(statement, [], |_| Ok(())).expect("a model");
    }
    // 2. The call.
    let limit = limit.to_string();
    let options = format!("{{{}\"max_memory\": {limit}}}", case.options);
    let sql = case.call.replace("{options}", &options).replace("{limit}", &limit);
    report(|| connection.query_row(&sql, [], |_| Ok(())));
}

/// Measures a call from what is resident now, and prints the peak and the outcome for [`child`].
fn report(call: impl FnOnce() -> rusqlite::Result<()>) {
    report_text(|| call().map(|()| "done".to_owned()));
}

/// The same for a call whose outcome is a text.
fn report_text(call: impl FnOnce() -> rusqlite::Result<String>) {
    // Writing 5 resets the peak.
    std::fs::write("/proc/self/clear_refs", "5").expect("the peak is reset");
    let (_, before) = resident().expect("resident memory");
    let outcome = match call() {
        Ok(outcome) => outcome,
        Err(problem) => problem.to_string().chars().take(400).collect(),
    };
    let (peak, _) = resident().expect("resident memory");
    println!("\nMEASURED {} {outcome}", (peak - before).max(0.0));
}

/// Runs a test of this program in a child process that measures a call: peak bytes, and "done" or the error.
fn child(test: &str, environment: &[(&str, String)]) -> (f64, String) {
    let output = Command::new(std::env::current_exe().expect("this program"))
        .args([test, "--exact", "--nocapture"])
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .output()
        .expect("a child process");
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.strip_prefix("MEASURED "));
    let Some((peak, outcome)) = line.and_then(|line| line.split_once(' ')) else {
        return (f64::INFINITY, format!("died: {text}{}", String::from_utf8_lossy(&output.stderr)));
    };
    (peak.parse().expect("a number"), outcome.to_owned())
}

/// Runs a case in a child process.
fn measure(index: usize, size: usize, limit: u64) -> (f64, String) {
    let mut environment = vec![(CASE, format!("{index} {size} {limit}"))];
    let call = &cases(size)[index].call;
    if !call.contains("{options}") && !call.contains("{limit}") {
        environment.push((PROCESS_LIMIT, limit.to_string()));
    }
    child("calls_stay_within_their_memory_or_refuse", &environment)
}

/// Whether this system reports peak resident memory.
fn can_measure() -> bool {
    let can = resident().is_some() && std::fs::write("/proc/self/clear_refs", "5").is_ok();
    if !can {
        eprintln!(
            "SKIPPED: memory is measured on Linux only, from /proc/self/status; 'max_memory' IS NOT TESTED HERE"
        );
    }
    can
}

/// Measures all cases with these limits, and lists what exceeds them. Prints a table.
fn check(size: usize, limits: &[u64]) {
    let mut problems = Vec::new();
    for (index, case) in cases(size).iter().enumerate() {
        for limit in limits {
            let (peak, outcome) = measure(index, size, *limit);
            let allowed = FACTOR * *limit as f64 + UNCOUNTED_MB * MB;
            let line =
                format!("{:24} {:4} MB: {:6.1} MB, {outcome}", case.name, limit / 1_000_000, peak / MB);
            println!("{line}");
            let is_refused = ["option 'max_memory'", "environment variable SQLITE_LTR_MAX_MEMORY"]
                .iter()
                .any(|limit| outcome.contains(&format!("of the {limit}; ")));
            // A hostile text is refused for what it is where memory suffices.
            let is_hostile = case.name.starts_with("import of ") && outcome.starts_with("ltr_import: ");
            let expected = outcome == "done" || is_refused || is_hostile;
            if peak > allowed || !expected {
                problems.push(line);
            }
        }
    }
    assert!(
        problems.is_empty(),
        "beyond 1.25 x the limit + 10 MB, or another error:\n{}",
        problems.join("\n")
    );
}

#[test]
fn calls_stay_within_their_memory_or_refuse() {
    // 1. A child process measures one case.
    if let Ok(request) = std::env::var(CASE) {
        return measure_here(&request);
    }
    // 2. The cases, each in a child process that runs this test.
    match std::env::var_os("LTR_LONG") {
        _ if !can_measure() => (),
        None => check(1, &[2_000_000, 200_000_000]),
        Some(_) => check(10, &[4_000_000, 8_000_000, 20_000_000, 64_000_000, 200_000_000]),
    }
}

/// The same model with a limit, in which memory is short, and without one.
#[test]
fn the_limit_does_not_change_a_model() {
    let connection = connect();
    connection.execute_batch(&format!("CREATE TABLE src AS {}", judged(30, 20, 10))).expect("rows");
    connection.execute_batch(&format!("CREATE TABLE rated AS {}", ratings(40, 50, 10))).expect("rows");
    for (algorithm, source, options, limit) in [
        ("rank_svm", "src", "", 1_000_000),
        ("auto", "src", "", 1_500_000),
        ("q_svm", "src", "\"lambda\": 1,", 2_500_000),
        ("cofi_rank", "rated", "\"max_rounds\": 2,", 180_000),
        ("cofi_rank", "rated", "\"max_rounds\": 2, \"loss\": \"hinge\",", 24_000_000),
    ] {
        let fit = |limit: u64| {
            let sql = format!(
                "SELECT hex(ltr_fit('{algorithm}', '{source}', '{{{options}\"max_memory\": {limit}}}'))"
            );
            connection.query_row(&sql, [], |row| row.get::<_, String>(0))
        };
        let free = fit(u64::MAX).expect("a model");
        assert!(fit(10_000).is_err(), "{algorithm}");
        assert!(fit(limit).expect("a model within the limit") == free, "{algorithm}");
    }
}
