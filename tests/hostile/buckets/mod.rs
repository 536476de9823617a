//! Packs, answers and states with right checksums and wrong contents: whatever their bytes say, the functions of training in
//! buckets answer with an error or go on, soon, without panics and without much memory.
//!
//! ```text
//! LTR_MUTATIONS=200000 cargo test --release --test hostile buckets
//! ```
mod rounds;

use std::sync::Mutex;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::types::Value;
use sqlite_ltr::internals::math::random::Random;

use crate::allocated::measured;
use rounds::{
    BODY, FINISH, INFO, Round, STEP, answers, bytes, call, connect, go_on, merged, rounds, sealed, trees,
};

/// Mutations unless `LTR_MUTATIONS` sets their number. With `LTR_LONG=1` three times as many.
const MUTATIONS: usize = 1_000;
const MOST_BYTES: usize = 64 << 20;
/// Rounds after a changed BLOB.
const ROUNDS: usize = 6;
const LONGEST: Duration = Duration::from_secs(5);

static PANIC: Mutex<String> = Mutex::new(String::new());

const REALS: [f64; 9] = [0.0, -1.0, 1e308, -1e308, 1e-320, f64::NAN, f64::INFINITY, 1e100, 4_294_967_296.0];
/// Whole numbers as bincode writes them: 2^64 - 1, 2^63, 2^32 - 1, 2^28, 2^16, 251 in more bytes than it needs, and one that is
/// too long.
const COUNTS: [&[u8]; 7] = [
    &[253, 255, 255, 255, 255, 255, 255, 255, 255],
    &[253, 0, 0, 0, 0, 0, 0, 0, 128],
    &[252, 255, 255, 255, 255],
    &[252, 0, 0, 0, 16],
    &[252, 0, 0, 1, 0],
    &[251, 251, 0],
    &[254, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255],
];

/// A changed BLOB with a right checksum. `other`: a BLOB to take parts of.
fn changed(blob: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let (mut kind, mut body) = (blob[..8].to_vec(), blob[BODY..].to_vec());
    // Lengths and kinds come first.
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
            go_on(connection, state, &round.packs, ROUNDS)
        }
        1 => {
            let at = random.below(round.answers.len());
            let mut answers = round.answers.clone();
            answers[at] = changed(&answers[at], other, random);
            drop(bytes(connection, STEP, &[&round.state, &answers[at]], 0));
            let all = merged(connection, &answers)?;
            go_on(connection, bytes(connection, STEP, &[&round.state, &all], 0)?, &round.packs, ROUNDS)
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
            go_on(connection, bytes(connection, STEP, &[&round.state, &all], 0)?, &packs, ROUNDS)
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
