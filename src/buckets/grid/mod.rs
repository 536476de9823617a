//! Training in buckets: one function of all queries, from sums over buckets. It is linear in the features, or in the map of
//! a kernel whose landmarks are documents of a sample.
//!
//! | task | questions | result |
//! |---|---|---|
//! | facts | counts and sums of features, a sample for a kernel; of the scaling | means, scaling, the space of functions |
//! | Gram matrices, of quadratic losses | the sums of least squares, of each fold if validation chooses lambda | those sums |
//! | fits, of other losses | value, gradient and Hessian at a point, for each fold and lambda | a solution |
//! | values | the metric of the held-out queries of a fold with every lambda | its sums |
//!
//! Folds are the buckets with the same number modulo 5.

mod answers;
mod facts;

use serde_json::Map;

use crate::base::{Control, Error, Result, matrix_bytes};
use crate::buckets::{
    Asked, Asking, BucketSums, BucketTraining, FOLDS, Outcome, Part, Question, Reader, Replay, Writer,
};
use crate::cost::loss::{Loss, PairLoss, Shape};
use crate::data::{Dataset, ListConstraint, ScalingKind};
use crate::learn::fit::{Interaction, Penalty, Prior, SolverParameter};
use crate::learn::smoothing::{SmoothingKind, lambda_rate};
use crate::learn::solve::{self, Cut, Gram, Solution, SolveOptions, SolveReport, Step, Stop, StopRule};
use crate::learn::space::{Form, Function, Scorer};
use crate::math::{Ridge, newton_cg};
use crate::model::{Linear, Ranker};
use crate::train::algorithm::Trained;
use crate::train::grid::choose::FALLBACK_LAMBDA;
use crate::train::grid::fits::{self, Fit, log};
use crate::train::grid::measure::selection_tolerance;
use crate::train::grid::spec::GridSpec;
use crate::train::grid::train::{penalty_report, penalty_warning};
use crate::train::select::{Curve, Searched, Selection, Split, TunedValue, argmax_smoothed, is_enough_data};

pub(in crate::buckets) use facts::{Count, FACTS, Facts, First, read_spaces, write_spaces, wrong_length};

use answers::{AskedRisk, GRAM, VALUES};
use facts::{Prepared, answer_bytes};

/// Numbers of tasks. Fits of folds come after the last.
const FACTS_TASK: usize = 0;
const GRAM_TASKS: usize = 1;
const VALUE_TASKS: usize = GRAM_TASKS + FOLDS as usize;
const ORIGIN_TASKS: usize = VALUE_TASKS + FOLDS as usize;
const LAST_FIT: usize = ORIGIN_TASKS + FOLDS as usize + 1;

/// Approximate number of answers that are kept until a lambda is solved, each with a Hessian.
const ANSWERS: usize = 8;
/// Bytes of answers above which further lambdas and folds wait: a state has at most twice this number.
const ANSWER_BYTES: usize = 64 << 20;

/// Refuses choices that need more than sums over buckets.
pub(super) fn check(spec: &GridSpec) -> Result<()> {
    let name = spec.loss.def().name;
    let problem = if spec.smoothing.kind != SmoothingKind::Uniform {
        "a query-dependent model keeps the documents of all training queries; train it with ltr_fit on rows and \"fit_at\": \
         \"query_time\", and rank with it on every worker"
            .to_owned()
    } else if spec.form != Form::Scoring {
        "the form \"ranking\" needs pairs of documents of different buckets; use \"form\": \"scoring\", with a kernel and \
         \"landmarks\" if you need one, or train on rows"
            .to_owned()
    } else if let Some(why) = match (&spec.loss, spec.loss.shape()) {
        (Loss::Pair(PairLoss::Hinge, _), _) | (Loss::List(_), Shape::Quadratic | Shape::Smooth) => None,
        (Loss::List(_), Shape::Convex) => Some(
            "is not smooth: its solver passes over the rows hundreds of times, and each pass would be a round",
        ),
        (_, Shape::Difference | Shape::Annealed) => {
            Some("is not convex: its solver minimizes several approximations, each in a training of its own")
        }
        (Loss::List(_), Shape::Gradients) => Some("has gradients, but no function to minimize"),
        (Loss::Pair(..), _) => Some("has no sums over buckets, as the hinge has"),
    } {
        format!("the loss '{name}' {why}; use 'rank_svm', 'regression' or 'list_net', or train on rows")
    } else if spec.prior != Prior::Zero {
        format!("\"prior\": \"{}\" is not supported; use \"zero\", or train on rows", spec.prior.name())
    } else if spec.interaction != Interaction::None {
        "packs have no query features; use \"interaction\": \"none\", or train on rows".to_owned()
    } else if !(spec.penalty == Penalty::Ridge
        || matches!(spec.penalty, Penalty::Threshold | Penalty::Components)
            && spec.loss.shape() == Shape::Quadratic)
    {
        "this penalty is not supported; use \"penalty\": \"ridge\", or train on rows".to_owned()
    } else if spec.solver.name != solve::NAMES[0] {
        format!("the solver '{}' is not supported; leave out the option 'solver'", spec.solver.name)
    } else if !matches!(spec.scale, ScalingKind::None | ScalingKind::Standard | ScalingKind::Quantile) {
        format!(
            "\"scale\": \"{}\" is not supported; use \"quantile\", \"standard\" or \"none\"",
            spec.scale.name()
        )
    } else if spec.loss.constraint() != ListConstraint::None {
        "lists with a constraint are not supported; train on rows".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::Unsupported(format!("training in buckets: {problem}")))
}

impl BucketTraining for GridSpec {
    fn run(&self, replay: &mut Replay, _names: &[String], control: &Control) -> Result<Option<Outcome>> {
        // 1. Counts and scaling.
        let facts = replay.task(FACTS_TASK, |asking| Prepared::ask(self, asking, control)?.into_bytes())?;
        let Some(facts) = facts else { return Ok(None) };
        let prepared = Prepared::from_bytes(&facts)?;
        let mut fits = Fits { spec: self, prepared: &prepared, replay, control };
        // 2. Lambda, then the function.
        let Some(Choice { lambda, selection, mut warnings }) = fits.choose()? else { return Ok(None) };
        let plan = Plan { part: Part::All, first: LAST_FIT, tolerance: self.tolerance };
        let Some(mut solutions) = fits.path(plan, &[lambda])? else { return Ok(None) };
        let Some(Solution { w, report }) = solutions.pop() else {
            return Err(Error::Internal("a solver without an answer".to_owned()));
        };
        replay.show(report.objective, report.gap);
        // 3. The report.
        let weights = prepared.space.function(w)?;
        let function = Function { weights, objective: report.objective, gap: report.gap };
        let fits = [Fit { function: function.clone(), report, began: 0.0, ended: 0.0 }];
        let unconverged = usize::from(!self.has_converged(&fits[0].report));
        if unconverged == 0 {
            warnings.extend(fits::collapse(self, lambda, &fits));
        }
        warnings.extend(penalty_warning(self, lambda, &fits));
        warnings.extend(prepared.space.warning());
        let (reported, details) = penalty_report(self, lambda, &fits);
        let trained = Trained {
            lambda: reported,
            selection,
            log: log(&fits),
            unconverged,
            warnings,
            details,
            volatile: Map::new(),
            ..Trained::new(
                Ranker::Linear(Linear::new(prepared.space.fitted(), function)),
                prepared.scaling.clone(),
            )
        };
        Ok(Some(prepared.facts.trained(trained)))
    }

    fn answer(&self, asked: &Asked<'_>, bucket: u32, data: Dataset) -> Result<Vec<BucketSums>> {
        answers::answer(self, asked, bucket, data)
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
    prepared: &'a Prepared,
    replay: &'a mut Replay,
    control: &'a Control,
}

impl Fits<'_> {
    /// The lambda to fit with; `None` if there are questions.
    fn choose(&mut self) -> Result<Option<Choice>> {
        let spec = self.spec;
        let given = |lambda| Ok(Some(Choice { lambda, selection: None, warnings: Vec::new() }));
        let facts = &self.prepared.facts;
        let lambdas = match &spec.lambda {
            TunedValue::Fixed(lambda) => return given(*lambda),
            TunedValue::Rate => {
                return given(lambda_rate(facts.count(Count::Queries, Part::All) as usize, 0));
            }
            TunedValue::Among(lambdas) | TunedValue::Fractions(lambdas) => lambdas,
        };
        // 1. A path for each fold. They ask in the same rounds, as long as their answers take little memory.
        let informative = |part: Part| facts.count(Count::Informative, part);
        let can_judge =
            |fold: &u32| informative(Part::Only(*fold)) > 0.0 && informative(Part::Without(*fold)) > 0.0;
        let mut folds: Vec<u32> = (0..FOLDS).filter(can_judge).collect();
        // Folds of least squares cost nothing. Of others one is enough, as in memory, if there are many rows.
        let numbers = facts.documents() * self.prepared.space.dim() as f64;
        if spec.loss.shape() != Shape::Quadratic && is_enough_data(informative(Part::All) as usize, numbers) {
            folds.truncate(1);
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
            let found = self.replay.numbers(VALUE_TASKS + fold as usize, |asking| {
                let numbers = path.iter().flat_map(|solution| solution.w.iter().copied()).collect();
                Ok(asking.ask(Question { kind: VALUES, part: Part::Only(fold), numbers }).numbers)
            })?;
            let Some(found) = found else { continue };
            if found.len() != 2 * lambdas.len() {
                return Err(wrong_length());
            }
            answered += 1;
            for (sum, found) in sums.iter_mut().zip(found.chunks_exact(2)) {
                *sum = [sum[0] + found[0], sum[1] + found[1]];
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
                let all = facts.count(Count::Queries, Part::All) as usize;
                Split::Queries { held_out: held_out as usize, all, folds }
            }
        };
        let selection = Selection::new(&spec.validation.metric, split, curve, chosen);
        let searched = match spec.penalty {
            Penalty::Components => Searched {
                limits: (1.0, self.prepared.space.dim() as f64),
                ..Searched::new("components", lambda)
            },
            _ => Searched::new("lambda", lambda),
        };
        let warnings = selection.warning(&searched).into_iter().collect();
        Ok(Some(Choice { lambda, selection: Some(selection), warnings }))
    }

    /// How many fits are made at once.
    fn at_once(&self) -> usize {
        let dim = self.prepared.space.dim();
        (ANSWER_BYTES / ANSWERS.saturating_mul(answer_bytes(dim))).max(1)
    }

    /// The solutions for these lambdas, largest first; `None` if there are questions.
    fn path(&mut self, plan: Plan, lambdas: &[f64]) -> Result<Option<Vec<Solution>>> {
        let spec = self.spec;
        let rule = SolveOptions { tolerance: plan.tolerance, ..SolveOptions::default() }.rule();
        let for_solver =
            |lambda: &f64| SolverParameter::new(*lambda, spec.penalty, &spec.loss, &self.prepared.space);
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

    /// The sums of least squares over a part, each query with its weight in the mean.
    fn gram(&mut self, part: Part) -> Result<Option<Gram>> {
        let Prepared { facts, space, .. } = self.prepared;
        let parts: Vec<Part> = if self.spec.lambda.is_validated() {
            (0..FOLDS).map(Part::Only).filter(|part| facts.count(Count::Informative, *part) > 0.0).collect()
        } else {
            vec![Part::All]
        };
        let what = format_args!("least squares with {} features", self.prepared.space.dim());
        let bytes = 3 * matrix_bytes(self.prepared.space.dim(), self.prepared.space.dim());
        let _memory = self.control.reserve(bytes, what, "use fewer features or fewer landmarks")?;
        let (mut sum, mut all) = (Gram::zero(space.dim()), true);
        for (task, asked) in parts.into_iter().enumerate() {
            let ask = |asking: &Asking<'_>| Ok(asking.ask(Question::new(GRAM, asked)).numbers);
            let Some(found) = self.replay.numbers(GRAM_TASKS + task, ask)? else {
                all = false;
                continue;
            };
            let found = Gram::of_numbers(space.dim(), &found).ok_or_else(wrong_length)?;
            if asked == Part::All || matches!(asked, Part::Only(fold) if part.has(fold)) {
                sum.add(&found);
            }
        }
        Ok(all.then(|| sum.times(1.0 / facts.count(Count::Queries, part))))
    }

    /// Newton's method for each lambda. Several lambdas share rounds; the others begin at the solution before them.
    fn asked_path(&mut self, plan: Plan, lambdas: &[f64], rule: &StopRule) -> Result<Option<Vec<Solution>>> {
        let Prepared { facts, space, .. } = self.prepared;
        let (dim, control) = (space.dim(), self.control);
        let (queries, pairs) = (facts.count(Count::Queries, plan.part), facts.count(Count::Pairs, plan.part));
        let is_hinge = matches!(self.spec.loss, Loss::Pair(..));
        let origin = if is_hinge {
            let number = match plan.part {
                Part::Without(fold) | Part::Only(fold) => fold,
                Part::All => FOLDS,
            };
            let ask = |asking: &Asking<'_>| Ok(answers::ask_hinge_origin(asking, plan.part, dim, queries));
            let found = self.replay.numbers(ORIGIN_TASKS + number as usize, ask)?;
            let Some(found) = found else { return Ok(None) };
            if found.len() != solve::hinge_origin_len(dim) {
                return Err(wrong_length());
            }
            found
        } else {
            Vec::new()
        };
        let together = self.at_once();
        let mut solutions: Vec<Solution> = Vec::with_capacity(lambdas.len());
        for (wave, lambdas) in lambdas.chunks(together).enumerate() {
            let start = solutions.last().map(|last| last.w.clone());
            let mut found = Vec::with_capacity(lambdas.len());
            for (number, &lambda) in lambdas.iter().enumerate() {
                let task = plan.first + wave * together + number;
                let solution = self.replay.task(task, |asking| {
                    let solution = if is_hinge {
                        let ask = |w: &[f64], widths: [f64; 2]| {
                            let sums = answers::ask_hinge_sums(asking, plan.part, queries, w, widths);
                            answers::show_hinge(asking, &sums, w, lambda);
                            sums
                        };
                        let (pairs, start) = (pairs as u64, start.as_deref());
                        let problem = solve::RemoteProblem { dim, origin: &origin, pairs, lambda, start };
                        solve::solve_hinge(&problem, &ask, rule, control)?
                    } else {
                        let risk = AskedRisk::new(asking, plan.part, dim, queries, lambda);
                        let ridge = Ridge { risk: &risk, lambda, center: None };
                        let start = start.clone().unwrap_or_else(|| vec![0.0; dim]);
                        newton_cg::minimize(&ridge, start, rule, control)
                    };
                    control.check()?;
                    Ok(solution_to_bytes(&solution))
                })?;
                found.extend(solution.map(|solution| solution_of_bytes(&solution, dim)).transpose()?);
            }
            if found.len() < lambdas.len() {
                return Ok(None);
            }
            solutions.extend(found);
        }
        Ok(Some(solutions))
    }
}

/// The reasons to stop that a solution may have.
const STOPS: [Stop; 4] = [Stop::Converged, Stop::Stationary, Stop::IterationLimit, Stop::Stalled];

fn solution_to_bytes(solution: &Solution) -> Vec<u8> {
    let SolveReport { stop, iterations, objective, gap, steps, .. } = &solution.report;
    let mut writer = Writer::default();
    writer.count(STOPS.iter().position(|known| known == stop).unwrap_or(0) as u64);
    writer.count(u64::from(*iterations));
    let steps = steps.iter().flat_map(|step| [step.objective, step.gap]);
    writer.numbers(&[*objective, *gap].into_iter().chain(steps).collect::<Vec<f64>>());
    writer.numbers(&solution.w);
    writer.into_bytes()
}

fn solution_of_bytes(bytes: &[u8], dim: usize) -> Result<Solution> {
    let mut reader = Reader::of_state(bytes);
    let stop = STOPS[reader.count_to(STOPS.len() as u64 - 1)?];
    let iterations = reader.count_to(u64::from(u32::MAX))? as u32;
    let (numbers, w) = (reader.numbers()?, reader.numbers()?);
    let [objective, gap, steps @ ..] = &numbers[..] else { return Err(reader.forged("an objective")) };
    if w.len() != dim {
        return Err(reader.forged("a weight for each feature"));
    }
    let step = |step: &[f64]| Step { objective: step[0], gap: step[1], seconds: 0.0 };
    let steps = steps.chunks_exact(2).map(step).collect();
    Ok(Solution { w, report: SolveReport::new(stop, iterations, *objective, *gap, steps) })
}
