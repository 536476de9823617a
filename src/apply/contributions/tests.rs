//! Contributions: sampled against exact for kernels, against all sets of features for trees.

use super::shapley::Parts;
use super::*;
use crate::base::Control;
use crate::data::{Matrix, shaped};
use crate::model::{Model, Ranker};

const FEATURES: usize = 10;

/// A number in 0..1 without a pattern.
fn number(index: usize) -> f64 {
    (index as f64 * 0.754_877_666).fract()
}

/// A model of grades that depend on interactions of 10 features.
fn trained(trainer: &crate::Trainer) -> crate::Model {
    let features = shaped(90, FEATURES, (0..90 * FEATURES).map(|index| number(index * index)).collect());
    let grade =
        |row: ndarray::ArrayView1<'_, f64>| (4.0 * row[0] * row[1] + row[2] * (row[3] - row[4])).floor();
    let relevance: Vec<f64> = features.rows().into_iter().map(grade).collect();
    let data = crate::Dataset::from_arrays(features, (0..90).map(|row| row / 9), &relevance).unwrap();
    trainer.fit(&data).unwrap()
}

#[test]
fn sampled_contributions_of_a_kernel_are_within_their_stated_errors() {
    let trainer = crate::Trainer::new("regression").option("kernel", "gaussian").option("lambda", 1e-3);
    let (model, control) = (Model::from_bytes(&trained(&trainer).to_bytes()).unwrap(), Control::default());
    let Ranker::Linear(linear) = &model.ranker else { panic!("{:?}", model.card.algorithm) };
    let document: Vec<f64> = (0..FEATURES).map(|feature| number(feature + 77)).collect();
    let rows = Matrix::F64(shaped(2, FEATURES, [document, model.card.means.clone()].concat()));
    let parts = Parts::new(&model, linear.scorer(), &linear.function.weights, &rows, 0, &control).unwrap();
    let columns: Vec<_> = (0..FEATURES).map(|feature| feature..feature + 1).collect();
    let players: Vec<_> =
        parts.differing(&columns).into_iter().map(|column| columns[column].clone()).collect();
    assert_eq!(players.len(), FEATURES);
    let game = parts.game(&players).unwrap();
    let exact = shapley::enumerated(&game, &control).unwrap();
    // The errors of 60 seeds in standard errors: their spread is about 1, and 95 % of them are below 2.
    let mut errors = Vec::new();
    for seed in 0..60 {
        let found = shapley::sampled(&game, Sampling { pairs: 100, seed }, &control).unwrap();
        let error = |(found, exact): (&Contribution, &Contribution)| {
            (found.value - exact.value) / found.standard_error
        };
        errors.extend(found.iter().zip(&exact).map(error));
    }
    let spread = (errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64).sqrt();
    let below = errors.iter().filter(|error| error.abs() < 2.0).count() as f64 / errors.len() as f64;
    assert!((0.87..1.15).contains(&spread), "errors are {spread} standard errors");
    assert!((0.92..0.98).contains(&below), "{below} of the errors are below 2 standard errors");
}

/// The Shapley values of 10 features, from the scores of all 1,024 mixed documents.
#[test]
fn tree_contributions_match_a_sum_over_all_feature_sets() {
    for (scale, seed) in [("none", 3), ("quantile", 4)] {
        let trainer = crate::Trainer::new("boosted_trees").option("trees", 60).option("scale", scale);
        let model = trained(&trainer);
        let document: Vec<f64> = (0..FEATURES).map(|feature| number(feature * seed + 1)).collect();
        let found = model.explain(&document, None).unwrap();
        let base = Model::from_bytes(&model.to_bytes()).unwrap().card.means;
        let score = |set: usize| {
            let value =
                |feature: usize| if set >> feature & 1 == 1 { document[feature] } else { base[feature] };
            model.score(&(0..FEATURES).map(value).collect::<Vec<f64>>(), None).unwrap()
        };
        let scores: Vec<f64> = (0..1 << FEATURES).map(score).collect();
        // The weight of a coalition of s other players: s! (9 - s)! / 10!.
        let factorial = |n: u32| f64::from((1..=n).product::<u32>());
        let weight = |s: u32| factorial(s) * factorial(9 - s) / factorial(10);
        for (feature, found) in found[1..].iter().enumerate() {
            let without = (0..scores.len()).filter(|set| set >> feature & 1 == 0);
            let adds =
                without.map(|set| weight(set.count_ones()) * (scores[set | 1 << feature] - scores[set]));
            assert!((found.contribution - adds.sum::<f64>()).abs() < 1e-9, "{feature}: {found:?}");
            assert!(found.standard_error.abs() < f64::MIN_POSITIVE, "{found:?}");
        }
        assert!((found[0].contribution - scores[0]).abs() < 1e-9, "{:?}", found[0]);
    }
}
