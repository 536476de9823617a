//! Packs, answers and states with right checksums and wrong contents: whatever their bytes say, the functions of training in
//! buckets answer with an error or go on, soon, without panics and without much memory.
//!
//! ```text
//! LTR_MUTATIONS=200000 cargo test --release --test hostile buckets
//! ```

use std::sync::Mutex;
use std::time::{Duration, Instant};

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use sqlite_ltr::internals::math::random::Random;
use xxhash_rust::xxh3::xxh3_64;

use crate::allocated::measured;

/// Mutations unless `LTR_MUTATIONS` sets their number. With `LTR_LONG=1` three times as many.
const MUTATIONS: usize = 1_000;
const BODY: usize = 32;
const MOST_BYTES: usize = 64 << 20;
const LONGEST: Duration = Duration::from_secs(5);
const BUCKETS: i64 = 4;

static PANIC: Mutex<String> = Mutex::new(String::new());

/// The BLOBs of a training before one of its rounds.
struct Round {
    state: Vec<u8>,
    packs: Vec<(i64, Vec<u8>)>,
    /// Of each pack.
    answers: Vec<Vec<u8>>,
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

fn connect() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    sqlite_ltr::register(&connection).unwrap();
    connection
}

/// The value of a call, or its message.
fn call(connection: &Connection, sql: &str, arguments: &[&[u8]], bucket: i64) -> Result<Value, String> {
    let arguments: Vec<Value> = arguments.iter().map(|bytes| Value::Blob(bytes.to_vec())).collect();
    let all = arguments.into_iter().chain([Value::from(bucket)]);
    connection.query_row(sql, params_from_iter(all), |row| row.get(0)).map_err(|problem| problem.to_string())
}

fn bytes(connection: &Connection, sql: &str, arguments: &[&[u8]], bucket: i64) -> Result<Vec<u8>, String> {
    match call(connection, sql, arguments, bucket)? {
        Value::Blob(bytes) => Ok(bytes),
        other => Err(format!("{other:?}")),
    }
}

const INFO: &str = "SELECT ltr_info(?1), ?2";
const PARTIAL: &str = "SELECT ltr_partial(?1, ?3, ?2)";
const MERGE: &str = "SELECT ltr_merge(column1) FROM (VALUES (?1), (?2)) WHERE ?3 >= 0";
const STEP: &str = "SELECT ltr_step(?1, ?2), ?3";
const FINISH: &str = "SELECT ltr_finish(?1), ?2";
const SCORE: &str = "SELECT ltr_score(?1, '[0.5, 3]'), ?2";

fn answers(connection: &Connection, state: &[u8], packs: &[(i64, Vec<u8>)]) -> Result<Vec<Vec<u8>>, String> {
    packs.iter().map(|(bucket, rows)| bytes(connection, PARTIAL, &[state, rows], *bucket)).collect()
}

fn merged(connection: &Connection, answers: &[Vec<u8>]) -> Result<Vec<u8>, String> {
    let (first, rest) = answers.split_first().ok_or("no answers")?;
    rest.iter().try_fold(first.clone(), |all, next| bytes(connection, MERGE, &[&all, next], 0))
}

fn is_done(connection: &Connection, state: &[u8]) -> bool {
    let info = call(connection, INFO, &[state], 0);
    matches!(info, Ok(Value::Text(text)) if text.contains("\"done\":true"))
}

/// The rounds of all trainings.
fn rounds(connection: &Connection) -> Vec<Round> {
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
fn sealed(kind: &[u8], body: &[u8]) -> Vec<u8> {
    let numbers = [1, body.len() as u64, xxh3_64(body)].map(u64::to_le_bytes).concat();
    [kind, &numbers, body].concat()
}

const REALS: [f64; 9] = [0.0, -1.0, 1e308, -1e308, 1e-320, f64::NAN, f64::INFINITY, 1e100, 4_294_967_296.0];
/// Numbers of 7 bits a byte: 2^64 - 1, 2^63, 2^32, 2^28, 2^16, and one that is too long.
const COUNTS: [&[u8]; 6] = [
    &[255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
    &[128, 128, 128, 128, 128, 128, 128, 128, 128, 1],
    &[128, 128, 128, 128, 16],
    &[128, 128, 128, 128, 1],
    &[128, 128, 4],
    &[255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
];

/// A changed BLOB with a right checksum. `other`: a BLOB to take parts of.
fn changed(blob: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let (mut kind, mut body) = (blob[..8].to_vec(), blob[BODY..].to_vec());
    // Lengths and kinds stand at the beginning.
    let limit = if random.below(2) == 0 { body.len() } else { body.len().min(200) };
    let at = random.below(limit);
    match random.below(8) {
        0 => body[at] = random.below(256) as u8,
        1 => body.truncate(at),
        2 => drop(body.splice(at..at, (0..random.below(40)).map(|byte| byte as u8))),
        3 => drop(body.splice(at..=at, COUNTS[random.below(COUNTS.len())].iter().copied())),
        4 => {
            let real = REALS[random.below(REALS.len())].to_le_bytes();
            let end = body.len().min(at + 8);
            body.splice(at..end, real);
        }
        5 => {
            let from = random.below(other.len() - BODY) + BODY;
            body.truncate(at);
            body.extend(&other[from..]);
        }
        6 => kind = other[..8].to_vec(),
        _ => {
            for _ in 0..=random.below(6) {
                let at = random.below(limit);
                body[at] ^= 1 << random.below(8);
            }
        }
    }
    sealed(&kind, &body)
}

/// The rest of a training, up to a few rounds, and the score of a document with its model.
fn go_on(connection: &Connection, mut state: Vec<u8>, packs: &[(i64, Vec<u8>)]) -> Result<Value, String> {
    for _ in 0..6 {
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
fn trees(connection: &Connection, packs: &[(i64, Vec<u8>)]) -> Result<Value, String> {
    connection.execute("DELETE FROM changed_packs", []).unwrap();
    for pack in packs {
        connection.execute("INSERT INTO changed_packs VALUES (?, ?)", (&pack.0, &pack.1)).unwrap();
    }
    let fit =
        r#"SELECT ltr_fit('boosted_trees', 'changed_packs', '{"buckets": 4, "trees": 2, "threads": 1}'), ?1"#;
    call(connection, SCORE, &[&bytes(connection, fit, &[], 0)?], 0)
}

/// Calls everything that reads a changed BLOB.
fn attack(
    connection: &Connection,
    round: &Round,
    others: &Round,
    random: &mut Random,
) -> Result<Value, String> {
    let any = [&others.state, &others.packs[0].1, others.answers.first().unwrap_or(&others.state)];
    let other = any[random.below(3)];
    match random.below(if round.answers.is_empty() { 1 } else { 3 }) {
        0 => {
            let state = changed(&round.state, other, random);
            call(connection, INFO, &[&state], 0)?;
            drop(bytes(connection, FINISH, &[&state], 0));
            go_on(connection, state, &round.packs)
        }
        1 => {
            let at = random.below(round.answers.len());
            let mut answers = round.answers.clone();
            answers[at] = changed(&answers[at], other, random);
            drop(bytes(connection, STEP, &[&round.state, &answers[at]], 0));
            let all = merged(connection, &answers)?;
            go_on(connection, bytes(connection, STEP, &[&round.state, &all], 0)?, &round.packs)
        }
        _ => {
            let at = random.below(round.packs.len());
            let mut packs = round.packs.clone();
            packs[at].1 = changed(&packs[at].1, other, random);
            if random.below(3) == 0 {
                return trees(connection, &packs);
            }
            let answers = answers(connection, &round.state, &packs)?;
            let all = merged(connection, &answers)?;
            go_on(connection, bytes(connection, STEP, &[&round.state, &all], 0)?, &packs)
        }
    }
}

#[test]
fn changed_blobs_give_errors_or_models() {
    let connection = connect();
    let rounds = rounds(&connection);
    std::panic::set_hook(Box::new(|info| {
        *PANIC.lock().unwrap() = info.to_string();
    }));
    let default = if crate::is_long() { 3 * MUTATIONS } else { MUTATIONS };
    let mutations =
        std::env::var("LTR_MUTATIONS").map_or(default, |text| text.parse().expect("a whole number"));
    let (mut accepted, mut most, mut longest, mut problems) = (0, 0, Duration::ZERO, Vec::new());
    for number in 0..mutations {
        let mut random = Random::new(number as u64);
        let round = &rounds[random.below(rounds.len())];
        let others = &rounds[random.below(rounds.len())];
        let began = Instant::now();
        let (outcome, bytes) = measured(|| attack(&connection, round, others, &mut random));
        let seconds = began.elapsed();
        (most, longest) = (most.max(bytes), longest.max(seconds));
        let panic = std::mem::take(&mut *PANIC.lock().unwrap());
        let wrong = !panic.is_empty() || bytes > MOST_BYTES || seconds > LONGEST;
        let is_bad = match &outcome {
            Ok(Value::Real(score)) => !score.is_finite(),
            Ok(_) => false,
            Err(problem) => problem.contains("internal error"),
        };
        if wrong || is_bad {
            problems.push(format!("{number}: {outcome:?} {panic} {bytes} bytes {seconds:?}"));
        }
        accepted += usize::from(outcome.is_ok());
    }
    drop(std::panic::take_hook());
    let shown = format!("{accepted} of {mutations} accepted, at most {most} bytes and {longest:?}");
    assert!(
        problems.is_empty(),
        "{} problems, {shown}: {:#?}",
        problems.len(),
        &problems[..problems.len().min(8)]
    );
    assert!(mutations < MUTATIONS || (mutations / 50..mutations).contains(&accepted), "{shown}");
}
