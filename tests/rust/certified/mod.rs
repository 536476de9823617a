//! Every convex training against an independent optimizer: the program of each paper, written a second time and solved by
//! Clarabel, has the objective that the training reports, to 1e-8 relative. The objective of the fitted model, evaluated
//! by the same program at its scores, is the same number.

mod eigenfunctions;
mod factorization;
mod losses;
mod program;
mod sample;

use losses::Loss;
use program::{Affine, Program};
use sample::Query;
use serde_json::{Value, json};
use sqlite_ltr::{Dataset, Model, QueryValue, Trainer};

const LAMBDA: f64 = 0.03;
const AGREEMENT: f64 = 1e-8;

/// The space of functions: f(x) = v.phi(x), |f| = |v|.
struct Space<'a> {
    queries: &'a [Query],
    /// phi of the documents, query by query.
    phi: Vec<Vec<Vec<f64>>>,
    /// The factor of the matrix of a kernel.
    factor: Option<Vec<Vec<f64>>>,
}

/// One function: the weights of the queries in the mean of losses, and the center of the penalty.
struct Target {
    weights: Vec<f64>,
    center: Vec<f64>,
    /// The objective that the training reports.
    reported: f64,
    /// v of the fitted function, if it can be read.
    fitted: Option<Vec<f64>>,
}

/// What is added to the mean of losses.
#[derive(Clone, Copy)]
enum Penalty {
    /// lambda |f - f0|^2.
    Ridge(f64),
    /// Nothing, with |f| at most this.
    Ball(f64),
}

impl<'a> Space<'a> {
    fn linear(queries: &'a [Query]) -> Self {
        Self { queries, phi: queries.iter().map(|query| query.documents.clone()).collect(), factor: None }
    }

    /// The space of exp(-gamma |x - z|^2): phi of a document is its row of L, L L' the matrix of the kernel.
    fn gaussian(queries: &'a [Query], gamma: f64) -> Self {
        let all: Vec<&Vec<f64>> = queries.iter().flat_map(|query| &query.documents).collect();
        let square = |x: &[f64], z: &[f64]| x.iter().zip(z).map(|(x, z)| (x - z) * (x - z)).sum::<f64>();
        let factor = cholesky(all.len(), |i, j| (-gamma * square(all[i], all[j])).exp());
        let mut rows = factor.iter().cloned();
        let phi = queries.iter().map(|query| rows.by_ref().take(query.grades.len()).collect()).collect();
        Self { queries, phi, factor: Some(factor) }
    }

    fn dim(&self) -> usize {
        self.phi[0][0].len()
    }

    /// v of the model's function.
    fn weights(&self, model: &Model, query_features: Option<&[QueryValue]>) -> Vec<f64> {
        let Some(factor) = &self.factor else {
            return model.weights(query_features).unwrap().iter().map(|weight| weight.weight).collect();
        };
        let documents = self.queries.iter().flat_map(|query| &query.documents);
        let mut v: Vec<f64> = documents.map(|x| model.score(x, query_features).unwrap()).collect();
        for (i, row) in factor.iter().enumerate() {
            v[i] = (v[i] - dot(&row[..i], &v[..i])) / row[i];
        }
        v
    }

    /// The objective of a function with these weights, variables or numbers.
    fn objective(
        &self,
        program: &mut Program,
        w: &[Affine],
        target: &Target,
        penalty: Penalty,
        loss: Loss<'_>,
    ) {
        for ((query, phi), weight) in self.queries.iter().zip(&self.phi).zip(&target.weights) {
            if *weight > 0.0 {
                let scores: Vec<Affine> = phi.iter().map(|phi| Affine::combination(phi, w)).collect();
                let value = loss(program, &query.grades, &scores);
                program.add(*weight, &value);
            }
        }
        match penalty {
            Penalty::Ridge(lambda) => {
                for (w, center) in w.iter().zip(&target.center) {
                    program.add_square(lambda, &w.minus(&Affine::constant(*center)));
                }
            }
            Penalty::Ball(radius) => program.within_ball(radius, w),
        }
    }

    /// Compares the reported objective, and the fitted function's if it can be read, with the optimum.
    fn check(&self, target: &Target, penalty: Penalty, loss: Loss<'_>, what: &str) {
        let mut program = Program::default();
        let variables: Vec<Affine> = (0..self.dim()).map(|_| program.variable()).collect();
        self.objective(&mut program, &variables, target, penalty, loss);
        let optimum = program.minimum(what);
        assert_agreement(target.reported, optimum, &format!("{what}, reported"));
        assert!(optimum > 1e-3, "{what}: {optimum} proves nothing");
        let Some(fitted) = &target.fitted else { return };

        let mut program = Program::default();
        let fitted: Vec<Affine> = fitted.iter().map(|v| Affine::constant(*v)).collect();
        // A length of the radius is on the ball but for rounding.
        let wider = match penalty {
            Penalty::Ball(radius) => Penalty::Ball(radius * (1.0 + 1e-9)),
            Penalty::Ridge(_) => penalty,
        };
        self.objective(&mut program, &fitted, target, wider, loss);
        assert_agreement(program.minimum(what), optimum, &format!("{what}, at the fitted function"));
    }
}

fn assert_agreement(found: f64, optimum: f64, what: &str) {
    let error = (found - optimum) / optimum;
    assert!(error.abs() <= AGREEMENT, "{what}: {found}, optimum {optimum}: {error:e}");
}

/// Objective and gap of every step or function of a training.
fn log(model: &Model) -> Vec<(f64, f64)> {
    sqlite_ltr::internals::model::Model::from_bytes(&model.to_bytes()).unwrap().card.log
}

fn trained(algorithm: &str, options: &Value, data: &Dataset) -> Model {
    let defaults = json!({ "scale": "none", "tolerance": 1e-10 });
    let all = [&defaults, options].into_iter().flat_map(|options| options.as_object().unwrap());
    let trainer =
        all.fold(Trainer::new(algorithm), |trainer, (key, value)| trainer.option(key, value.clone()));
    trainer.fit(data).unwrap_or_else(|error| panic!("{algorithm} {options}: {error}"))
}

/// The center of the penalty: a model of all queries, which other tests certify.
fn center(space: &Space<'_>, model: &Model, data: &Dataset) -> Vec<f64> {
    let settings = &model.info().settings;
    let lambda = &model.info().training["prior_lambda"];
    let options = json!({ "lambda": lambda, "tolerance": settings["tolerance"] });
    match settings["prior"].as_str() {
        Some("global") => space.weights(&trained("rank_svm", &options, data), None),
        Some("regression") => space.weights(&trained("regression", &options, data), None),
        _ => vec![0.0; space.dim()],
    }
}

/// Trains on the queries with one function for all, or one for each query, and checks every function.
fn certify(
    space: &Space<'_>,
    data: &Dataset,
    (algorithm, options): (&str, Value),
    weights: Weights,
    loss: Loss<'_>,
) {
    let mut options = options;
    let penalty = if let Some(radius) = options["radius"].as_f64() {
        Penalty::Ball(radius)
    } else {
        options["lambda"] = json!(LAMBDA);
        // Listwise papers have lambda / 2.
        Penalty::Ridge(if algorithm.ends_with("svm") { LAMBDA } else { 0.5 * LAMBDA })
    };
    let what = format!("{algorithm} {options}");
    let model = trained(algorithm, &options, data);
    assert_eq!(model.info().training["unconverged"], 0, "{what}");
    let (log, center) = (log(&model), center(space, &model, data));
    let targets: Vec<Option<usize>> =
        if model.info().query_dependent { (0..space.queries.len()).map(Some).collect() } else { vec![None] };
    for query in targets {
        let numbers = |query: usize| space.queries[query].features.iter().map(|x| QueryValue::Number(*x));
        let query_features: Option<Vec<QueryValue>> = query.map(|query| numbers(query).collect());
        // `indv_svm` has no functions by query features.
        let fitted = (algorithm != "indv_svm").then(|| space.weights(&model, query_features.as_deref()));
        let target = Target {
            weights: weights(space.queries, query.unwrap_or(0)),
            center: center.clone(),
            reported: log[query.unwrap_or(log.len() - 1)].0,
            fitted,
        };
        space.check(&target, penalty, loss, &what);
    }
}

/// The weights of the queries for a target.
type Weights = fn(&[Query], usize) -> Vec<f64>;

fn uniform(queries: &[Query], _target: usize) -> Vec<f64> {
    vec![1.0 / queries.len() as f64; queries.len()]
}

fn individual(queries: &[Query], target: usize) -> Vec<f64> {
    (0..queries.len()).map(|query| f64::from(u8::from(query == target))).collect()
}

/// exp(-d^2 / 2) / n for the nearest 4 queries, with the bandwidth 1.
fn gaussian(queries: &[Query], target: usize) -> Vec<f64> {
    let square = |query: &Query| -> f64 {
        let pairs = query.features.iter().zip(&queries[target].features);
        pairs.map(|(x, z)| (x - z) * (x - z)).sum()
    };
    let mut squares: Vec<f64> = queries.iter().map(square).collect();
    squares.sort_by(f64::total_cmp);
    let weight = |query: &Query| if square(query) <= squares[3] { (-0.5 * square(query)).exp() } else { 0.0 };
    queries.iter().map(|query| weight(query) / queries.len() as f64).collect()
}

/// Options of the weights `gaussian`, and others.
fn near(options: &Value) -> Value {
    let mut near = json!({
        "smoothing": "gaussian", "neighbors": 4, "bandwidth": 1, "query_scale": "none", "prior": "zero",
    });
    near.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    near
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// L with L L' = the matrix, its rows filled with zeros.
fn cholesky(n: usize, entry: impl Fn(usize, usize) -> f64) -> Vec<Vec<f64>> {
    let mut l: Vec<Vec<f64>> = Vec::with_capacity(n);
    for i in 0..n {
        let mut row = vec![0.0; n];
        for j in 0..i {
            row[j] = (entry(i, j) - dot(&row[..j], &l[j][..j])) / l[j][j];
        }
        let pivot = entry(i, i) - dot(&row[..i], &row[..i]);
        assert!(pivot > 1e-6, "the matrix of the kernel is nearly singular: {pivot:e}");
        row[i] = pivot.sqrt();
        l.push(row);
    }
    l
}

#[test]
fn pairwise_losses() {
    let queries = sample::judged();
    let (space, data) = (Space::linear(&queries), sample::dataset(&queries));
    let check = |algorithm, options, weights: Weights, loss: Loss<'_>| {
        certify(&space, &data, (algorithm, options), weights, loss);
    };
    check("rank_svm", json!({}), uniform, &losses::hinge);
    check("rank_svm", json!({ "loss": "squared_hinge" }), uniform, &losses::squared_hinge);
    check("rank_svm", json!({ "loss": "logistic" }), uniform, &losses::logistic);
    check("indv_svm", json!({}), individual, &losses::hinge);
    check("q_svm", near(&json!({})), gaussian, &losses::hinge);
    check("q_svm", near(&json!({ "loss": "logistic" })), gaussian, &losses::logistic);
    check("q_svm", near(&json!({ "prior": "global" })), gaussian, &losses::hinge);
    check("q_svm", near(&json!({ "prior": "regression" })), gaussian, &losses::hinge);
}

#[test]
fn pairwise_losses_with_a_kernel() {
    let queries = sample::judged();
    let (space, data) = (Space::gaussian(&queries, 0.7), sample::dataset(&queries));
    let options = json!({ "kernel": { "gaussian": { "gamma": 0.7 } } });
    certify(&space, &data, ("rank_svm", options), uniform, &losses::hinge);
}

/// f(x, x') with the kernel of the concatenation (x, x'), as (3.1) of Dai & Wang (2019) has it: the mean over ordered pairs
/// of different grades.
#[test]
fn a_ranking_function_of_pairs() {
    let mut queries = sample::judged();
    for query in &mut queries {
        query.documents.truncate(4);
        query.grades.truncate(4);
    }
    let ordered = |query: &Query| {
        let (mut documents, mut signs) = (Vec::new(), Vec::new());
        for (x, high) in query.documents.iter().zip(&query.grades) {
            for (z, low) in query.documents.iter().zip(&query.grades) {
                if (high - low).abs() > 0.0 {
                    documents.push([x.as_slice(), z.as_slice()].concat());
                    signs.push((high - low).signum());
                }
            }
        }
        Query { documents, grades: signs, features: query.features.clone() }
    };
    let pairs: Vec<Query> = queries.iter().map(ordered).collect();
    let space = Space::gaussian(&pairs, 0.7);
    let loss = |program: &mut Program, signs: &[f64], f: &[Affine]| {
        signs.iter().zip(f).fold(Affine::default(), |sum, (sign, f)| {
            let short = Affine::constant(1.0).plus(-sign, f);
            sum.plus(1.0 / 12.0, &program.positive_part(&short))
        })
    };
    let options = json!({ "form": "ranking", "kernel": { "gaussian": { "gamma": 0.7 } }, "lambda": LAMBDA });
    let model = trained("rank_svm", &options, &sample::dataset(&queries));
    let reported = log(&model).last().unwrap().0;
    let center = vec![0.0; space.dim()];
    let target = Target { weights: uniform(&pairs, 0), center, reported, fitted: None };
    space.check(&target, Penalty::Ridge(LAMBDA), &loss, "form ranking");
}

#[test]
fn listwise_losses() {
    let queries = sample::judged();
    let (space, data) = (Space::linear(&queries), sample::dataset(&queries));
    let check = |algorithm, options, weights: Weights, loss: Loss<'_>| {
        certify(&space, &data, (algorithm, options), weights, loss);
    };
    check("regression", json!({}), uniform, &losses::squared);
    check("list_net", json!({}), uniform, &losses::list_net);
    check("list_mle", json!({ "label_order": "stable" }), uniform, &losses::list_mle);
    check("cs_list_mle", json!({}), uniform, &losses::cs_list_mle);
    check("slam", json!({}), uniform, &losses::slam);
    check("slam", json!({ "prior": "zero" }), uniform, &losses::slam);
    let direct = json!({ "bound": "convex", "decoder": "linear", "measure": "ndcg@3", "prior": "zero" });
    check("direct", direct, uniform, &losses::direct_ndcg_3);
    check("list_net", near(&json!({})), gaussian, &losses::list_net);
    check("list_net", json!({ "penalty": "ball", "radius": 0.5 }), uniform, &losses::list_net);
    check("cs_list_mle", json!({ "penalty": "ball", "radius": 0.5 }), uniform, &losses::cs_list_mle);
    // The minimum over this ball is on its sphere.
    check("cs_list_mle", json!({ "penalty": "sphere", "radius": 0.5 }), uniform, &losses::cs_list_mle);
}

#[test]
fn matching_of_documents_to_slots() {
    let queries = sample::pages();
    let (space, data) = (Space::linear(&queries), sample::slots(&queries));
    certify(&space, &data, ("matching", json!({})), uniform, &losses::matching);
}
