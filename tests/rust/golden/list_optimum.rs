//! Optima of listwise objectives (`listnet_listmle_optimum.json`, `slam_batch.json` and `dorm_optimum.json` of
//! `tests/rust/golden/listwise`), found by every solver that takes the loss.
//!
//! The files have lambda / 2 |w|^2, the library lambda |w|^2; losses are means over queries.

use super::direct_options::direct;
use super::support::{assert_close, list_loss, numbers, read_listwise, rows};
use std::sync::Arc;

use ndarray::Array2;
use serde_json::Value;
use sqlite_ltr::internals::base::control::Control;
use sqlite_ltr::internals::base::param::Params;
use sqlite_ltr::internals::cost::loss::list::{
    Bound, Bounded, DIRECT, DirectQuery, LabelTies, SLAM, Slam, SlamWeights,
};
use sqlite_ltr::internals::cost::loss::{ListLoss, Loss};
use sqlite_ltr::internals::data::Matrix;
use sqlite_ltr::internals::learn::solve::{ListBlock, ListProblem, Rows, SOLVERS, SolveOptions, list_path};
use sqlite_ltr::internals::math::optim::{Solution, SolveReport, Stop};

/// The file's name of a loss, and the loss with its options.
const LOSSES: &[(&str, &str, &str)] =
    &[("listnet", "list_net", "{}"), ("listmle", "list_mle", r#"{"label_order": "stable"}"#)];

/// A loss with parameters that no options have.
fn direct_loss(case: &Value, bound: Bound) -> ListLoss {
    ListLoss::new(&DIRECT, Params::default(), Arc::new(direct(case, bound, NEUTRAL)))
}

/// The queries of a file or a case, with a loss.
struct Golden {
    loss: ListLoss,
    blocks: Vec<ListBlock>,
    /// Of the penalty as the library has it.
    lambda: f64,
}

impl Golden {
    fn new(data: &Value, lambda: &Value, loss: ListLoss) -> Self {
        let queries = data["X"].as_array().unwrap().iter().zip(data["y"].as_array().unwrap());
        let block = |(x, y): (&Value, &Value)| {
            let x = rows(x);
            let matrix = Array2::from_shape_vec((x.len(), x[0].len()), x.concat()).unwrap();
            ListBlock::new(Rows::Own(Matrix::F64(matrix)), &numbers(y), &[], &loss).unwrap()
        };
        let blocks = queries.map(block).collect();
        Self { blocks, lambda: 0.5 * lambda.as_f64().unwrap(), loss }
    }

    fn problem(&self) -> ListProblem<'_> {
        let share = 1.0 / self.blocks.len() as f64;
        let queries = self.blocks.iter().map(|block| (block, share)).collect();
        ListProblem::new(self.blocks[0].dim, &self.loss, queries).unwrap()
    }

    /// Mean loss.
    fn risk(&self, w: &[f64]) -> f64 {
        let value = |block: &ListBlock| {
            block.loss().value_and_subgradient(&block.scores(w), &mut vec![0.0; block.n_docs()])
        };
        self.blocks.iter().map(value).sum::<f64>() / self.blocks.len() as f64
    }

    fn objective(&self, w: &[f64]) -> f64 {
        self.risk(w) + self.lambda * w.iter().map(|w| w * w).sum::<f64>()
    }

    /// The answers of the solvers for this loss, except the stochastic one, whose gap is not small.
    fn answers(&self, tolerance: f64) -> Vec<(&'static str, Vec<f64>, SolveReport)> {
        let whole = Loss::List(self.loss.clone());
        let takes = SOLVERS.iter().filter(|solver| solver.takes(&whole) && solver.name != "stochastic");
        let answer = |solver| {
            let options = SolveOptions { solver, tolerance, max_iterations: 10_000 };
            list_path(&self.problem(), &[self.lambda], &options, &Control::default()).unwrap().pop().unwrap()
        };
        takes
            .map(|solver| (solver.name, answer(solver)))
            .map(|(name, Solution { w, report })| (name, w, report))
            .collect()
    }

    /// Every solver has the optimum, a certificate of it, and the only w where it is. The number of solvers.
    fn check(&self, optimum: f64, w: &[f64], what: &str) -> usize {
        let answers = self.answers(1e-10);
        for (solver, found, report) in &answers {
            let what = format!("{what}, {solver}");
            assert_eq!(report.stop, Stop::Converged, "{what}");
            assert!((report.objective - optimum).abs() <= 1e-8 * optimum, "{what}: {}", report.objective);
            assert!((report.objective - self.objective(found)).abs() <= 1e-12 * optimum, "{what}");
            assert!(report.objective - report.gap <= optimum + 1e-9, "{what}: {}", report.gap);
            // P(w) - min P >= lambda |w - w*|^2; the file's w has a gap of up to 1e-12.
            let near = (report.gap / self.lambda).sqrt() + (1e-12 / self.lambda).sqrt();
            assert_close(found, w, near, &what);
        }
        answers.len()
    }
}

fn cases(file: &Value) -> &Vec<Value> {
    file["cases"].as_array().unwrap()
}

#[test]
fn smooth_losses() {
    let file = read_listwise("listnet_listmle_optimum.json");
    for case in cases(&file) {
        let (_, name, options) = LOSSES.iter().find(|(golden, ..)| case["loss"] == *golden).unwrap();
        let options = serde_json::from_str(options).unwrap();
        let golden = Golden::new(&file, &case["lam"], list_loss(name, &options));
        let solvers = golden.check(case["optimum"].as_f64().unwrap(), &numbers(&case["w"]), name);
        assert!(solvers >= 4, "{name}: {solvers}");
    }
    assert_eq!(cases(&file).len(), 4);
}

#[test]
fn slam() {
    let file = read_listwise("slam_batch.json");
    for case in cases(&file) {
        let k = case["k"].as_u64().map(|k| k as usize);
        let measure = if case["measure"] == "map" { Bounded::Map } else { Bounded::Ndcg(k) };
        let loss = ListLoss::new(
            &SLAM,
            Params::default(),
            Arc::new(Slam { weights: SlamWeights::Measure(measure), margin: 1.0, ties: LabelTies::Stable }),
        );
        let golden = Golden::new(case, &case["lam"], loss);
        let what = format!("{} {k:?} {}", case["measure"], case["lam"]);
        let solvers = golden.check(case["optimum"].as_f64().unwrap(), &numbers(&case["w"]), &what);
        assert!(solvers >= 3, "{what}: {solvers}");
        let w = vec![1.0; golden.blocks[0].dim];
        assert_close(&[golden.risk(&w)], &[case["risk_at_ones"].as_f64().unwrap()], 1e-12, &what);
        let zero = golden.objective(&vec![0.0; w.len()]);
        assert_close(&[zero], &[case["objective_at_zero"].as_f64().unwrap()], 1e-12, &what);
    }
    assert_eq!(cases(&file).len(), 6);
}

/// Whether a query of a case has documents that are all worth the same. The library takes its loss for 0, the file for
/// max F - F(the order of the documents), which no measure asks for.
fn has_flat_query(case: &Value) -> bool {
    let loss = direct(case, Bound::Convex, NEUTRAL);
    case["y"].as_array().unwrap().iter().any(|labels| {
        let query = DirectQuery::new(&loss.measure, &loss.decoder, &numbers(labels));
        query.b.windows(2).all(|pair| (pair[0] - pair[1]).abs() < 1e-12)
    })
}

/// The neutral grade of the measure eru in the file.
const NEUTRAL: f64 = 0.0;

#[test]
fn convex_bounds_of_direct_optimization() {
    let file = read_listwise("dorm_optimum.json");
    let mut checked = 0;
    for case in cases(&file) {
        let golden = Golden::new(case, &case["lam"], direct_loss(case, Bound::Convex));
        let what = format!("{} {}", case["measure"], case["c_kind"]);
        let (optimum, w) = (case["optimum"].as_f64().unwrap(), numbers(&case["w"]));
        if has_flat_query(case) {
            // The sums have fewer terms than in the file, so the answers are compared with one another.
            let (_, w, report) = golden.answers(1e-12).swap_remove(0);
            assert!(report.objective <= optimum + 1e-9, "{what}");
            golden.check(report.objective, &w, &what);
            continue;
        }
        checked += 1;
        let solvers = golden.check(optimum, &w, &what);
        assert!(solvers >= 3, "{what}: {solvers}");
    }
    assert_eq!((cases(&file).len(), checked), (8, 5));
}

/// The library's default starts, which include the file's, reach at most the file's objective.
#[test]
fn nonconvex_bounds_of_direct_optimization() {
    let file = read_listwise("dorm_optimum.json");
    let mut checked = 0;
    for case in cases(&file).iter().filter(|case| case["dc_start"].is_array()) {
        let golden = Golden::new(case, &case["lam"], direct_loss(case, Bound::Nonconvex));
        let what = format!("{} {}", case["measure"], case["c_kind"]);
        let risk = golden.risk(&numbers(&case["w"]));
        assert_close(&[risk], &[case["nonconvex_risk_at_optimum"].as_f64().unwrap()], 1e-6, &what);
        let problem = golden.problem().with_start(numbers(&case["dc_start"])).unwrap();
        let options = SolveOptions { max_iterations: 10_000, ..SolveOptions::new(1e-9) };
        let Solution { w, report } =
            list_path(&problem, &[golden.lambda], &options, &Control::default()).unwrap().pop().unwrap();
        let expected = numbers(&case["dc_objectives"]);
        assert_close(&[golden.objective(&numbers(&case["dc_start"]))], &expected[..1], 1e-10, &what);
        assert!(report.steps.windows(2).all(|pair| pair[1].objective <= pair[0].objective), "{what}");
        let last = expected[expected.len() - 1];
        assert!(report.objective <= last + 1e-6, "{what}: {} {last}", report.objective);
        assert_close(&[report.objective], &[golden.objective(&w)], 1e-12, &what);
        checked += 1;
    }
    assert_eq!(checked, 6);
}
