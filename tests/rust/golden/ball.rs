//! The ball of kernel ListMLE against the `ball_*` fields of `tests/rust/golden/listwise/cs_listmle_kernel.json`: coefficients
//! of all training documents of length 1 at most.

use super::support::{assert_close, list_loss, numbers, read_listwise, rows};
use ndarray::Array2;
use serde_json::{Value, json};
use sqlite_ltr::internals::base::control::Control;
use sqlite_ltr::internals::cost::loss::ListLoss;
use sqlite_ltr::internals::data::Matrix;
use sqlite_ltr::internals::learn::kernel::{KernelSpec, MapOptions};
use sqlite_ltr::internals::learn::solve::{ListBlock, ListProblem, Rows, ball_path};
use sqlite_ltr::internals::learn::space::{Scorer, Space};
use sqlite_ltr::internals::math::optim::{Solution, Stop, StopRule};

fn loss(case: &Value) -> ListLoss {
    let options = json!({ "cost_weights": case["scheme"], "truncation": case["k"], "label_ties": "stable" });
    list_loss("cs_list_mle", &options)
}

fn kernel(case: &Value) -> KernelSpec {
    let sigma = case["params"]["sigma"].as_f64();
    let kernel =
        sigma.map_or(json!("linear"), |sigma| json!({ "gaussian": { "gamma": 0.5 / (sigma * sigma) } }));
    KernelSpec::parse(&kernel).unwrap()
}

#[test]
fn optima_match_the_file() {
    let file = read_listwise("cs_listmle_kernel.json");
    let queries: Vec<Vec<Vec<f64>>> = file["X"].as_array().unwrap().iter().map(rows).collect();
    let all = queries.concat();
    let features = Matrix::F64(Array2::from_shape_vec((all.len(), all[0].len()), all.concat()).unwrap());
    let control = Control::default();
    let mut checked = 0;
    for case in file["cases"].as_array().unwrap().iter().filter(|case| case["ball_optimum"].is_number()) {
        let what = case["kernel"].as_str().unwrap();
        let space = Space::expansion(&kernel(case), &features, &MapOptions::new(1000, 0), &control).unwrap();
        let loss = loss(case);
        let mut first = 0;
        let block = |(query, labels): (&Vec<Vec<f64>>, Vec<f64>)| {
            let own = space.rows(&features, first..first + query.len(), &control).unwrap();
            first += query.len();
            ListBlock::new(Rows::Own(own), &labels, &[], &loss).unwrap()
        };
        let blocks: Vec<ListBlock> = queries.iter().zip(rows(&file["y"])).map(block).collect();
        let share = 1.0 / blocks.len() as f64;
        let weighted = blocks.iter().map(|block| (block, share)).collect();
        let problem = ListProblem::new(space.dim(), &loss, weighted).unwrap();
        let rule = StopRule { tolerance: 1e-10, max_iterations: 100_000 };
        let radius = case["ball_radius"].as_f64().unwrap();
        let fits = ball_path(&problem, &[radius], &rule, &Control::default());
        let Solution { w: theta, report } = fits.unwrap().pop().unwrap();
        let optimum = case["ball_optimum"].as_f64().unwrap();
        assert_eq!(report.stop, Stop::Converged, "{what}: {}", report.gap);
        assert_close(&[report.objective], &[optimum], 1e-7, what);
        assert!(report.objective - report.gap <= optimum + 1e-9, "{what}");
        assert!(theta.iter().map(|t| t * t).sum::<f64>() <= radius * radius * (1.0 + 1e-12), "{what}");
        if case["ball_theta"].is_array() {
            assert_close(&theta, &numbers(&case["ball_theta"]), 1e-5, what);
        }
        checked += 1;
    }
    assert_eq!(checked, 2);
}
