//! Passes over documents, and solvers of listwise losses: `cargo bench --bench lists`. The environment variable
//! LTR_QUERIES sets the number of queries of 120 documents (1,667 unless set; 10,000 are 1.2 million documents, 0.65 GB).
//!
//! A pass reads every document twice, the second time from the cache. It is compared with reading the matrix twice at
//! the speed of this machine's memory, measured in the same run with as many threads.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program that prints its measurements")]

use std::sync::Arc;
use std::time::Instant;

use ndarray::Array2;
use rayon::prelude::*;
use serde_json::{Map, Value, json};
use sqlite_ltr::internals::base::control::Control;
use sqlite_ltr::internals::cost::loss::{self, ListLoss, Loss};
use sqlite_ltr::internals::data::Matrix;
use sqlite_ltr::internals::learn::solve::{
    Gram, ListBlock, ListProblem, Rows, SolveOptions, find, list_path,
};
use sqlite_ltr::internals::math::optim::Objective;
use sqlite_ltr::internals::math::random::Random;

const DOCUMENTS: usize = 120;

/// Lambda and relative gap of the fits.
const CASES: [(f64, f64); 5] = [(1e-2, 1e-4), (1e-2, 1e-8), (1e-4, 1e-6), (1e-6, 1e-4), (1e-6, 1e-8)];

/// A number in -1..1.
fn number(random: &mut Random) -> f32 {
    (random.bits() >> 40) as f32 / (1u64 << 23) as f32 - 1.0
}

fn list_loss(name: &str, options: &Value) -> ListLoss {
    let given: Map<String, Value> = options.as_object().unwrap().clone();
    match loss::find(name).unwrap().make(&given.into()).unwrap() {
        Loss::List(loss) => loss,
        Loss::Pair(..) => unreachable!("a listwise loss"),
    }
}

/// All documents in one matrix, with grades 0 to 4. Features are correlated and of different sizes.
struct Documents {
    features: Arc<Array2<f32>>,
    labels: Vec<f64>,
}

impl Documents {
    fn new(queries: usize, features: usize) -> Self {
        let random = &mut Random::new(1);
        let rows = queries * DOCUMENTS;
        let (mut values, mut labels) = (Vec::with_capacity(rows * features), Vec::with_capacity(rows));
        for _ in 0..rows {
            let common = number(random);
            let start = values.len();
            values.extend((0..features).map(|j| (number(random) + common) / (1.0 + (j % 10) as f32)));
            let score = values[start] + 5.0 * values[start + 4] - values[start + 1] + number(random);
            labels.push(f64::from((score + 0.5).round().clamp(0.0, 4.0)));
        }
        let features = Arc::new(Array2::from_shape_vec((rows, features), values).unwrap());
        Self { features, labels }
    }

    fn blocks(&self, loss: &ListLoss) -> Vec<ListBlock> {
        let query = |(place, labels): (usize, &[f64])| {
            let rows = place * DOCUMENTS..(place + 1) * DOCUMENTS;
            let x = self.features.slice(ndarray::s![rows, ..]).to_owned();
            ListBlock::new(Rows::Own(Matrix::F32(x)), labels, &[], loss).unwrap()
        };
        self.labels.chunks_exact(DOCUMENTS).enumerate().map(query).collect()
    }
}

/// Processor time of all threads of this process in seconds, which other programs disturb less; 0 where the system does
/// not report it (Linux does).
fn processor_time() -> f64 {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return 0.0 };
    let of_task = |task: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    };
    1e-9 * tasks.filter_map(of_task).sum::<f64>()
}

/// The shortest of several runs, in seconds.
fn shortest(times: usize, mut work: impl FnMut()) -> f64 {
    let run = |_| {
        let began = Instant::now();
        work();
        began.elapsed().as_secs_f64()
    };
    (0..times).map(run).fold(f64::INFINITY, f64::min)
}

fn problem<'a>(features: usize, loss: &'a ListLoss, blocks: &'a [ListBlock]) -> ListProblem<'a> {
    let weight = 1.0 / blocks.len() as f64;
    ListProblem::new(features, loss, blocks.iter().map(|block| (block, weight)).collect()).unwrap()
}

/// A pass with a cheap loss against memory.
fn passes(queries: usize) {
    let documents = Documents::new(queries, 136);
    let values = documents.features.as_slice().unwrap();
    // Sums of bits in wide registers: nothing but memory takes time.
    let sum = |part: &[f32]| part.iter().fold(0u32, |sum, value| sum.wrapping_add(value.to_bits()));
    let read = shortest(9, || {
        std::hint::black_box(values.par_chunks(1 << 18).map(sum).reduce(|| 0, u32::wrapping_add));
    });
    let loss = list_loss("squared", &json!({"centering": "none"}));
    let blocks = documents.blocks(&loss);
    let problem = problem(136, &loss, &blocks);
    let w: Vec<f64> = (0..136).map(|i| f64::from(i).sin()).collect();
    let mut gradient = vec![0.0; 136];
    let pass = shortest(9, || {
        std::hint::black_box(problem.value(&w, &mut gradient));
    });
    let gigabytes = values.len() as f64 * 4e-9;
    println!(
        "{} documents x 136: read twice {:.4} s ({:.1} GB/s)",
        values.len() / 136,
        2.0 * read,
        gigabytes / read
    );
    println!("  one pass {pass:.4} s = {:.2} x reading twice", pass / (2.0 * read));
}

fn gram(rows: usize, features: usize) {
    let loss = list_loss("squared", &json!({}));
    let blocks = Documents::new(rows / DOCUMENTS, features).blocks(&loss);
    let problem = problem(features, &loss, &blocks);
    let before = processor_time();
    let seconds = shortest(3, || {
        std::hint::black_box(Gram::of(features, &problem.blocks).unwrap());
    });
    let spent = (processor_time() - before) / 3.0;
    // Entries on and above the diagonal only, a product and a sum each.
    let work = 1e-9 * (rows * features * (features + 1)) as f64;
    println!(
        "sums of {rows} x {features}: {seconds:.3} s, {:.1} Gflop/s; {:.1} Gflop/s per thread at work",
        work / seconds,
        work / spent
    );
    let (solver, began) = (find("least_squares").unwrap(), Instant::now());
    let options = SolveOptions { solver, ..SolveOptions::new(1e-6) };
    let fits = list_path(&problem, &[1e-4], &options, &Control::default()).unwrap();
    println!("  least_squares {:.3} s, {:?}", began.elapsed().as_secs_f64(), fits[0].report.stop);
}

fn solvers(queries: usize, features: usize, loss: &ListLoss) {
    let blocks = Documents::new(queries, features).blocks(loss);
    let problem = problem(features, loss, &blocks);
    for name in ["lbfgs", "newton", "bundle"] {
        for (lambda, tolerance) in CASES {
            let options = SolveOptions { solver: find(name).unwrap(), ..SolveOptions::new(tolerance) };
            let (began, before) = (Instant::now(), processor_time());
            let fits = list_path(&problem, &[lambda], &options, &Control::default()).unwrap();
            let report = &fits[0].report;
            println!(
                "list_net {} x {features}, {name}, lambda {lambda:e}, gap {tolerance:e}: {:.3} s, {:.3} s of processors, {} iterations, {:?}",
                queries * DOCUMENTS,
                began.elapsed().as_secs_f64(),
                processor_time() - before,
                report.iterations,
                report.stop
            );
        }
    }
}

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let queries = std::env::var("LTR_QUERIES").ok().and_then(|text| text.parse().ok()).unwrap_or(1667);
    passes(queries);
    for (rows, features) in [(60_000, 136), (12_000, 600), (12_000, 1000)] {
        gram(rows, features);
    }
    let list_net = list_loss("list_net", &json!({}));
    for features in [46, 136] {
        solvers(200, features, &list_net);
    }
}
