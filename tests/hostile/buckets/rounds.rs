//! Trainings in buckets: their BLOBs, and the calls that read them. The targets of fuzzing use them, too.

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use xxhash_rust::xxh3::xxh3_64;

/// Where the body of a BLOB begins.
pub const BODY: usize = 32;
const BUCKETS: i64 = 4;

/// The BLOBs of a training before one of its rounds.
pub struct Round {
    pub state: Vec<u8>,
    pub packs: Vec<(i64, Vec<u8>)>,
    /// Of each pack.
    pub answers: Vec<Vec<u8>>,
}

/// What a training reads and how.
const TRAININGS: &[(&str, &str)] = &[
    ("regression", r#"{"buckets": 4, "scale": "quantile", "missing": "mean"}"#),
    ("eigen_rank", r#"{"buckets": 4, "scale": "standard", "missing": "zero", "lambda": 0.1}"#),
    ("rank_svm", r#"{"buckets": 4, "scale": "standard", "missing": "mean", "lambda": [0.1, 0.01]}"#),
    ("list_net", r#"{"buckets": 4, "scale": "none", "missing": "zero", "lambda": [0.1, 0.01]}"#),
    ("cs_list_mle", r#"{"buckets": 4, "scale": "quantile", "missing": "zero", "lambda": 0.1}"#),
];

const JUDGED: &str = "CREATE TABLE judged AS
    WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 119)
    SELECT 'q' || (i / 4) AS query_id, i AS doc_id, i * 7 % 3 AS relevance,
           iif(i % 5 = 0, '[null, ' || (i % 13) || ']', '[' || (i * 17 % 31 / 31.0) || ', ' || (i % 13) || ']') AS features,
           1 + i / 4 % 2 AS weight FROM n";

pub fn connect() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    sqlite_ltr::register(&connection).unwrap();
    connection
}

/// The value of a call, or its message.
pub fn call(connection: &Connection, sql: &str, arguments: &[&[u8]], bucket: i64) -> Result<Value, String> {
    let arguments: Vec<Value> = arguments.iter().map(|bytes| Value::Blob(bytes.to_vec())).collect();
    let all = arguments.into_iter().chain([Value::from(bucket)]);
    connection.query_row(sql, params_from_iter(all), |row| row.get(0)).map_err(|problem| problem.to_string())
}

pub fn bytes(
    connection: &Connection,
    sql: &str,
    arguments: &[&[u8]],
    bucket: i64,
) -> Result<Vec<u8>, String> {
    match call(connection, sql, arguments, bucket)? {
        Value::Blob(bytes) => Ok(bytes),
        other => Err(format!("{other:?}")),
    }
}

pub const INFO: &str = "SELECT ltr_info(?1), ?2";
pub const PARTIAL: &str = "SELECT ltr_partial(?1, ?3, ?2)";
pub const MERGE: &str = "SELECT ltr_merge(column1) FROM (VALUES (?1), (?2)) WHERE ?3 >= 0";
pub const STEP: &str = "SELECT ltr_step(?1, ?2), ?3";
pub const FINISH: &str = "SELECT ltr_finish(?1), ?2";
pub const SCORE: &str = "SELECT ltr_score(?1, '[0.5, 3]'), ?2";

pub fn answers(
    connection: &Connection,
    state: &[u8],
    packs: &[(i64, Vec<u8>)],
) -> Result<Vec<Vec<u8>>, String> {
    packs.iter().map(|(bucket, rows)| bytes(connection, PARTIAL, &[state, rows], *bucket)).collect()
}

pub fn merged(connection: &Connection, answers: &[Vec<u8>]) -> Result<Vec<u8>, String> {
    let (first, rest) = answers.split_first().ok_or("no answers")?;
    rest.iter().try_fold(first.clone(), |all, next| bytes(connection, MERGE, &[&all, next], 0))
}

pub fn is_done(connection: &Connection, state: &[u8]) -> bool {
    let info = call(connection, INFO, &[state], 0);
    matches!(info, Ok(Value::Text(text)) if text.contains("\"done\":true"))
}

/// The rounds of all trainings.
pub fn rounds(connection: &Connection) -> Vec<Round> {
    connection.execute_batch(JUDGED).unwrap();
    connection.execute_batch("CREATE TABLE changed_packs(bucket, rows)").unwrap();
    let pack = format!(
        "SELECT ltr_bucket(query_id, {BUCKETS}), ltr_pack(query_id, doc_id, relevance, features, NULL, weight)
           FROM judged GROUP BY 1"
    );
    let mut statement = connection.prepare(&pack).unwrap();
    let packs: Vec<(i64, Vec<u8>)> =
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect();
    let mut rounds = Vec::new();
    for (algorithm, options) in TRAININGS {
        let begin = format!("SELECT ltr_begin('{algorithm}', '{options}'), ?1");
        let mut state = bytes(connection, &begin, &[], 0).unwrap();
        while !is_done(connection, &state) {
            let answers = answers(connection, &state, &packs).unwrap();
            let next = bytes(connection, STEP, &[&state, &merged(connection, &answers).unwrap()], 0).unwrap();
            rounds.push(Round { state, packs: packs.clone(), answers });
            state = next;
        }
        rounds.push(Round { state, packs: packs.clone(), answers: Vec::new() });
    }
    rounds
}

/// The BLOB of a kind with this body.
pub fn sealed(kind: &[u8], body: &[u8]) -> Vec<u8> {
    let numbers = [2, body.len() as u64, xxh3_64(body)].map(u64::to_le_bytes).concat();
    [kind, &numbers, body].concat()
}

/// The rest of a training, up to a number of rounds, and the score of a document with its model.
pub fn go_on(
    connection: &Connection,
    mut state: Vec<u8>,
    packs: &[(i64, Vec<u8>)],
    most: usize,
) -> Result<Value, String> {
    for _ in 0..most {
        if is_done(connection, &state) {
            let model = bytes(connection, FINISH, &[&state], 0)?;
            return call(connection, SCORE, &[&model], 0);
        }
        let answers = answers(connection, &state, packs)?;
        state = bytes(connection, STEP, &[&state, &merged(connection, &answers)?], 0)?;
    }
    Ok(Value::Null)
}

/// The score of a document with trees from packs, which have no states.
pub fn trees(connection: &Connection, packs: &[(i64, Vec<u8>)]) -> Result<Value, String> {
    connection.execute("DELETE FROM changed_packs", []).unwrap();
    for pack in packs {
        connection.execute("INSERT INTO changed_packs VALUES (?, ?)", (&pack.0, &pack.1)).unwrap();
    }
    let fit =
        r#"SELECT ltr_fit('boosted_trees', 'changed_packs', '{"buckets": 4, "trees": 2, "threads": 1}'), ?1"#;
    call(connection, SCORE, &[&bytes(connection, fit, &[], 0)?], 0)
}
