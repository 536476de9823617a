//! Time to find the neighbors of every training query, compared with a search through one query after the other:
//! `cargo bench --bench neighbors`.
//!
//! 20,000 queries, 20 neighbors, the median distance as bandwidth, one thread, in batches as training asks for them. Both give
//! the same neighbors and weights, bit for bit.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program that prints its measurements")]

use std::time::Instant;

use sqlite_ltr::internals::data::query_distance::{ColumnDistance, Comparison, QueryDistance, Separation};
use sqlite_ltr::internals::learn::smoothing::{
    BATCH, Bandwidth, QueryRole, QueryRows, Smoothing, SmoothingKind, Target,
};
use sqlite_ltr::internals::math::random::Random;
use sqlite_ltr::ndarray::Array2;

const QUERIES: usize = 20_000;
/// In one of this many batches, the first query is searched the slow way; its time is multiplied.
const SLOW: usize = 4;

fn one_by_one(
    rows: &QueryRows,
    distance: &QueryDistance,
    smoothing: &Smoothing,
    query: usize,
) -> Vec<(usize, f64, f64)> {
    let own = rows.row(query).to_vec();
    let separations: Vec<Separation> =
        (0..QUERIES).map(|other| distance.between(&rows.row(other).to_vec(), &own)).collect();
    let distances: Vec<f64> = separations.iter().map(|separation| separation.distance).collect();
    let h = smoothing.bandwidth(&distances, distance.numbers);
    let candidates: Vec<Option<f64>> = distances.iter().copied().map(Some).collect();
    let near = smoothing.nearest(&candidates, Target::Observed).into_iter();
    near.map(|(index, distance)| (index, distance, smoothing.weight(&separations[index], h))).collect()
}

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    for numbers in [2, 10, 46] {
        let mut random = Random::new(1);

        let uniform = || (random.bits() >> 11) as f64 / (1_u64 << 53) as f64;
        let rows = QueryRows::from(Array2::from_shape_simple_fn((QUERIES, numbers), uniform));
        let column =
            |start| ColumnDistance { comparison: Comparison::Euclidean, start, width: 1, weight: 1.0 };
        let distance = QueryDistance::from((0..numbers).map(column).collect::<Vec<_>>());
        let smoothing = Smoothing::new(SmoothingKind::Gaussian, 20, Bandwidth::Median);
        let (mut fast, mut slow) = (0.0, 0.0);
        for (number, first) in (0..QUERIES).step_by(BATCH).enumerate() {
            let queries = first..QUERIES.min(first + BATCH);
            let began = Instant::now();
            let own: Vec<Vec<f64>> = queries.map(|query| rows.row(query).to_vec()).collect();
            let targets: Vec<(&[f64], Target)> = own.iter().map(|row| (&row[..], Target::Observed)).collect();
            let found = rows.nearest(&distance, &smoothing, &targets, &|_| QueryRole::Candidate);
            fast += began.elapsed().as_secs_f64();
            if number.is_multiple_of(SLOW) {
                let began = Instant::now();
                let expected = one_by_one(&rows, &distance, &smoothing, first);
                slow += began.elapsed().as_secs_f64() * (SLOW * BATCH) as f64;
                assert_eq!(found[0], expected);
            }
        }
        println!("{QUERIES} queries, {numbers} features: {fast:.2} s, one by one {slow:.1} s");
    }
}
