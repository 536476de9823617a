//! What the machine can do, for the ratios in docs/benchmarks.md: `cargo bench --bench machine`.
//!
//! Bandwidth: sums of a vector that no cache holds, and of one that the second cache holds. Multiply rate: products of square
//! matrices in single and double precision, with fused operations. One thread; the largest of several runs, by CPU time.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program that prints its measurements")]

use std::hint::black_box;

use sqlite_ltr::ndarray::{Array2, LinalgScalar, linalg::general_mat_mul};

mod process;

const REPETITIONS: usize = 5;
/// Bytes read in a run, and products in a run: CPU time is counted in hundredths of a second.
const READ: usize = 8 << 30;
const PRODUCTS: usize = 128;
/// Bytes of a vector that no cache of one core holds, and of one in the second cache.
const LARGE: usize = 512 << 20;
const SMALL: usize = 1 << 20;
const SIDE: usize = 512;

/// The least CPU seconds of several runs.
fn least_seconds(mut work: impl FnMut()) -> f64 {
    let run = |_| {
        let before = process::processor().unwrap_or_default();
        work();
        process::processor().unwrap_or_default() - before
    };
    (0..REPETITIONS).map(run).fold(f64::INFINITY, f64::min)
}

/// GB/s of reading a vector again and again.
fn bandwidth(bytes: usize) -> f64 {
    let values: Vec<u64> = (0..bytes as u64 / 8).collect();
    let passes = READ / bytes;
    let seconds = least_seconds(|| {
        for _ in 0..passes {
            let sum = |values: &[u64]| values.iter().fold(0, |sum: u64, value| sum.wrapping_add(*value));
            black_box(sum(black_box(&values)));
        }
    });
    (bytes * passes) as f64 / seconds / 1e9
}

/// Gflop/s of products of matrices, 2 operations for each multiply and add.
fn multiply_rate<T: LinalgScalar>(value: fn(usize) -> T) -> f64 {
    let matrix =
        |seed: usize| Array2::from_shape_fn((SIDE, SIDE), |(i, j)| value((i * 31 + j * 17 + seed) % 97));
    let (a, b, mut c) = (matrix(1), matrix(2), matrix(3));
    let seconds = least_seconds(|| {
        for _ in 0..PRODUCTS {
            general_mat_mul(T::one(), &a, &b, T::zero(), black_box(&mut c));
        }
    });
    (2 * SIDE * SIDE * SIDE * PRODUCTS) as f64 / seconds / 1e9
}

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    println!("reading {} MB again and again: {:.1} GB/s", LARGE >> 20, bandwidth(LARGE));
    println!("reading {} MB again and again: {:.1} GB/s", SMALL >> 20, bandwidth(SMALL));
    println!("products of {SIDE} x {SIDE} matrices, f32: {:.0} Gflop/s", multiply_rate(|i| i as f32));
    println!("products of {SIDE} x {SIDE} matrices, f64: {:.0} Gflop/s", multiply_rate(|i| i as f64));
}
