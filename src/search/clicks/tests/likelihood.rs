//! Likelihoods against sums over all hidden states: which rows are attractive, looked at and satisfying.

use super::users::{Users, fits, read};
use crate::base::Memory;
use crate::search::clicks::*;

/// Rows of a list.
const ROWS: usize = 4;

/// The probability of these hidden states, and the clicks that they lead to. A row has three bits.
fn hidden(name: &str, fitted: &Fitted, rows: &[Shown], states: u32) -> (f64, u32) {
    let (mut probability, mut clicks) = (1.0, 0);
    let (mut is_there, mut last) = (true, 0);
    for (index, row) in rows.iter().enumerate() {
        let mut state = |bit: usize, chance: f64| {
            let is_set = states >> (3 * index + bit) & 1 == 1;
            probability *= if is_set { chance } else { 1.0 - chance };
            is_set
        };
        let looks = match name {
            "pbm" => fitted.examination(row.position - 1),
            "ubm" => fitted.examination((row.position - 1) * MOST_POSITIONS + last),
            _ => 1.0,
        };
        let satisfies = match name {
            "cascade" => 1.0,
            "sdbn" => fitted.satisfaction[row.pair as usize],
            _ => 0.0,
        };
        let is_attractive = state(0, fitted.alpha[row.pair as usize].value);
        let (is_looked_at, is_satisfied) = (state(1, looks), state(2, satisfies));
        if is_there && is_looked_at && is_attractive {
            clicks |= 1 << index;
            last = row.position;
            is_there = !is_satisfied;
        }
    }
    (probability, clicks)
}

/// The probability of each possible outcome of a list.
fn outcomes(name: &str, fitted: &Fitted, rows: &[Shown]) -> Vec<f64> {
    let mut sums = vec![0.0; 1 << rows.len()];
    for states in 0..1 << (3 * rows.len()) {
        let (probability, clicks) = hidden(name, fitted, rows, states);
        sums[clicks as usize] += probability;
    }
    sums
}

fn list(clicks: usize) -> Vec<Shown> {
    let shown = |index: usize| Shown {
        pair: [2, 0, 3, 1][index],
        position: index as u32 + 1,
        clicked: clicks >> index & 1 == 1,
        weight: (clicks >> index & 1) as f64,
    };
    (0..ROWS).map(shown).collect()
}

/// Estimates of all models from one log.
fn estimates() -> Vec<Fitted> {
    let rows = Users::new(5).rows("sdbn", 2000);
    let mut log = Log::new(CLICK_MODELS.to_vec(), &Memory::limited(None));
    read(&rows, &mut log);
    fits(&log.finish(), true)
}

#[test]
fn probabilities_of_clicks_are_sums_over_hidden_states() {
    for (model, fitted) in CLICK_MODELS.iter().zip(&estimates()) {
        let sums = outcomes(model.name, fitted, &list(0));
        assert!((sums.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{}", model.name);
        let mut overall = [0.0; ROWS];
        for (clicks, sum) in sums.iter().enumerate() {
            let rows = list(clicks);
            let given = (model.given_above)(fitted, &rows);
            let found: f64 =
                given.iter().zip(&rows).map(|(p, row)| if row.clicked { *p } else { 1.0 - p }).product();
            assert!((found - sum).abs() < 1e-12, "{} {clicks}: {found} {sum}", model.name);
            rows.iter()
                .zip(&mut overall)
                .for_each(|(row, all)| *all += f64::from(u8::from(row.clicked)) * sum);
        }
        for (found, sum) in (model.overall)(fitted, &list(0)).iter().zip(overall) {
            assert!((found - sum).abs() < 1e-12, "{}: {found} {sum}", model.name);
        }
    }
}
