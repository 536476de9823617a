//! The Rust API without SQL: train, choose a regularization, rank, explain, store, measure.
//!
//! `cargo run --release --example rust_api`, or with a LETOR file: `cargo run --release --example rust_api -- train.txt`
#![allow(clippy::print_stdout, reason = "an example shows its results")]

use ndarray::{Array2, array};
use sqlite_ltr::metric::ndcg;
use sqlite_ltr::{Control, Dataset, Document, Model, Result, Trainer};

/// Forty queries of ten documents. Features: text match, age in days, clicks. The grade follows the first and the last.
fn judgments() -> Result<Dataset> {
    let mut rows = Vec::new();
    for query in 0..40_i32 {
        for document in 0..10_i32 {
            let number = f64::from((query * 7 + document * 13) % 101);
            let (text_match, age, clicks) = (number % 11.0, number % 17.0, number % 5.0);
            let grade = ((text_match + 2.0 * clicks) / 6.0).floor();
            rows.push(Document::new(query, vec![text_match, age, clicks]).id(document).relevance(grade));
        }
    }
    Dataset::from_rows(["text_match", "age", "clicks"], rows)
}

fn main() -> Result<()> {
    // 1. Data: rows, arrays, or a LETOR file.
    let data = match std::env::args().nth(1).map(std::fs::File::open) {
        Some(Ok(file)) => Dataset::from_letor(std::io::BufReader::new(file))?,
        Some(Err(problem)) => return Err(sqlite_ltr::Error::Host(problem.to_string())),
        None => judgments()?,
    };
    println!("{} documents with {} features", data.rows(), data.features());

    // 2. Training. Another thread could call `control.cancel()`, or print the progress.
    let control = Control::new();
    let model = Trainer::new("rank_svm")
        .option("lambda", [0.001, 0.01, 0.1])
        .option("metric", "ndcg@5")
        .option("threads", 2)
        .control(&control)
        .fit(&data)?;
    println!("lambda {}, {} functions fitted", model.info().training["lambda"], control.progress().0);

    // 3. The model is a value: bytes that any other program with this library can use, also in SQL.
    let bytes = model.to_bytes();
    let model = Model::from_bytes(&bytes)?;
    println!("{} bytes", bytes.len());

    // 4. Ranking candidates, and the reasons for the first.
    let n_features = data.features();
    let candidates: Array2<f64> =
        Array2::from_shape_fn((3, n_features), |(row, column)| (row + column) as f64);
    let candidates = Dataset::unjudged(candidates, ["new query"; 3])?;
    let candidates = match n_features {
        3 => candidates.with_feature_names(["text_match", "age", "clicks"])?,
        _ => candidates,
    };
    for ranked in model.rank(&candidates)? {
        println!("rank {}: row {} with score {:.3}", ranked.rank, ranked.row, ranked.score);
    }
    for part in model.explain(&vec![1.0; n_features], None)?.iter().take(3) {
        println!("{:>10} = {:?} contributes {:+.3}", part.feature, part.value, part.contribution);
    }

    // 5. Measuring: a model on judged data, or any scores.
    let evaluation = model.evaluate(&data, &["ndcg@5", "map"])?;
    println!("ndcg@5 and map on the training data: {:.3?}", evaluation.means);
    let (relevance, scores) = (array![2.0, 0.0, 1.0], array![0.3, 0.2, 0.1]);
    println!("ndcg of three documents: {:.3?}", ndcg(&relevance.to_vec(), &scores.to_vec(), None));
    Ok(())
}
