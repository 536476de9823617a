//! Likelihoods against sums over all hidden states: which rows are attractive, looked at and satisfying, and after which the
//! user goes on.

use super::users::{Users, fits, read};
use crate::base::Memory;
use crate::search::clicks::dbn::Pass;
use crate::search::clicks::estimate::PRIOR;
use crate::search::clicks::*;

/// Rows of a list.
const ROWS: usize = 4;

/// The probability of these hidden states, and the clicks that they lead to. A row has four bits.
fn hidden(name: &str, fitted: &Fitted, rows: &[Shown], states: u32) -> (f64, u32) {
    let (mut probability, mut clicks) = (1.0, 0);
    let (mut is_there, mut last) = (true, 0);
    for (index, row) in rows.iter().enumerate() {
        let mut state = |bit: usize, chance: f64| {
            let is_set = states >> (4 * index + bit) & 1 == 1;
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
            "sdbn" | "dbn" => fitted.satisfaction[row.pair as usize],
            _ => 0.0,
        };
        let goes_on = if name == "dbn" { fitted.perseverance } else { 1.0 };
        let is_attractive = state(0, fitted.alpha[row.pair as usize].value);
        let (is_looked_at, is_satisfied, goes_on) = (state(1, looks), state(2, satisfies), state(3, goes_on));
        if is_there && is_looked_at && is_attractive {
            clicks |= 1 << index;
            last = row.position;
            is_there = !is_satisfied;
        }
        is_there &= goes_on;
    }
    (probability, clicks)
}

/// The probability of each outcome of a list.
fn outcomes(name: &str, fitted: &Fitted, rows: &[Shown]) -> Vec<f64> {
    let mut sums = vec![0.0; 1 << rows.len()];
    for states in 0..1 << (4 * rows.len()) {
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
fn estimates() -> (Counted, Vec<LogRow>, Vec<Fitted>) {
    let rows = Users::new(5).rows("dbn", 2000);
    let mut log = Log::new(CLICK_MODELS.to_vec(), &Memory::limited(None));
    read(&rows, &mut log);
    let counted = log.finish();
    let fits = fits(&counted, &rows, true);
    (counted, rows, fits)
}

#[test]
fn probabilities_of_clicks_are_sums_over_hidden_states() {
    for (model, fitted) in CLICK_MODELS.iter().zip(&estimates().2) {
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

/// The estimates of dbn as a point, and its log-likelihood with the prior.
fn of_network(counted: &Counted, rows: &[LogRow], point: &[f64], mean: f64) -> f64 {
    let mut pass = Pass::new(counted, true, point, None);
    read(rows, &mut pass);
    pass.maximized(mean).1
}

#[test]
fn the_likelihood_of_a_pass_is_a_sum_over_hidden_states() {
    let (counted, _, fits) = estimates();
    let network = CLICK_MODELS.iter().position(|model| model.name == "dbn").unwrap();
    let fitted = &fits[network];
    let point = point_of(fitted);
    let sums = outcomes("dbn", fitted, &list(0));
    for (clicks, sum) in sums.iter().enumerate() {
        let mut pass = Pass::new(&counted, true, &point, None);
        pass.impression(&crate::data::Id::Null, &list(clicks)).unwrap();
        let found = pass.maximized(fitted.mean).1 - prior(&point, fitted.mean);
        assert!((found - sum.ln()).abs() < 1e-9, "{clicks}: {found} {}", sum.ln());
    }
}

fn point_of(fitted: &Fitted) -> Vec<f64> {
    let pairs = fitted.alpha.iter().zip(&fitted.satisfaction);
    pairs.flat_map(|(alpha, s)| [alpha.value, *s]).chain([fitted.perseverance]).collect()
}

fn prior(point: &[f64], mean: f64) -> f64 {
    let of = |(index, value): (usize, &f64)| {
        let mean = if index.is_multiple_of(2) && index + 1 < point.len() { mean } else { 0.5 };
        PRIOR * (mean * value.ln() + (1.0 - mean) * (1.0 - value).ln())
    };
    point.iter().enumerate().map(of).sum()
}

#[test]
fn the_estimates_of_a_network_have_the_largest_likelihood() {
    let (counted, rows, fits) = estimates();
    let network = CLICK_MODELS.iter().position(|model| model.name == "dbn").unwrap();
    let mut point = point_of(&fits[network]);
    let mean = fits[network].mean;
    let largest = of_network(&counted, &rows, &point, mean);
    for index in 0..point.len() {
        for change in [-0.003, 0.003] {
            point[index] += change;
            let found = of_network(&counted, &rows, &point, mean);
            assert!(found < largest, "{index} {change}: {found} {largest}");
            point[index] -= change;
        }
    }
}
