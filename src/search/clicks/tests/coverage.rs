//! Judgments of simulated logs of each model: errors, and how often intervals cover the truth. `LTR_LONG=1` uses five
//! times as many logs; `--nocapture` prints the figures.

use super::users::Users;
use crate::search::clicks::*;

/// Results for the pairs of some logs.
#[derive(Default)]
struct Findings {
    pairs: f64,
    covered: f64,
    largest_error: f64,
}

impl Findings {
    fn add(&mut self, users: &mut Users, model: &str, impressions: usize) {
        let counted = users.log(model, impressions);
        for (pair, judgment) in judgments(&fitted(&counted, 0, true)).iter().enumerate() {
            // Documents are numbered within their query.
            let (query, doc) = counted.pairs[pair];
            let number = query as usize * users.docs + doc as usize;
            let satisfaction =
                if find(model).unwrap().has_satisfaction { users.satisfaction[number] } else { 1.0 };
            let truth = users.alpha[number] * satisfaction;
            let error = (judgment.attractiveness - truth).abs();
            self.largest_error = self.largest_error.max(error);
            self.pairs += 1.0;
            self.covered +=
                f64::from(u8::from((judgment.interval[0]..=judgment.interval[1]).contains(&truth)));
        }
    }
}

/// Users of a model. The users of `sdbn` have long lists in random order, so that the last click satisfies nearly all
/// of them, as the model assumes.
fn users(model: &str, seed: u64) -> Users {
    if model == "sdbn" { Users { noise: 1e9, ..Users::of(seed, 1, 40) } } else { Users::new(seed) }
}

#[expect(clippy::print_stdout, reason = "figures")]
fn print(what: &str, found: &Findings) {
    let Findings { pairs, covered, largest_error } = found;
    println!(
        "{what}: {pairs} pairs, {:.1} % covered, largest error {largest_error:.3}",
        100.0 * covered / pairs
    );
}

#[test]
fn estimates_are_close_to_the_truth_and_intervals_cover_it() {
    let is_long = crate::is_long();
    // Three standard errors of a coverage of .95 are .046 for 200 pairs, and .021 for 1,000.
    let (seeds, allowed) = if is_long { (25, 0.93..=0.97) } else { (5, 0.90..=0.99) };
    let mut all = Findings::default();
    for model in CLICK_MODELS {
        let mut found = Findings::default();
        for seed in 0..seeds {
            found.add(&mut users(model.name, seed), model.name, 24_000);
        }
        print(model.name, &found);
        let share = found.covered / found.pairs;
        assert!(allowed.contains(&share), "{}: {share} of {} pairs", model.name, found.pairs);
        all = Findings { pairs: all.pairs + found.pairs, covered: all.covered + found.covered, ..all };
    }
    let share = all.covered / all.pairs;
    assert!((0.93..=0.97).contains(&share), "{share}");
}

/// Every pair has 30,000 impressions or more: with 5,000, pairs at low positions are examined too rarely for such errors.
#[test]
fn long_logs_have_small_errors() {
    let seeds = if crate::is_long() { 5 } else { 1 };
    for model in CLICK_MODELS {
        let mut found = Findings::default();
        for seed in 100..100 + seeds {
            let impressions = if model.name == "sdbn" { 60_000 } else { 120_000 };
            found.add(&mut users(model.name, seed), model.name, impressions);
        }
        print(&format!("{}, long", model.name), &found);
        assert!(found.largest_error <= 0.03, "{}: {}", model.name, found.largest_error);
    }
}
