//! The dynamic Bayesian network.

use super::users::{PAIRS, PERSEVERANCE, Users, fit_rows, read};
use crate::clicks::*;
use crate::memory::Memory;

#[test]
fn attractiveness_satisfaction_and_perseverance_are_those_of_the_users() {
    let (mut covered, mut all) = ([0.0; 2], 0.0);
    for seed in 0..3 {
        let mut users = Users::new(seed);
        let rows = users.rows("dbn", 24_000);
        let mut log = Log::new(vec![find("dbn").unwrap()], &Memory::limited(None));
        read(&rows, &mut log);
        let counted = log.finish();
        let (fitted, passes) = fit_rows(&counted, 0, &rows, true);
        assert!((5..=30).contains(&passes), "{passes}");
        assert!((fitted.perseverance - PERSEVERANCE).abs() < 0.01, "{}", fitted.perseverance);
        for pair in 0..PAIRS {
            let (alpha, relevance) = (fitted.alpha[pair], fitted.relevance[pair]);
            let truths = [users.alpha[pair], users.alpha[pair] * users.satisfaction[pair]];
            for ((estimate, truth), covered) in [alpha, relevance].iter().zip(truths).zip(&mut covered) {
                let error = (estimate.value - truth).abs();
                assert!(error <= 0.03 || fitted.examined[pair] < 5000.0, "{pair}: {estimate:?} {truth}");
                *covered += f64::from(u8::from(error <= 1.96 * estimate.error));
            }
            all += 1.0;
        }
    }
    assert!(covered.iter().all(|covered| covered / all > 0.9), "{covered:?} of {all}");
}
