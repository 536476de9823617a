use super::*;
use crate::math::Random;

fn check(matrix: &[f64], n: usize) -> Eigen {
    let eigen = symmetric(matrix.to_vec(), n, &Control::default()).unwrap();
    let size = matrix.iter().fold(1e-300_f64, |size, value| size.max(value.abs()));
    for (i, value) in eigen.values.iter().enumerate() {
        let v = &eigen.vectors[i * n..(i + 1) * n];
        for (j, row) in matrix.chunks_exact(n).enumerate() {
            assert!((dot(row, v) - value * v[j]).abs() < 1e-12 * size * n as f64, "pair {i} of {n}");
        }
        for other in 0..n {
            let expected = if other == i { 1.0 } else { 0.0 };
            let product = dot(v, &eigen.vectors[other * n..(other + 1) * n]);
            assert!((product - expected).abs() < 1e-12, "{i} and {other} of {n}");
        }
    }
    assert!(eigen.values.is_sorted_by(|a, b| a >= b));
    eigen
}

#[test]
fn pairs_satisfy_their_equation_and_are_orthonormal() {
    let mut random = Random::new(1);
    for n in 1..40 {
        let mut matrix = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                matrix[i * n + j] = random.symmetric();
                matrix[j * n + i] = matrix[i * n + j];
            }
        }
        check(&matrix, n);
    }
}

#[test]
fn equal_eigenvalues_zeros_and_low_rank_are_handled() {
    let n = 30;
    let of = |entry: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
        (0..n * n).map(|index| entry(index / n, index % n)).collect()
    };
    check(&of(&|_, _| 0.0), n);
    check(&of(&|i, j| f64::from(u8::from(i == j))), n);
    let ones = check(&of(&|_, _| 1e-200), n);
    assert!((ones.values[0] - 30e-200).abs() < 1e-210);
    check(
        &of(&|i, j| {
            if i == j {
                2.0
            } else if i.abs_diff(j) == 1 {
                -1.0
            } else {
                0.0
            }
        }),
        n,
    );
    check(&of(&|i, j| ((i % 3) * (j % 3)) as f64 * 1e150), n);
}

#[test]
fn threads_change_no_bit() {
    let n: usize = 150;
    let matrix: Vec<f64> =
        (0..n * n).map(|index| 1.0 / (1.0 + usize::abs_diff(index / n, index % n) as f64)).collect();
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| symmetric(matrix.clone(), n, &Control::default()).unwrap())
    };
    assert!(with(1) == with(3));
}

#[test]
fn an_interruption_is_heeded() {
    let control = Control::default();
    control.cancel();
    assert_eq!(symmetric(vec![1.0; 9], 3, &control), Err(Error::Interrupted));
}
