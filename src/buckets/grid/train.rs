//! The training: lambda by folds, then the function, from sums over buckets.

use serde_json::Map;

use super::answers::{self, GRAM, VALUES};
use super::asked_risk::{self, AskedRisk};
use super::statistics::{Count, DataStatistics, Prepared, answer_bytes, wrong_length};
use crate::base::{Control, Error, Result, matrix_bytes};
use crate::buckets::replay::{Asking, FOLDS, Part, Question, Replay};
use crate::buckets::sums::BucketSums;
use crate::buckets::training::{BucketTraining, Outcome};
use crate::cost::loss::{Loss, Shape};
use crate::data::Dataset;
use crate::learn::fit::{Penalty, SolverParameter};
use crate::learn::smoothing::lambda_rate;
use crate::learn::solve::{self, Cut, Gram, Solution, SolveOptions, StopRule};
use crate::learn::space::{Form, Function, Scorer, Space};
use crate::math::{Ridge, newton_cg};
use crate::model::{Linear, Ranker};
use crate::train::algorithm::{Trained, TrainingSpec};
use crate::train::grid::choose::FALLBACK_LAMBDA;
use crate::train::grid::fits::{self, Fit, log};
use crate::train::grid::measure::selection_tolerance;
use crate::train::grid::spec::GridSpec;
use crate::train::grid::train::{penalty_report, penalty_warning};
use crate::train::select::{
    Curve, FoldsBy, Searched, Selection, Split, TunedValue, argmax_smoothed, enough_folds,
};

/// Numbers of tasks, after the statistics. Fits of folds come after the last.
const GRAM_TASKS: usize = 1;
const VALUE_TASKS: usize = GRAM_TASKS + FOLDS as usize;
const ORIGIN_TASKS: usize = VALUE_TASKS + FOLDS as usize;
const LAST_FIT: usize = ORIGIN_TASKS + FOLDS as usize + 1;

/// Approximate number of answers that are kept until a lambda is solved, each with a Hessian.
const ANSWERS: usize = 8;
/// Bytes of answers above which further lambdas and folds wait: a state has at most twice this number.
const ANSWER_BYTES: usize = 64 << 20;

impl BucketTraining for GridSpec {
    fn spec(&self) -> &dyn TrainingSpec {
        self
    }

    fn run(&self, replay: &mut Replay, control: &Control) -> Result<Option<Outcome>> {
        // 1. Counts and scaling.
        let Some(Prepared { statistics, scaling }) = Prepared::run(self, replay)? else { return Ok(None) };
        let space = Space::linear(statistics.dim(), Form::Scoring);
        let mut fits = Fits { spec: self, statistics: &statistics, space: &space, replay, control };
        // 2. Lambda, then the function.
        let Some(Choice { lambda, selection, mut warnings }) = fits.choose()? else { return Ok(None) };
        let plan = Plan { part: Part::All, first: LAST_FIT, tolerance: self.tolerance };
        let Some(mut solutions) = fits.path(plan, &[lambda])? else { return Ok(None) };
        let Some(Solution { w, report }) = solutions.pop() else {
            return Err(Error::Internal("a solver without an answer".to_owned()));
        };
        replay.show(report.objective, report.gap);
        // 3. The report.
        let weights = space.function(w)?;
        let function = Function { weights, objective: report.objective, gap: report.gap };
        let fits = [Fit { function: function.clone(), report, began: 0.0, ended: 0.0 }];
        let unconverged = usize::from(!self.has_converged(&fits[0].report));
        if unconverged == 0 {
            warnings.extend(fits::collapse(self, lambda, &fits));
        }
        warnings.extend(penalty_warning(self, lambda, &fits));
        let (reported, details) = penalty_report(self, lambda, &fits);
        let trained = Trained {
            lambda: reported,
            selection,
            log: log(&fits),
            unconverged,
            warnings,
            details,
            volatile: Map::new(),
            ..Trained::new(Ranker::Linear(Linear::new(space.fitted(), function)), scaling)
        };
        Ok(Some(statistics.trained(trained)))
    }

    fn answer(
        &self,
        replay: &Replay,
        bucket: u32,
        data: Dataset,
        control: &Control,
    ) -> Result<Vec<BucketSums>> {
        answers::answer(self, replay, bucket, data, control)
    }
}

/// The lambda to fit with.
struct Choice {
    pub lambda: f64,
    pub selection: Option<Selection>,
    pub warnings: Vec<String>,
}

/// Fits on some of the buckets.
#[derive(Clone, Copy)]
struct Plan {
    part: Part,
    /// The task of the first lambda, where each lambda has its own.
    first: usize,
    tolerance: f64,
}

/// The fits of a training.
struct Fits<'a> {
    spec: &'a GridSpec,
    statistics: &'a DataStatistics,
    space: &'a Space,
    replay: &'a mut Replay,
    control: &'a Control,
}

impl Fits<'_> {
    /// The lambda to fit with; `None` if questions are open.
    fn choose(&mut self) -> Result<Option<Choice>> {
        let spec = self.spec;
        let given = |lambda| Ok(Some(Choice { lambda, selection: None, warnings: Vec::new() }));
        let statistics = self.statistics;
        let lambdas = match &spec.lambda {
            TunedValue::Fixed(lambda) => return given(*lambda),
            TunedValue::Rate => {
                return given(lambda_rate(statistics.count(Count::Queries, Part::All) as usize, 0));
            }
            TunedValue::Among(lambdas) | TunedValue::Fractions(lambdas) => lambdas,
        };
        // 1. A path for each fold. They ask in the same rounds, as long as their answers take little memory.
        let informative = |part: Part| statistics.count(Count::Informative, part);
        let can_judge =
            |fold: &u32| informative(Part::Only(*fold)) > 0.0 && informative(Part::Without(*fold)) > 0.0;
        let mut folds: Vec<u32> = (0..FOLDS).filter(can_judge).collect();
        // Folds of least squares cost nothing. For other losses few are enough, as in memory, if there are many rows.
        let numbers = statistics.documents() * self.space.dim() as f64;
        if spec.loss.shape() != Shape::Quadratic {
            folds.truncate(enough_folds(informative(Part::All) as usize, numbers, folds.len()));
        }
        let mut paths = Vec::new();
        for &fold in &folds {
            let first = LAST_FIT + 1 + fold as usize * lambdas.len();
            let plan = Plan { part: Part::Without(fold), first, tolerance: selection_tolerance(&spec.loss) };
            paths.extend(self.path(plan, lambdas)?);
            if self.replay.questions.len() >= self.at_once() {
                break;
            }
        }
        if paths.len() < folds.len() {
            return Ok(None);
        }
        // 2. The metric on the held-out queries.
        let mut sums = vec![[0.0; 2]; lambdas.len()];
        let mut answered = 0;
        for (&fold, path) in folds.iter().zip(&paths) {
            let values = self.replay.task(VALUE_TASKS + fold as usize, |asking| {
                let numbers = path.iter().flat_map(|solution| solution.w.iter().copied()).collect();
                Ok(asking.ask(Question { kind: VALUES, part: Part::Only(fold), numbers }).numbers)
            })?;
            let Some(values) = values else { continue };
            if values.len() != 2 * lambdas.len() {
                return Err(wrong_length());
            }
            answered += 1;
            for (sum, values) in sums.iter_mut().zip(values.chunks_exact(2)) {
                *sum = [sum[0] + values[0], sum[1] + values[1]];
            }
        }
        if answered < folds.len() {
            return Ok(None);
        }
        // 3. The best.
        let mean = |[sum, weights]: [f64; 2]| (weights > 0.0).then(|| sum / weights);
        let curve: Curve = lambdas.iter().copied().zip(sums.into_iter().map(mean)).collect();
        let metric = &spec.validation.metric;
        let chosen = argmax_smoothed(&curve, metric.def().better);
        let lambda = chosen.map_or(FALLBACK_LAMBDA, |chosen| curve[chosen].0);
        let held_out: f64 = folds.iter().map(|fold| informative(Part::Only(*fold))).sum();
        let split = match folds.len() {
            0 => Split::Nothing,
            folds => {
                let all = statistics.count(Count::Queries, Part::All) as usize;
                Split::Queries { held_out: held_out as usize, all, folds, by: FoldsBy::Query }
            }
        };
        let selection = Selection::new(&spec.validation.metric, split, curve, chosen);
        let searched = match spec.penalty {
            Penalty::Components => {
                Searched { limits: (1.0, self.space.dim() as f64), ..Searched::new("components", lambda) }
            }
            _ => Searched::new("lambda", lambda),
        };
        let warnings = selection.warning(&searched).into_iter().collect();
        Ok(Some(Choice { lambda, selection: Some(selection), warnings }))
    }

    /// How many fits are made at once.
    fn at_once(&self) -> usize {
        let dim = self.space.dim();
        (ANSWER_BYTES / ANSWERS.saturating_mul(answer_bytes(dim))).max(1)
    }

    /// The solutions for these lambdas, largest first; `None` if questions are open.
    fn path(&mut self, plan: Plan, lambdas: &[f64]) -> Result<Option<Vec<Solution>>> {
        let spec = self.spec;
        let rule = SolveOptions::new(plan.tolerance).rule();
        let for_solver = |lambda: &f64| SolverParameter::new(*lambda, spec.penalty, &spec.loss, self.space);
        let lambdas = &SolverParameter::numbers(&lambdas.iter().map(for_solver).collect::<Vec<_>>())[..];
        if spec.loss.shape() != Shape::Quadratic {
            return self.asked_path(plan, lambdas, &rule);
        }
        let Some(gram) = self.gram(plan.part)? else { return Ok(None) };
        let solutions = match spec.penalty {
            Penalty::Threshold => solve::spectral_of_sums(&gram, Cut::Threshold, lambdas, self.control)?,
            Penalty::Components => solve::spectral_of_sums(&gram, Cut::Components, lambdas, self.control)?,
            _ => solve::least_squares_of_sums(&gram, lambdas, &rule, self.control),
        };
        self.control.check()?;
        Ok(Some(solutions))
    }

    /// The least-squares sums over a part, each query with its weight in the mean.
    fn gram(&mut self, part: Part) -> Result<Option<Gram>> {
        let (statistics, space) = (self.statistics, self.space);
        let parts: Vec<Part> = if self.spec.lambda.is_validated() {
            let is_informative = |part: &Part| statistics.count(Count::Informative, *part) > 0.0;
            (0..FOLDS).map(Part::Only).filter(is_informative).collect()
        } else {
            vec![Part::All]
        };
        let what = format_args!("least squares with {} features", self.space.dim());
        let bytes = 3 * matrix_bytes(self.space.dim(), self.space.dim());
        let _memory = self.control.reserve(bytes, what, "use fewer features")?;
        let (mut sum, mut all) = (Gram::zero(space.dim()), true);
        for (task, asked) in parts.into_iter().enumerate() {
            let ask = |asking: &Asking<'_>| Ok(asking.ask(Question::new(GRAM, asked)).numbers);
            let Some(numbers) = self.replay.task(GRAM_TASKS + task, ask)? else {
                all = false;
                continue;
            };
            let gram = Gram::of_numbers(space.dim(), &numbers).ok_or_else(wrong_length)?;
            if asked == Part::All || matches!(asked, Part::Only(fold) if part.has(fold)) {
                sum.add(&gram);
            }
        }
        Ok(all.then(|| sum.times(1.0 / statistics.count(Count::Queries, part))))
    }

    /// Newton's method for each lambda. Several lambdas share rounds; the others start at the previous solution.
    fn asked_path(&mut self, plan: Plan, lambdas: &[f64], rule: &StopRule) -> Result<Option<Vec<Solution>>> {
        let (statistics, space) = (self.statistics, self.space);
        let (dim, control) = (space.dim(), self.control);
        let [queries, pairs] = [Count::Queries, Count::Pairs].map(|count| statistics.count(count, plan.part));
        let is_hinge = matches!(self.spec.loss, Loss::Pair(..));
        let origin = if is_hinge {
            let number = match plan.part {
                Part::Without(fold) | Part::Only(fold) => fold,
                Part::All => FOLDS,
            };
            let ask = |asking: &Asking<'_>| Ok(asked_risk::ask_hinge_origin(asking, plan.part, dim, queries));
            let values = self.replay.task(ORIGIN_TASKS + number as usize, ask)?;
            let Some(values) = values else { return Ok(None) };
            if values.len() != solve::hinge_origin_len(dim) {
                return Err(wrong_length());
            }
            values
        } else {
            Vec::new()
        };
        let together = self.at_once();
        let mut solutions: Vec<Solution> = Vec::with_capacity(lambdas.len());
        for (wave, lambdas) in lambdas.chunks(together).enumerate() {
            let start = solutions.last().map(|last| last.w.clone());
            let mut functions = Vec::with_capacity(lambdas.len());
            for (number, &lambda) in lambdas.iter().enumerate() {
                let task = plan.first + wave * together + number;
                let solution = self.replay.task(task, |asking| {
                    let solution = if is_hinge {
                        let ask = |w: &[f64], widths: [f64; 2]| {
                            let sums = asked_risk::ask_hinge_sums(asking, plan.part, queries, w, widths);
                            asked_risk::show_hinge(asking, &sums, w, lambda);
                            sums
                        };
                        let (pairs, start) = (pairs as u64, start.as_deref());
                        let problem = solve::RemoteProblem { dim, origin: &origin, pairs, lambda, start };
                        solve::solve_hinge(&problem, &ask, rule, control)?
                    } else {
                        let risk = AskedRisk::new(asking, plan.part, dim, queries, lambda);
                        let ridge = Ridge { risk: &risk, lambda, center: None };
                        let start = start.clone().unwrap_or_else(|| vec![0.0; dim]);
                        newton_cg::minimize(&ridge, start, None, rule, control)
                    };
                    control.check()?;
                    Ok(solution)
                })?;
                functions.extend(solution);
            }
            if functions.iter().any(|solution: &Solution| solution.w.len() != dim) {
                return Err(wrong_length());
            }
            if functions.len() < lambdas.len() {
                return Ok(None);
            }
            solutions.extend(functions);
        }
        Ok(Some(solutions))
    }
}
