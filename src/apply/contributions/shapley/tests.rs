use super::*;

/// v(S) = (sum of a_i over S)^2 + product of b_i over S.
struct Example {
    a: Vec<f64>,
    b: Vec<f64>,
}

impl Game for Example {
    fn players(&self) -> usize {
        self.a.len()
    }

    fn numbers(&self) -> usize {
        // Small chunks.
        CHUNK / 7
    }

    fn values(&self, members: &[bool], _: &Control) -> Result<Vec<f64>> {
        let value = |members: &[bool]| {
            let of = |values: &[f64], neutral: f64| -> Vec<f64> {
                values
                    .iter()
                    .zip(members)
                    .map(|(x, is_member)| if *is_member { *x } else { neutral })
                    .collect()
            };
            of(&self.a, 0.0).iter().sum::<f64>().powi(2) + of(&self.b, 1.0).iter().product::<f64>()
        };
        Ok(members.chunks_exact(self.players()).map(value).collect())
    }
}

fn example(n: usize) -> Example {
    let wave = |i: usize, f: f64| (i as f64 * f).sin();
    Example {
        a: (0..n).map(|i| wave(i + 1, 1.3)).collect(),
        b: (0..n).map(|i| 1.0 + wave(i + 1, 0.7)).collect(),
    }
}

#[test]
fn values_of_a_squared_sum_are_known() {
    let game = Example { b: vec![1.0; 5], ..example(5) };
    let sum: f64 = game.a.iter().sum();
    let found = enumerated(&game, &Control::default()).unwrap();
    for (a, found) in game.a.iter().zip(found) {
        assert!((found.value - a * sum).abs() < 1e-12 && found.standard_error <= 0.0, "{found:?}");
    }
}

#[test]
fn sampled_values_are_within_their_stated_errors() {
    let (game, control) = (example(10), Control::default());
    let exact = enumerated(&game, &control).unwrap();
    let [mut squares, mut count] = [0.0, 0.0];
    for seed in 0..40 {
        let found = sampled(&game, Sampling { pairs: 200, seed }, &control).unwrap();
        let sum = |values: &[Contribution]| values.iter().map(|value| value.value).sum::<f64>();
        assert!((sum(&found) - sum(&exact)).abs() < 1e-12);
        for (found, exact) in found.iter().zip(&exact) {
            let errors = (found.value - exact.value) / found.standard_error;
            assert!(errors.abs() < 4.5, "{found:?}, exact {exact:?}");
            squares += errors * errors;
            count += 1.0;
        }
    }
    let spread: f64 = (squares / count).sqrt();
    assert!((0.85..1.15).contains(&spread), "errors are {spread} standard errors");
}

#[test]
fn the_bits_do_not_depend_on_threads() {
    let of = |threads: usize, n: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| values(&example(n), Sampling { pairs: 9, seed: 3 }, &Control::default()).unwrap())
    };
    for n in [0, 1, 11, 30] {
        assert_eq!(of(1, n), of(4, n), "{n}");
    }
}

/// Moments of batches, not the values of all samples, are in memory.
#[test]
fn many_samples_take_no_more_memory_than_few() {
    let game = Example { b: vec![1.0; 13], ..example(13) };
    let control = Control::with_memory(crate::base::memory::Memory::limited(Some(500_000)));
    let found = sampled(&game, Sampling { pairs: 100_000, seed: 1 }, &control).unwrap();
    let sum: f64 = game.a.iter().sum();
    for (a, found) in game.a.iter().zip(found) {
        assert!((found.value - a * sum).abs() < 4.5 * found.standard_error + 1e-12, "{found:?}");
    }
}

#[test]
fn moments_of_batches_add_up_to_the_moments_of_all_values() {
    let values: Vec<f64> = (0..50).map(|i| 1e6 + (f64::from(i) * 0.7).sin()).collect();
    let moments = |values: &[f64]| {
        let mut all = Moments::default();
        values.iter().for_each(|mean| all.add(Moments { count: 1.0, mean: *mean, squares: 0.0 }));
        all
    };
    let mut all = Moments::default();
    values.chunks(7).for_each(|chunk| all.add(moments(chunk)));
    let mean = values.iter().sum::<f64>() / 50.0;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    assert!((all.mean - mean).abs() < 1e-9 && (all.squares - squares).abs() < 1e-8 * squares, "{all:?}");
}
