//! Training in buckets: what each error names (rule 15.3), and what does not train in buckets.

use rusqlite::{Connection, params_from_iter, types::Value};

use crate::buckets::judged;
use crate::support::{database, value};

/// The problem that a statement reports.
pub fn problem(connection: &Connection, sql: &str) -> String {
    let outcome = connection.query_row(sql, [], |_| Ok(()));
    outcome.expect_err(sql).to_string()
}

/// Wrong calls, with what their messages contain.
const WRONG: &[(&str, &str)] = &[
    ("SELECT ltr_bucket(1, 3)", "argument 'buckets': got 3, expected a power of two from 1 to 65536"),
    ("SELECT ltr_begin('regression')", "option 'buckets': give the number of buckets that ltr_bucket had"),
    (
        "SELECT ltr_begin('regression', '{\"buckets\": 8, \"columns\": {\"ignore\": [\"q\"]}}')",
        "option 'columns': packs have no 'ignore'",
    ),
    (
        "SELECT ltr_begin('regression', '{\"buckets\": 8, \"scale\": [\"none\", \"standard\"]}')",
        "training in buckets takes one value",
    ),
    (
        "SELECT ltr_begin('rank_svm', '{\"buckets\": 8, \"form\": \"ranking\", \"kernel\": \"gaussian\"}')",
        "training in buckets: the form \"ranking\"",
    ),
    (
        "SELECT ltr_begin('rank_svm', '{\"buckets\": 8, \"interaction\": \"gaussian\"}')",
        "training in buckets: packs have no query features; use \"interaction\": \"none\"",
    ),
    (
        "SELECT ltr_fit('regression', 'judgments', '{\"buckets\": 8, \"prior\": \"regression\"}')",
        "training in buckets: \"prior\": \"regression\" is not supported; use \"zero\"",
    ),
    (
        "SELECT ltr_begin('rank_svm', '{\"buckets\": 8, \"kernel\": \"gaussian\"}')",
        "training in buckets: functions of a kernel need documents of other buckets; leave out the option 'kernel'",
    ),
    (
        "SELECT ltr_fit('regression', 'complete_packs', '{\"kernel\": \"laplace_l1\", \"landmarks\": 5}')",
        "train \"boosted_trees\" on packs, or train on rows on one machine",
    ),
    ("SELECT ltr_fit('regression', 'judgments', '{\"buckets\": 5}')", "option 'buckets': got 5"),
    ("SELECT ltr_fit('regression', 'packs')", ", query 'query "),
    (
        "SELECT ltr_pack(query_id, doc_id, relevance, features, '[1]') FROM judgments",
        "argument 'query_features' in row 1 of the group: got text '[1]', expected NULL; query features are for",
    ),
    (
        "SELECT ltr_pack(query_id, doc_id, relevance, features, 2.5) FROM judgments",
        "got 2.5, expected NULL; the query weight is the 6th argument",
    ),
    (
        "SELECT ltr_pack(query_id, doc_id, relevance, features, NULL, 1e-320) FROM judgments",
        "argument 'weight' in row 1 of the group: got 1e-320, expected a number from 2.2250738585072014e-308 to 1e100",
    ),
    (
        "SELECT ltr_pack(query_id, doc_id, NULL, features) FROM judgments",
        "argument 'relevance' in row 1 of the group: got NULL",
    ),
    ("SELECT ltr_partial(x'00', 0, x'00')", "not a state of ltr_begin"),
    (
        "SELECT ltr_partial(ltr_begin('regression', '{\"buckets\": 8}'), 9, (SELECT rows FROM packs))",
        "argument 'bucket': got 9",
    ),
    ("SELECT ltr_step(ltr_begin('regression', '{\"buckets\": 8}'), NULL)", "round 1 has no answer"),
    (
        "SELECT ltr_fit('regression', 'packs', '{\"columns\": {\"slot\": \"q\"}}')",
        "option 'columns': packs have no 'slot'",
    ),
    (
        "SELECT ltr_fit('regression', 'SELECT * FROM packs WHERE bucket <> ?')",
        "the statement has parameters (1); give their values",
    ),
    (
        "SELECT ltr_fit('regression', 'SELECT * FROM judgments WHERE query_id <> ?', '{\"buckets\": 8}')",
        "the statement has parameters (1); give their values",
    ),
    (
        "SELECT ltr_fit('regression', 'SELECT * FROM packs WHERE bucket <> ?', '{\"params\": [1]}', 2)",
        "got 1 in the option 'params' and 1 after the options",
    ),
    ("SELECT ltr_finish(ltr_begin('regression', '{\"buckets\": 8}'))", "round 1 is not answered yet"),
    (
        "SELECT ltr_fit('list_mle', 'packs', '{\"missing\": \"zero\", \"lambda\": 1}')",
        "bucket 0 has weights of documents",
    ),
    (
        "SELECT ltr_fit('regression', 'SELECT bucket + 1 AS bucket, rows FROM packs WHERE bucket < 7')",
        "belongs to bucket",
    ),
    (
        "SELECT ltr_fit('regression', 'SELECT * FROM packs UNION ALL SELECT * FROM packs', '{\"missing\": \"zero\"}')",
        "appears twice in round 1; pack all rows of a bucket together, and merge its answer once",
    ),
    (
        "SELECT ltr_fit('regression', 'SELECT * FROM packs WHERE 0')",
        "0 packs; training needs judged documents",
    ),
];

#[test]
fn wrong_calls_say_what_is_wrong() {
    let connection = judged(40);
    for (sql, expected) in WRONG {
        let actual = problem(&connection, sql);
        assert!(actual.contains(expected), "{sql}: {actual}");
    }
}

/// Algorithms that do not train in buckets: why, and what to do.
const REFUSED: &[(&str, [&str; 2])] = &[
    ("q_svm", QUERY_DEPENDENT),
    ("knn_svm", QUERY_DEPENDENT),
    ("indv_svm", QUERY_DEPENDENT),
    ("slam", NOT_SMOOTH),
    ("matching", NOT_SMOOTH),
    ("direct", NOT_CONVEX),
    ("smooth_grad", NOT_CONVEX),
    (
        "auto",
        [
            "'auto' compares candidates on all rows",
            "train it on rows on one machine, or train \"boosted_trees\" on packs",
        ],
    ),
    ("perceptron", ["'perceptron' reads the documents one query after the other", "train it on rows"]),
    ("cofi_rank", ["'cofi_rank' learns from ids of users and items", "train it on rows"]),
];

const QUERY_DEPENDENT: [&str; 2] = [
    "a query-dependent model keeps the documents of all training queries",
    "train it with ltr_fit on rows and \"fit_at\": \"query_time\", and rank with it on every worker",
];
const NOT_SMOOTH: [&str; 2] =
    ["is not smooth: its solver passes over the rows hundreds of times", "or train on rows"];
const NOT_CONVEX: [&str; 2] =
    ["is not convex: its solver minimizes several approximations", "or train on rows"];

/// Rules 15.6, 15.7: each algorithm trains in buckets, or `ltr_begin`, `ltr_fit` with packs and `ltr_fit` with rows say why not.
#[test]
fn every_algorithm_trains_in_buckets_or_says_why_not() {
    let connection = judged(10);
    let mut statement = connection.prepare("SELECT name FROM ltr_algorithms()").unwrap();
    let names: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    // Trees train in one process only: `buckets_trees`.
    for name in names.iter().filter(|name| !["boosted_trees", "lambdamart"].contains(&name.as_str())) {
        let calls = [
            format!("SELECT ltr_begin('{name}', '{{\"buckets\": 8}}')"),
            format!("SELECT ltr_fit('{name}', 'packs')"),
            format!("SELECT ltr_fit('{name}', 'judgments', '{{\"buckets\": 8}}')"),
        ];
        let Some((_, parts)) = REFUSED.iter().find(|(refused, _)| refused == name) else {
            value::<Vec<u8>>(&connection, &calls[0], ());
            continue;
        };
        for sql in calls {
            let found = problem(&connection, &sql);
            assert!(parts.iter().all(|part| found.contains(part)), "{sql}: {found}");
        }
    }
    assert!(REFUSED.iter().all(|(name, _)| names.iter().any(|known| known == name)));
}

/// A training of 8 buckets before its first and its second round.
struct Training {
    connection: Connection,
    states: [Vec<u8>; 2],
    packs: Vec<(i64, Vec<u8>)>,
}

fn bytes(connection: &Connection, sql: &str, arguments: &[&Value]) -> Result<Vec<u8>, String> {
    connection
        .query_row(sql, params_from_iter(arguments), |row| row.get(0))
        .map_err(|found| found.to_string())
}

impl Training {
    /// `options`: more of them.
    fn new(options: &str) -> Self {
        let connection = judged(60);
        let mut statement = connection.prepare("SELECT bucket, rows FROM packs ORDER BY 1").unwrap();
        let packs = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let packs: Vec<(i64, Vec<u8>)> = packs.map(Result::unwrap).collect();
        assert_eq!(packs.len(), 8);
        drop(statement);
        let options = format!(r#"{{"buckets": 8, "missing": "zero"{options}}}"#);
        let first = value(&connection, "SELECT ltr_begin('regression', ?)", [options]);
        let mut training = Self { connection, states: [first, Vec::new()], packs };
        let all = training.answer(0, &[0, 1, 2, 3, 4, 5, 6, 7]).unwrap();
        training.states[1] = training.step(0, &all).unwrap();
        training
    }

    fn partial(&self, round: usize, bucket: i64, rows: &[u8]) -> Result<Vec<u8>, String> {
        let state = Value::Blob(self.states[round].clone());
        let (bucket, rows) = (Value::from(bucket), Value::Blob(rows.to_vec()));
        bytes(&self.connection, "SELECT ltr_partial(?, ?, ?)", &[&state, &bucket, &rows])
    }

    fn merge(&self, answers: &[Vec<u8>]) -> Result<Vec<u8>, String> {
        let values = vec!["(?)"; answers.len()].join(", ");
        let answers: Vec<Value> = answers.iter().map(|answer| Value::Blob(answer.clone())).collect();
        let sql = format!("SELECT ltr_merge(column1) FROM (VALUES {values})");
        bytes(&self.connection, &sql, &answers.iter().collect::<Vec<_>>())
    }

    /// The merged answer of these packs.
    fn answer(&self, round: usize, packs: &[usize]) -> Result<Vec<u8>, String> {
        let partial = |pack: &usize| self.partial(round, self.packs[*pack].0, &self.packs[*pack].1);
        self.merge(&packs.iter().map(partial).collect::<Result<Vec<_>, _>>()?)
    }

    fn step(&self, round: usize, answer: &[u8]) -> Result<Vec<u8>, String> {
        let arguments = [&self.states[round], answer].map(|blob| Value::Blob(blob.to_vec()));
        bytes(&self.connection, "SELECT ltr_step(?, ?)", &arguments.each_ref())
    }
}

fn assert_problem(outcome: Result<Vec<u8>, String>, expected: &str) {
    let actual = outcome.expect_err(expected);
    assert!(actual.contains(expected), "{actual}, expected: {expected}");
}

#[test]
fn errors_of_merges_name_the_bucket() {
    let training = Training::new("");
    let all = [0, 1, 2, 3, 4, 5, 6, 7];
    // 1. A bucket that is missing in the second round.
    for missing in [0, 3, 7] {
        let others: Vec<usize> = all.into_iter().filter(|pack| *pack != missing).collect();
        let outcome = training.step(1, &training.answer(1, &others).unwrap());
        assert_problem(outcome, &format!("bucket {missing} is missing"));
    }
    // 2. A bucket twice, alone and within a finished subtree, in both rounds.
    for round in [0, 1] {
        let expected = format!("bucket 3 appears twice in round {}", round + 1);
        assert_problem(training.answer(round, &[3, 5, 3]), &expected);
        let [subtree, again] = [&[0, 1, 2, 3][..], &[3]].map(|packs| training.answer(round, packs).unwrap());
        assert_problem(training.merge(&[subtree.clone(), again.clone()]), &expected);
        assert_problem(training.merge(&[again, subtree]), &expected);
    }
    // 3. An answer of another round.
    let earlier = training.answer(0, &all).unwrap();
    assert_problem(training.step(1, &earlier), "the answer is from round 1, not round 2");
    assert_problem(
        training.merge(&[training.answer(1, &[0]).unwrap(), earlier]),
        "the answer is from round 1, not round 2",
    );
    // 4. Of a training with other options, and of one with other rows in its first round.
    let other = Training::new(r#", "lambda": 0.5"#);
    for round in [0, 1] {
        let answer = other.answer(round, &all).unwrap();
        assert_problem(training.step(round, &answer), "the answer is from another training");
    }
    let fewer = training.step(0, &training.answer(0, &all[1..]).unwrap()).unwrap();
    let other = Training { states: [training.states[0].clone(), fewer], ..Training::new("") };
    assert_problem(
        training.step(1, &other.answer(1, &all[1..]).unwrap()),
        "the answer is from another training",
    );
    // 5. A bucket without rows in the first round.
    assert_problem(other.answer(1, &[0]), "bucket 0 has no rows in the first round");
}

#[test]
fn errors_of_blobs_say_what_is_wrong() {
    let training = Training::new("");
    let (bucket, pack) = &training.packs[2];
    let answer = training.answer(1, &[2]).unwrap();
    let state = &training.states[1];
    // 1. Rows of another bucket.
    let right = format!("belongs to bucket {bucket} of 8, as ltr_bucket(query_id, 8) returns");
    assert_problem(training.partial(1, 5, pack), &right);
    // 2. Damage: a byte, the end, everything, another version, another kind.
    let with = |blob: &[u8], at: usize, byte: u8| {
        let mut blob = blob.to_vec();
        blob[at] = byte;
        blob
    };
    let call = |kind: &str, blob: &[u8]| match kind {
        "bucket 2: not rows of ltr_pack" => training.partial(1, 2, blob),
        "not an answer of ltr_partial" => training.merge(&[blob.to_vec()]),
        _ => {
            let all = training.answer(1, &[0, 1, 2, 3, 4, 5, 6, 7]).unwrap();
            let other = [blob.to_vec(), blob.to_vec()];
            let broken = Training { states: other, ..Training::new("") };
            assert_problem(broken.partial(1, 2, pack), kind);
            broken.step(1, &all)
        }
    };
    let blobs = [
        ("bucket 2: not rows of ltr_pack", pack),
        ("not an answer of ltr_partial", &answer),
        ("not a state of ltr_begin", state),
    ];
    for (number, (kind, blob)) in blobs.into_iter().enumerate() {
        let last = blob.len() - 1;
        for damaged in [with(blob, last, !blob[last]), with(blob, 40, !blob[40]), blob[..last].to_vec()] {
            assert_problem(call(kind, &damaged), &format!("{kind}: it is damaged"));
        }
        assert_problem(call(kind, &[]), &format!("{kind}: 0 bytes that begin otherwise"));
        let version = with(blob, 8, 7);
        assert_problem(call(kind, &version), &format!("{kind}: format version 7, this library reads 2"));
        let (_, other) = blobs[(number + 1) % 3];
        assert_problem(call(kind, other), &format!("{kind}: {} bytes that begin otherwise", other.len()));
    }
}

/// Packs that do not fit together.
#[test]
fn packs_with_other_features_are_refused() {
    let connection = database();
    connection
        .execute_batch(
            "CREATE TABLE packs AS SELECT ltr_bucket(i / 2, 4) AS bucket,
               ltr_pack(i / 2, i, i % 2, iif(ltr_bucket(i / 2, 4) = 1, ltr_vec(1, i), ltr_vec(i, 2))) AS same,
               ltr_pack(i / 2, i, i % 2, iif(ltr_bucket(i / 2, 4) = 1, '[1, 2]', ltr_vec(i, 2))) AS mixed,
               ltr_pack(i / 2, i, i % 2, iif(ltr_bucket(i / 2, 4) = 1, ltr_vec(1), ltr_vec(i, 2))) AS fewer
             FROM (WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 39) SELECT i FROM n)
             GROUP BY 1",
        )
        .unwrap();
    let sql = |rows: &str| {
        format!(
            "SELECT ltr_fit('regression', 'SELECT bucket, {rows} AS rows FROM packs', '{{\"lambda\": 1}}')"
        )
    };
    value::<Vec<u8>>(&connection, &sql("same"), ());
    let found = problem(&connection, &sql("mixed"));
    assert!(found.contains("features are BLOBs in some packs and JSON in others"), "{found}");
    let found = problem(&connection, &sql("fewer"));
    assert!(found.contains("packs with different numbers of features"), "{found}");
}

/// A training whose sums would take too much memory is refused after the first round.
#[test]
fn too_many_features_are_refused_before_their_products() {
    let connection = database();
    let sql = "WITH wide(features) AS (SELECT json_group_array(value % 7) FROM generate_series(1, 6000))
               SELECT ltr_pack(1, column1, column1, features) FROM wide, (VALUES (0), (1))";
    let sql = sql.replace("generate_series(1, 6000)", SERIES);
    let pack: Vec<u8> = value(&connection, &sql, ());
    connection.execute("CREATE TABLE packs AS SELECT 0 AS bucket, ? AS rows", [pack]).unwrap();
    let found = problem(&connection, "SELECT ltr_fit('regression', 'packs', '{\"lambda\": 1}')");
    assert!(found.contains("the state of the training would take 144072008 bytes"), "{found}");
}

/// 6,000 numbers.
const SERIES: &str = "(WITH RECURSIVE n(value) AS (VALUES (1) UNION ALL SELECT value + 1 FROM n WHERE value < 6000) SELECT value FROM n)";

/// Rows that change between two rounds would give a model of neither.
#[test]
fn a_pack_that_changes_between_rounds_is_refused() {
    let connection = judged(60);
    let step = |state: Option<Vec<u8>>| -> Vec<u8> {
        let sql =
            "SELECT ltr_step(state, (SELECT ltr_merge(ltr_partial(state, bucket, rows)) FROM complete_packs))
                     FROM (SELECT coalesce(?1, ltr_begin('regression', '{\"buckets\": 8}')) AS state)";
        value(&connection, sql, [state])
    };
    let state = step(None);
    connection
        .execute_batch(
            "UPDATE complete_packs SET rows = (SELECT ltr_pack(query_id, doc_id, 1 - relevance, features) FROM complete
                                                WHERE ltr_bucket(query_id, 8) = 5) WHERE bucket = 5",
        )
        .unwrap();
    let partial = |bucket: i64| -> Result<Vec<u8>, String> {
        let sql = "SELECT ltr_partial(?1, bucket, rows) FROM complete_packs WHERE bucket = ?2";
        connection.query_row(sql, (&state, bucket), |row| row.get(0)).map_err(|error| error.to_string())
    };
    assert!(partial(4).is_ok());
    let found = partial(5).unwrap_err();
    assert!(found.contains("bucket 5 has a different pack than in the first round"), "{found}");
}

/// Least squares with folds asks for five sums, not for five of each fold.
#[test]
fn each_task_asks_once() {
    let connection = judged(60);
    let bytes: i64 = value(
        &connection,
        "SELECT max(length(ltr_partial(state, bucket, rows))) FROM complete_packs,
           (SELECT ltr_step(state, (SELECT ltr_merge(ltr_partial(state, bucket, rows)) FROM complete_packs)) AS state
              FROM (SELECT ltr_begin('regression', '{\"buckets\": 8}') AS state))",
        [],
    );
    // A bucket is in one fold: one matrix of 4 features with the targets.
    assert!(bytes < 2 * 8 * 15 + 100, "{bytes}");
}

#[test]
fn sums_count_as_memory() {
    let connection = database();
    let features = vec!["1.5"; 300].join(",");
    connection
        .execute_batch(&format!(
            "CREATE TABLE packs AS SELECT ltr_bucket(q, 8) AS bucket, ltr_pack(q, d, d, '[' || d || ',{features}]') AS rows
               FROM (SELECT value AS q FROM json_each('[1,2,3,4,5,6]')), (SELECT value AS d FROM json_each('[0,1]')) GROUP BY 1"
        ))
        .unwrap();
    let fit = |memory: u64| {
        format!("SELECT ltr_fit('regression', 'packs', '{{\"lambda\": 1, \"max_memory\": {memory}}}')")
    };
    let found = problem(&connection, &fit(300_000));
    assert!(found.contains("least squares with 301 features"), "{found}");
    connection.query_row(&fit(30_000_000), [], |_| Ok(())).unwrap();
}
