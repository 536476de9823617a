//! Optima of listwise objectives (`tests/golden/listwise/listnet_listmle_optimum.json`), found by every solver that
//! takes the loss.
#![allow(clippy::unwrap_used)]

#[path = "common/golden.rs"]
mod golden;

use golden::{assert_close, numbers, read_listwise, rows};
use ndarray::Array2;
use serde_json::{Map, Value};
use sqlite_ltr::data::Matrix;
use sqlite_ltr::loss::{self, Given, ListLoss, Loss};
use sqlite_ltr::solve::{ListBlock, ListProblem, Rows, SOLVERS, SolveOptions, Stop, list_path};

/// The file's name of a loss, and that in the option `loss`.
const LOSSES: &[(&str, &str)] = &[("listnet", "list_net")];

fn list_loss(name: &str) -> ListLoss {
    match (loss::find(name).unwrap().make)(&Given(&Map::new())).unwrap() {
        Loss::List(loss) => loss,
        Loss::Pair(_) => panic!("{name} is a loss of pairs"),
    }
}

fn blocks(file: &Value, loss: &ListLoss) -> Vec<ListBlock> {
    let queries = file["X"].as_array().unwrap().iter().zip(file["y"].as_array().unwrap());
    let block = |(x, y): (&Value, &Value)| {
        let x = rows(x);
        let matrix = Array2::from_shape_vec((x.len(), x[0].len()), x.concat()).unwrap();
        ListBlock::new(Rows::Own(Matrix::F64(matrix)), &numbers(y), loss).unwrap()
    };
    queries.map(block).collect()
}

#[test]
fn every_solver_finds_the_optimum() {
    let file: Value = read_listwise("listnet_listmle_optimum.json");
    let mut checked = 0;
    for case in file["cases"].as_array().unwrap() {
        let Some((_, name)) = LOSSES.iter().find(|(golden, _)| case["loss"] == *golden) else { continue };
        let loss = list_loss(name);
        let blocks = blocks(&file, &loss);
        let share = 1.0 / blocks.len() as f64;
        // The file has lambda / 2, and the mean over queries.
        let lambda = 0.5 * case["lam"].as_f64().unwrap();
        let queries = blocks.iter().map(|block| (block, share)).collect();
        let problem = ListProblem::new(3, &loss, queries, lambda).unwrap();
        let whole = Loss::List(loss.clone());
        for solver in SOLVERS.iter().filter(|solver| solver.takes(&whole) && solver.name != "stochastic") {
            let options = SolveOptions { solver, tolerance: 1e-10, max_iterations: 10_000 };
            let (w, report) = list_path(&problem, &[lambda], &options, &|| false).unwrap().pop().unwrap();
            let optimum = case["optimum"].as_f64().unwrap();
            assert_eq!(report.stop, Stop::Converged, "{}", solver.name);
            assert!((report.objective - optimum).abs() <= 1e-8 * optimum, "{}", solver.name);
            // P(w) - min P >= lambda |w - w*|^2.
            let near = (report.gap / lambda).sqrt() + 1e-8;
            assert_close(&w, &numbers(&case["w"]), near, solver.name);
            checked += 1;
        }
    }
    assert!(checked >= 6);
}
