//! A state, an answer or a pack with a right checksum and any contents, in a training whose other BLOBs are right. The first
//! byte chooses the training and its round, the second the BLOB.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rusqlite::types::Value;
use sqlite_ltr_fuzz::rounds::{
    BODY, FINISH, INFO, Round, STEP, answers, bytes, call, connect, go_on, merged, rounds, sealed, trees,
};
use sqlite_ltr_fuzz::{Database, buckets, check_message, write_seeds};

/// Rounds after a changed BLOB.
const ROUNDS: usize = 1;

thread_local! {
    static TRAININGS: (Database, Vec<Round>) = {
        let database = Database::new(connect());
        let rounds = rounds(&database.connection);
        (database, rounds)
    };
}

fn check(database: &Database, round: &Round, place: u8, body: &[u8]) -> Result<Value, String> {
    let connection = &database.connection;
    let seal = |like: &[u8]| sealed(&like[..8], body);
    let at = usize::from(place / 4);
    match place % 4 {
        0 => {
            let state = seal(&round.state);
            call(connection, INFO, &[&state], 0)?;
            if let Err(problem) = bytes(connection, FINISH, &[&state], 0) {
                check_message(FINISH, &problem);
            }
            go_on(connection, state, &round.packs, ROUNDS)
        }
        1 if !round.answers.is_empty() => {
            let mut answers = round.answers.clone();
            let at = at % answers.len();
            answers[at] = seal(&answers[at]);
            let all = merged(connection, &answers)?;
            go_on(connection, bytes(connection, STEP, &[&round.state, &all], 0)?, &round.packs, ROUNDS)
        }
        kind => {
            let mut packs = round.packs.clone();
            let at = at % packs.len();
            packs[at].1 = seal(&packs[at].1);
            if kind == 3 {
                return trees(connection, &packs);
            }
            let all = merged(connection, &answers(connection, &round.state, &packs)?)?;
            go_on(connection, bytes(connection, STEP, &[&round.state, &all], 0)?, &packs, ROUNDS)
        }
    }
}

/// Every state, and the first answer and pack of each round.
fn seeds() -> Vec<Vec<u8>> {
    let rounds = rounds(&connect());
    let of_round = |(number, round): (u8, &Round)| {
        let mut blobs = vec![(0, &round.state), (2, &round.packs[0].1), (3, &round.packs[0].1)];
        blobs.extend(round.answers.first().map(|answer| (1, answer)));
        blobs
            .into_iter()
            .filter_map(|(place, blob)| {
                Some([&[number, place], &buckets::input(&blob[BODY..])?[..]].concat())
            })
            .collect::<Vec<_>>()
    };
    (0..).zip(&rounds).flat_map(of_round).collect()
}

fuzz_target!(
    init: write_seeds(seeds),
    |data: &[u8]| {
        let [round, place, input @ ..] = data else { return };
        TRAININGS.with(|(database, rounds)| {
            let round = &rounds[usize::from(*round) % rounds.len()];
            match database.watched(|| check(database, round, *place, &buckets::body(input))) {
                Ok(Value::Real(score)) => assert!(score.is_finite(), "the score {score}"),
                Ok(_) => {}
                Err(problem) => check_message("buckets", &problem),
            }
        });
    }
);
