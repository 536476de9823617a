//! Models with right checksums and wrong contents: whatever their bytes say, every function that reads a model answers with
//! an error or with finite numbers, soon, and without much memory.
//!
//! Models of every algorithm and kernel are changed at random and sealed again. A million mutations (most of an hour):
//!
//! ```text
//! LTR_MUTATIONS=1000000 cargo test --release --test hostile mutated -- --nocapture
//! ```
//!
//! `LTR_FIRST_MUTATION` sets the number of the first one, to repeat a case.
mod calls;
pub mod change;
pub mod models;
mod numbers;
mod statements;
mod stored;
mod walk;

use std::io::Write;

use calls::Tally;
use change::{Numbers, mutated};
use models::{connect, samples};

use crate::models::parts::Opened;

/// Mutations unless `LTR_MUTATIONS` sets their number. With `LTR_LONG=1` three times as many.
const MUTATIONS: u64 = 2_000;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().expect("a whole number"))
}

/// Changes `count` models, the first one by the mutation `first`, and calls every function with each.
fn mutate(first: u64, count: u64) -> Tally {
    let connection = connect();
    let samples = samples(&connection);
    let opened: Vec<Opened> = samples.iter().map(|sample| Opened::new(&sample.bytes)).collect();
    let mut tally = Tally::new(&connection);
    for sample in &samples {
        tally.check(&sample.bytes, &sample.name);
    }
    assert_eq!(tally.refused, 0, "{tally}");
    for number in first..first + count {
        let sample = number as usize % samples.len();
        let bytes = mutated(&opened[sample], &opened, &mut Numbers::new(number));
        tally.check(&bytes, &format!("mutation {number} of {}", samples[sample].name));
        if (number + 1).is_multiple_of(50_000) {
            std::io::stderr().write_all(format!("{tally}\n").as_bytes()).expect("stderr");
        }
    }
    tally
}

#[test]
fn mutated_models_give_errors_or_finite_numbers() {
    let mutations = number("LTR_MUTATIONS", if crate::is_long() { 3 * MUTATIONS } else { MUTATIONS });
    let tally = mutate(number("LTR_FIRST_MUTATION", 1), mutations);
    tally.assert_clean();
    assert!(
        mutations < MUTATIONS || tally.accepted > mutations / 20,
        "too few mutations were models: {tally}"
    );
}
