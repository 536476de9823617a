//! One experiment of Dai & Wang (2019), section 5.1: given documents that are already split, four methods
//! are fitted, lambda is chosen on validation documents, and the rankings of the test documents are measured.
//!
//! ```text
//! n            queries, training and new queries together
//! N_i          training documents of query i
//! pi_i         weight of query i for the target q0; d_i = |q_i - q0|, h = median of all n distances d_i
//! rank-SVM     pi_i = 1
//! indv-SVM     pi_i = 1[q_i = q0], without 1/n
//! kNN-SVM      pi_i = 1 for the 15 nearest training queries, q0 itself among them
//! q-SVM        pi_i = exp(-(d_i / h)^2 / 2) for the same 15
//!
//! min_s (1/n) sum_i 2 pi_i / (N_i (N_i - 1)) sum over pairs of the hinge loss + lambda |s|^2          (3.7)
//! ```
//!
//! lambda runs over 10^((v - 31) / 10), v = 1..61. `global`: the lambda with the least error over all
//! validation pairs; `own`: over the target's validation pairs, if it has any. Ties go to the
//! largest lambda. The documents of a new query are ranked at random by indv-SVM.

use ndarray::Array2;
use rayon::prelude::*;
use serde_json::json;
use sqlite_ltr::Result;
use sqlite_ltr::internals::base::control::Control;
use sqlite_ltr::internals::data::Matrix;
use sqlite_ltr::internals::learn::kernel::{FeatureMap, KernelSpec, MapOptions, PairMap, as_documents};
use sqlite_ltr::internals::learn::smoothing::{Bandwidth, Smoothing, SmoothingKind, Target};
use sqlite_ltr::internals::learn::solve::{
    PairBlock, PairProblem, SolveOptions, SolveReport, pair_path, solve,
};
use sqlite_ltr::internals::math::dense::{distance, dot};
use sqlite_ltr::internals::math::random::Random;
use sqlite_ltr::metric::{Better, Mean, Metric, Undefined};

/// Queries that a kNN-SVM and a q-SVM learn from.
const NEIGHBORS: usize = 15;
/// Errors that differ by less are equal: they are whole numbers of pairs divided by one number.
const SAME_ERROR: f64 = 1e-9;
/// Pivots of a feature map: more than there are training documents or pairs, so that the map is exact.
const LANDMARKS: usize = 4000;

/// Documents of one query in one part of the split.
#[derive(Debug, Clone)]
pub struct Part {
    /// Features, shape (N, b).
    pub x: Matrix,
    /// Relevance, shape (N).
    pub y: Vec<f64>,
}

impl Part {
    /// Documents from features of shape (N, b), row-major, and relevance.
    pub fn new(x: Vec<f64>, y: Vec<f64>, b: usize) -> Self {
        let x = Array2::from_shape_vec((y.len(), b), x).expect("b features per document");
        Self { x: Matrix::F64(x), y }
    }
}

/// A query; a new one has test documents only.
#[derive(Debug, Clone)]
pub struct Query {
    /// Query features q.
    pub features: Vec<f64>,
    /// Documents to learn from.
    pub train: Part,
    /// Documents by which lambda is chosen.
    pub validation: Part,
    /// Documents that are ranked and measured.
    pub test: Part,
}

impl Query {
    /// True where there is nothing to learn from.
    pub fn is_new(&self) -> bool {
        self.train.y.is_empty()
    }
}

/// The methods that are compared, in the order of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// One function for all queries (Joachims 2002).
    Rank,
    /// One function per query, from its own documents.
    Individual,
    /// From the nearest queries alike (Geng et al. 2008).
    NearestNeighbors,
    /// From the nearest queries, the nearer the more (Dai & Wang 2019).
    QueryDependent,
}

/// Every method, in the order of the tables.
pub const METHODS: [Method; 4] =
    [Method::Rank, Method::Individual, Method::NearestNeighbors, Method::QueryDependent];

impl Method {
    /// The name in the tables.
    pub fn name(self) -> &'static str {
        ["rank-SVM", "indv-SVM", "kNN-SVM", "q-SVM"][self as usize]
    }
}

/// Where the ranking functions live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kernel {
    /// Linear functions.
    Linear,
    /// K(x, x') = exp(-|x - x'|^2 / sigma2), sigma2 the median distance between training documents.
    Gaussian,
}

/// Which function is learnt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// A score s(x) per document, problem (3.7).
    Scoring,
    /// A preference f(x, x') per pair, problem (3.1), with the scores (3.6).
    Ranking,
}

/// A function space in which every function is w.phi: phi of a document, or of a pair in the ranking form.
enum Space {
    Plain,
    Documents(FeatureMap),
    Pairs(PairMap),
}

impl Space {
    fn new(queries: &[Query], kernel: Kernel, form: Form) -> Result<Self> {
        // Linear functions have the same solutions in both forms, at twice the lambda in the scoring form.
        if kernel == Kernel::Linear {
            return Ok(Self::Plain);
        }
        let rows: Vec<f64> = queries.iter().flat_map(|query| all_rows(&query.train.x)).collect();
        let labels: Vec<f64> = queries.iter().flat_map(|query| query.train.y.iter().copied()).collect();
        let documents = Part::new(rows, labels, queries[0].test.x.columns());
        let control = Control::default();
        let choice = KernelSpec::parse(&json!({"gaussian": {"gamma": "median"}}))?;
        let kernel = choice.fit(&documents.x, 0, &control)?;
        let options = MapOptions::new(LANDMARKS, 0);
        if form == Form::Scoring {
            return Ok(Self::Documents(FeatureMap::fit(&kernel, &documents.x, &options, &control)?));
        }
        let mut offsets = vec![0];
        for query in queries {
            offsets.push(offsets[offsets.len() - 1] + query.train.y.len());
        }
        Ok(Self::Pairs(PairMap::fit(&kernel, &documents.x, &offsets, &documents.y, &options, &control)?))
    }

    /// Training documents as the solver wants them.
    fn block(&self, part: &Part) -> Result<PairBlock> {
        let (all, control) = (0..part.y.len(), Control::default());
        let block = match self {
            Self::Plain => PairBlock::new(&all_rows(&part.x), &part.y, part.x.columns()),
            Self::Documents(map) => {
                PairBlock::new(&map.features(&part.x, all, &control)?, &part.y, map.dim())
            }
            Self::Pairs(map) => {
                let (x, y) = as_documents(map.features(&part.x, all, &part.y, &control)?, map.dim());
                PairBlock::new(&x, &y, map.dim())
            }
        };
        Ok(block?.with_moment())
    }

    /// Scores of the documents of one query.
    fn scores(&self, w: &[f64], x: &Matrix) -> Result<Vec<f64>> {
        let (all, control) = (0..x.rows(), Control::default());
        match self {
            Self::Plain => Ok(all_rows(x).chunks(w.len()).map(|row| dot(row, w)).collect()),
            Self::Documents(map) => map.basis.scores(x, all, &map.coefficients(w)?, &control),
            Self::Pairs(map) => map.scores(x, &map.coefficients(w)?, &control),
        }
    }
}

fn all_rows(x: &Matrix) -> Vec<f64> {
    x.rows_f64(0..x.rows())
}

/// The three measures of the tables: MRE, 1 - ERR, 1 - NDCG@10.
pub type Measures = [f64; 3];

/// Names of the measures in the tables.
pub const MEASURES: [&str; 3] = ["MRE", "1 - ERR", "1 - NDCG"];

/// Means over test queries; `None` if there are none.
#[derive(Debug, Clone, Copy)]
pub struct Outcome {
    /// Over all queries. The MRE is over the pairs of all queries.
    pub overall: Option<Measures>,
    /// Over queries with training documents.
    pub observed: Option<Measures>,
    /// Over queries without.
    pub new: Option<Measures>,
}

/// What a method achieves with either choice of lambda.
#[derive(Debug, Clone, Copy)]
pub struct Results {
    /// One lambda for all queries.
    pub global_lambda: f64,
    /// With that lambda.
    pub global: Outcome,
    /// With the lambda of each query; new queries have the global one.
    pub own: Outcome,
}

/// Queries whose documents are ready for the solver.
pub struct Experiment<'a> {
    queries: &'a [Query],
    form: Form,
    space: Space,
    /// Training documents of each query; empty for a new one.
    blocks: Vec<PairBlock>,
}

/// Functions for every lambda of the grid, with the validation error of one query under each.
struct Fits {
    w: Vec<Vec<f64>>,
    errors: Vec<f64>,
}

impl<'a> Experiment<'a> {
    /// Prepares the documents of queries.
    ///
    /// # Errors
    /// Numbers that are not finite.
    pub fn new(queries: &'a [Query], kernel: Kernel, form: Form) -> Result<Self> {
        let space = Space::new(queries, kernel, form)?;
        let blocks = queries.par_iter().map(|query| space.block(&query.train)).collect::<Result<_>>()?;
        Ok(Self { queries, form, space, blocks })
    }

    /// Fits a method for every query, chooses lambda and measures. The seed is for random rankings.
    ///
    /// # Errors
    /// Numbers that are not finite.
    pub fn run(&self, method: Method, seed: u64) -> Result<Results> {
        let observed: Vec<usize> = (0..self.queries.len()).filter(|&i| !self.queries[i].is_new()).collect();
        let fits = self.fits(method, &observed)?;
        let mean = |v: usize| fits.iter().map(|fits| fits.errors[v]).sum::<f64>() / fits.len() as f64;
        let means: Vec<f64> = (0..grid().len()).map(mean).collect();
        let global = first_least(&means);

        let mut same = self.scores_of_new(method, grid()[global], seed)?;
        let mut own = same.clone();
        for (&query, fits) in observed.iter().zip(&fits) {
            let scores = |v: usize| self.space.scores(&fits.w[v], &self.queries[query].test.x);
            same[query] = scores(global)?;
            own[query] = scores(first_least(&fits.errors))?;
        }
        Ok(Results { global_lambda: grid()[global], global: self.measure(&same)?, own: self.measure(&own)? })
    }

    /// Fits for the observed queries, which all have the same function where the method is uniform.
    fn fits(&self, method: Method, observed: &[usize]) -> Result<Vec<Fits>> {
        if method == Method::Rank {
            let w = self.path(method, 0, &grid())?;
            return observed.par_iter().map(|&query| self.validated(w.clone(), query)).collect();
        }
        let fit = |&target: &usize| self.validated(self.path(method, target, &grid())?, target);
        observed.par_iter().map(fit).collect()
    }

    fn validated(&self, w: Vec<Vec<f64>>, query: usize) -> Result<Fits> {
        let part = &self.queries[query].validation;
        let mre = Metric::parse("mre")?;
        let error = |w: &Vec<f64>| -> Result<f64> {
            let scores = self.space.scores(w, &part.x)?;
            Ok(mre.value(&part.y, &scores).unwrap_or(0.0))
        };
        let errors = w.iter().map(error).collect::<Result<_>>()?;
        Ok(Fits { w, errors })
    }

    /// Scores of the test documents of new queries; of the others no scores.
    fn scores_of_new(&self, method: Method, lambda: f64, seed: u64) -> Result<Vec<Vec<f64>>> {
        let one = |(target, query): (usize, &Query)| -> Result<Vec<f64>> {
            if !query.is_new() {
                return Ok(Vec::new());
            }
            if method == Method::Individual {
                let mut order: Vec<f64> = (0..query.test.y.len()).map(|place| place as f64).collect();
                Random::new(seed.wrapping_add(target as u64)).shuffle(&mut order);
                return Ok(order);
            }
            let w = self.path(method, target, &[lambda])?;
            self.space.scores(&w[0], &query.test.x)
        };
        self.queries.par_iter().enumerate().map(one).collect()
    }

    /// Queries that count for the target, with their weights pi.
    fn lenders(&self, method: Method, target: usize) -> Vec<(usize, f64)> {
        let kind = match method {
            Method::Rank => {
                let observed = |&query: &usize| !self.queries[query].is_new();
                return (0..self.queries.len()).filter(observed).map(|query| (query, 1.0)).collect();
            }
            Method::Individual => return vec![(target, 1.0)],
            Method::NearestNeighbors => SmoothingKind::Knn,
            Method::QueryDependent => SmoothingKind::Gaussian,
        };
        let smoothing = Smoothing::new(kind, NEIGHBORS, Bandwidth::Median);
        let features = &self.queries[target].features;
        let distances: Vec<f64> =
            self.queries.iter().map(|query| distance(&query.features, features)).collect();
        let observed = self.queries.iter().zip(&distances);
        let candidates: Vec<Option<f64>> =
            observed.map(|(query, d)| (!query.is_new()).then_some(*d)).collect();
        smoothing.weights(&candidates, smoothing.bandwidth(&distances, features.len()), Target::Novel)
    }

    /// The problem of one target. In the ranking form lambda counts twice.
    fn problem(&self, method: Method, target: usize, lambda: f64) -> Result<PairProblem<'_>> {
        let n = if method == Method::Individual { 1 } else { self.queries.len() };
        let weighted = self.lenders(method, target).into_iter().map(|(query, pi)| {
            let documents = self.queries[query].train.y.len();
            (&self.blocks[query], 2.0 * pi / (n * documents * (documents - 1)) as f64)
        });
        PairProblem::new(self.blocks[0].dim, weighted.collect(), self.factor() * lambda)
    }

    /// What lambda is multiplied with for the solver: |f|^2 = 2 |w|^2 in the ranking form.
    fn factor(&self) -> f64 {
        if self.form == Form::Ranking { 2.0 } else { 1.0 }
    }

    /// Functions w of one target for each lambda.
    fn path(&self, method: Method, target: usize, lambdas: &[f64]) -> Result<Vec<Vec<f64>>> {
        let scaled: Vec<f64> = lambdas.iter().map(|lambda| self.factor() * lambda).collect();
        let problem = self.problem(method, target, lambdas[0])?;
        let fits = pair_path(&problem, &scaled, &SolveOptions::new(1e-6), &Control::default())?;
        Ok(fits.into_iter().map(|solution| solution.w).collect())
    }

    /// One fit for every query, or a single one where the method is uniform; nothing is measured.
    ///
    /// # Errors
    /// A lambda outside its range.
    pub fn fit_all(&self, method: Method, lambda: f64, options: &SolveOptions) -> Result<Vec<SolveReport>> {
        let targets = if method == Method::Rank { 1 } else { self.queries.len() };
        let fit =
            |target| Ok(solve(&self.problem(method, target, lambda)?, options, &Control::default())?.report);
        (0..targets).into_par_iter().map(fit).collect()
    }

    fn measure(&self, scores: &[Vec<f64>]) -> Result<Outcome> {
        Ok(Outcome {
            overall: self.means(scores, &|_| true)?,
            observed: self.means(scores, &|query| !query.is_new())?,
            new: self.means(scores, &Query::is_new)?,
        })
    }

    /// Means over the queries that are kept.
    fn means(&self, scores: &[Vec<f64>], keep: &dyn Fn(&Query) -> bool) -> Result<Option<Measures>> {
        let metrics = [Metric::parse("mre_pooled")?, Metric::parse("err")?, Metric::parse("ndcg@10")?];
        let mut measures = [0.0; 3];
        for (measure, metric) in measures.iter_mut().zip(&metrics) {
            let mut mean = Mean::new(metric.def(), Undefined::Skip);
            for (query, scores) in self.queries.iter().zip(scores).filter(|(query, _)| keep(query)) {
                mean.add(metric.value(&query.test.y, scores), &query.test.y);
            }
            let Some(value) = mean.value() else { return Ok(None) };
            *measure = if metric.def().better == Better::Higher { 1.0 - value } else { value };
        }
        Ok(Some(measures))
    }
}

/// The grid of lambda, from large to small.
pub fn grid() -> Vec<f64> {
    (1..=61).rev().map(|v| 10f64.powf(f64::from(v - 31) / 10.0)).collect()
}

/// Place of the least error, the first of equal ones.
fn first_least(errors: &[f64]) -> usize {
    let better = |best: usize, v: usize| if errors[v] < errors[best] - SAME_ERROR { v } else { best };
    (0..errors.len()).fold(0, better)
}
