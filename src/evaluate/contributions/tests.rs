//! The contributions of a model with a kernel: sampled ones against exact ones.

use super::*;
use crate::data::shaped;

const FEATURES: usize = 10;

/// A number in 0..1 without a pattern.
fn number(index: usize) -> f64 {
    (index as f64 * 0.754_877_666).fract()
}

/// A model with a Gaussian kernel, of grades that depend on interactions of 10 features.
fn kernel_model() -> Model {
    let features = shaped(90, FEATURES, (0..90 * FEATURES).map(|index| number(index * index)).collect());
    let grade =
        |row: ndarray::ArrayView1<'_, f64>| (4.0 * row[0] * row[1] + row[2] * (row[3] - row[4])).floor();
    let relevance: Vec<f64> = features.rows().into_iter().map(grade).collect();
    let data = crate::Dataset::from_arrays(features, (0..90).map(|row| row / 9), &relevance).unwrap();
    let trainer = crate::Trainer::new("regression").option("kernel", "gaussian").option("lambda", 1e-3);
    Model::from_bytes(&trainer.fit(&data).unwrap().to_bytes()).unwrap()
}

#[test]
fn sampled_contributions_of_a_kernel_are_within_their_stated_errors() {
    let (model, control) = (kernel_model(), Control::default());
    let Ranker::Linear(linear) = &model.ranker else { panic!("{:?}", model.card.algorithm) };
    let document: Vec<f64> = (0..FEATURES).map(|feature| number(feature + 77)).collect();
    let rows = Matrix::F64(shaped(2, FEATURES, [document, model.card.means.clone()].concat()));
    let parts = Parts::new(&model, linear.function(), &rows, 0, &control).unwrap();
    let players = parts.differing();
    assert_eq!(players.len(), FEATURES);
    let game = parts.game(&players).unwrap();
    let exact = shapley::enumerated(&game, &control).unwrap();
    // The errors of 60 seeds in standard errors: their spread is about 1, and 95 % of them are below 2.
    let mut errors = Vec::new();
    for seed in 0..60 {
        let found = shapley::sampled(&game, Sampling { pairs: 100, seed }, &control).unwrap();
        let error = |(found, exact): (&shapley::Shapley, &shapley::Shapley)| {
            (found.value - exact.value) / found.standard_error
        };
        errors.extend(found.iter().zip(&exact).map(error));
    }
    let spread = (errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64).sqrt();
    let below = errors.iter().filter(|error| error.abs() < 2.0).count() as f64 / errors.len() as f64;
    assert!((0.87..1.15).contains(&spread), "errors are {spread} standard errors");
    assert!((0.92..0.98).contains(&below), "{below} of the errors are below 2 standard errors");
}
