//! Time of one assignment of documents to positions in direct optimization: NDCG with grades 0 to 4, frequencies
//! 50, 28, 14, 6 and 2 %, and scores correlated with the grades. Every call has other scores.
//!
//! `levels` is NDCG@10 decoded by its first ten positions, the default; `dense` is the same matrix by the method for any
//! matrix; `sorted` has the decoder weights of the measure; `tail` decodes all positions by p^(-1/4); `measure_tail` is
//! NDCG without a cutoff, decoded by ten positions; `full` is NDCG without a cutoff with p^(-1/4). `loss` is the convex
//! bound with its subgradient.

use std::cell::Cell;

use divan::{Bencher, black_box};
use sqlite_ltr::internals::cost::loss::ListwiseLoss;
use sqlite_ltr::internals::cost::loss::list::{Bound, Decoder, Direct, Measure};
use sqlite_ltr::internals::math::assignment::{Ranking, Workspace, maximize};
use sqlite_ltr::internals::math::random::Random;

fn main() {
    divan::main();
}

/// Labels of one query, and scores of it.
struct Data {
    labels: Vec<f64>,
    scores: Vec<Vec<f64>>,
}

fn data(documents: usize) -> Data {
    let mut random = Random::new(11);
    let labels: Vec<f64> = (0..documents)
        .map(|_| match random.below(100) {
            0..50 => 0.0,
            50..78 => 1.0,
            78..92 => 2.0,
            92..98 => 3.0,
            _ => 4.0,
        })
        .collect();
    let scores =
        (0..64).map(|_| labels.iter().map(|y| 0.5 * y + 2.0 * random.symmetric()).collect()).collect();
    Data { labels, scores }
}

fn direct(cutoff: Option<usize>, decoder: Decoder) -> Direct {
    Direct { measure: Measure::Ndcg(cutoff), decoder, bound: Bound::Convex, diverse: false }
}

/// Runs through the scores.
fn each(bencher: Bencher, data: &Data, mut work: impl FnMut(&[f64]) -> f64) {
    let call = Cell::new(0);
    bencher.bench_local(|| {
        call.set((call.get() + 1) % data.scores.len());
        work(black_box(&data.scores[call.get()]))
    });
}

fn ranking(bencher: Bencher, documents: usize, loss: &Direct) {
    let data = data(documents);
    let a = loss.measure.position_weights(documents);
    let c = loss.decoder.weights(&loss.measure, documents);
    let ranking = Ranking::new(&a, &loss.measure.label_weights(&data.labels), &c);
    let mut workspace = Workspace::default();
    each(bencher, &data, |scores| ranking.maximize(scores, &mut workspace));
}

#[divan::bench(args = [50, 120, 1000])]
fn levels(bencher: Bencher, documents: usize) {
    ranking(bencher, documents, &direct(Some(10), Decoder::Linear(10)));
}

#[divan::bench(args = [50, 120, 1000])]
fn sorted(bencher: Bencher, documents: usize) {
    ranking(bencher, documents, &direct(Some(10), Decoder::Metric));
}

#[divan::bench(args = [50, 120, 1000])]
fn tail(bencher: Bencher, documents: usize) {
    ranking(bencher, documents, &direct(Some(10), Decoder::Power(0.25)));
}

#[divan::bench(args = [50, 120, 1000])]
fn measure_tail(bencher: Bencher, documents: usize) {
    ranking(bencher, documents, &direct(None, Decoder::Linear(10)));
}

#[divan::bench(args = [50, 120], sample_count = 20)]
fn full(bencher: Bencher, documents: usize) {
    ranking(bencher, documents, &direct(None, Decoder::Power(0.25)));
}

#[divan::bench(args = [50, 120, 1000])]
fn dense(bencher: Bencher, documents: usize) {
    let data = data(documents);
    let loss = direct(Some(10), Decoder::Linear(10));
    let a = loss.measure.position_weights(10);
    let b = loss.measure.label_weights(&data.labels);
    let c = loss.decoder.weights(&loss.measure, 10);
    let (mut workspace, mut matrix) = (Workspace::default(), Vec::new());
    each(bencher, &data, |scores| {
        matrix.clear();
        for (a, c) in a.iter().zip(&c) {
            matrix.extend(scores.iter().zip(&b).map(|(s, b)| c * s - a * b));
        }
        maximize(&matrix, 10, documents, &mut workspace)
    });
}

#[divan::bench(args = [50, 120, 1000])]
fn loss(bencher: Bencher, documents: usize) {
    let data = data(documents);
    let loss = direct(Some(10), Decoder::Linear(10)).prepare(&data.labels, &[]);
    let mut subgradient = vec![0.0; documents];
    each(bencher, &data, |scores| loss.value_and_subgradient(scores, &mut subgradient));
}
