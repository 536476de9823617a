//! Losses that are not convex: differences of convex functions, and annealing of a smoothed loss, each from several starts.

use std::time::Instant;

use super::ListProblem;
use crate::base::Control;
use crate::cost::loss::{QueryLoss, Shape, least_squares};
use crate::math::{
    Bundle, Objective, Point, Random, Solution, SolveReport, Step, Stop, StopRule, difference, dot, lbfgs,
    moved, norm, several_starts, solve_path,
};

// Solver for differences of convex functions (Yuille & Rangarajan 2003; Le, Smola, Chapelle & Teo, algorithm 2).
//
// A round replaces each loss by a convex majorant that equals it at the current scores, and lowers the sum by cutting
// planes. Majorants differ by linear functions, so the planes of all rounds and starts are kept. A round ends early, when it
// has decreased the objective by more than is left. Then the step is extended while the objective decreases (Aragon Artacho,
// Fleming & Vuong 2018). The rounds end at a point from which a round could decrease the objective by no more than the
// allowed gap.
//
// **Starts.** Local minima differ. Each start (below) makes a few rounds. The best continues, then the others that came
// close to it.
//
// **Report.** The gap comes from the last round: it measures the distance to a stationary point and does not
// certify an optimum. `steps` has one entry per round of all starts. Each lambda is solved alone, so a solution does
// not depend on the other lambdas of a path.

const MOST_ROUNDS: usize = 200;
/// Rounds that each start makes before it is compared with the best.
const TRIAL_ROUNDS: usize = 5;
/// Iterations of cutting planes before a round may end.
const ITERATIONS: u32 = 5;
/// A start is left if its objective after the trial is above this multiple of the best.
const CLOSE: f64 = 1.1;
/// Largest number of step doublings.
const MOST_DOUBLINGS: i32 = 4;

/// The fit for one lambda.
pub(super) struct LambdaFit<'p, 'a> {
    problem: &'p ListProblem<'a>,
    lambda: f64,
    rule: &'p StopRule,
    control: &'p Control,
    /// Planes of the last round's majorant.
    bundle: Option<Bundle>,
    /// The majorant of the last round.
    majorant: Option<ListProblem<'a>>,
    first: f64,
}

/// A start on its way to a local minimum.
struct Descent {
    at: Candidate,
    gap: f64,
    stop: Stop,
    iterations: u32,
    /// One per round.
    steps: Vec<Step>,
    began: Instant,
}

impl<'p, 'a> LambdaFit<'p, 'a> {
    pub(super) fn new(
        problem: &'p ListProblem<'a>,
        lambda: f64,
        rule: &'p StopRule,
        control: &'p Control,
    ) -> Self {
        Self { problem, lambda, rule, control, bundle: None, majorant: None, first: 0.0 }
    }

    pub(super) fn run(mut self) -> Solution {
        let start = Candidate::on_ray(self.problem, self.lambda, self.problem.start());
        self.first = start.objective;
        let mut first = Descent::from(start);
        self.descend(&mut first, MOST_ROUNDS);
        let mut random = Random::new(0);
        several_starts(first.into(), 1 + random_starts(self.problem), |number, best| {
            let start = match number {
                0 => regression_on_worth(self.problem, self.lambda, self.control)?,
                _ => random_direction(&mut random, &best.w, number - 1),
            };
            Some(self.challenge(start, best.report.objective))
        })
    }

    /// The local minimum from another start, if its first rounds come close to the best objective.
    fn challenge(&mut self, start: Vec<f64>, best: f64) -> Solution {
        let mut descent = Descent::from(Candidate::on_ray(self.problem, self.lambda, start));
        self.descend(&mut descent, TRIAL_ROUNDS);
        if descent.at.objective <= CLOSE * best {
            self.descend(&mut descent, MOST_ROUNDS);
        }
        descent.into()
    }

    /// Rounds from a point until it is stationary, or has made `most` rounds.
    fn descend(&mut self, descent: &mut Descent, most: usize) {
        while descent.stop == Stop::IterationLimit && descent.steps.len() < most {
            self.round(descent);
            let seconds = descent.began.elapsed().as_secs_f64();
            descent.steps.push(Step { objective: descent.at.objective, gap: descent.gap, seconds });
        }
    }

    fn round(&mut self, descent: &mut Descent) {
        // 1. The convex problem that equals this one at the current point.
        let convex = self.next_majorant(&descent.at);
        let objective = convex.ridge(self.lambda);
        let Some(bundle) = &mut self.bundle else { return };
        // 2. A solution whose decrease exceeds the remaining objective.
        let before = descent.at.objective;
        let allowed = self.rule.allowed_gap(before, self.first);
        let mut rule = StopRule { max_iterations: ITERATIONS, tolerance: 0.5 * self.rule.tolerance };
        let mut iterations = 0;
        let (decrease, gap, stop) = loop {
            let report = bundle.minimize(objective, &rule, self.control).report;
            iterations += report.iterations;
            let decrease = before - report.objective;
            let limited = iterations >= self.rule.max_iterations;
            if report.stop != Stop::IterationLimit || report.gap <= decrease || limited {
                break (decrease, report.gap, report.stop);
            }
            rule.max_iterations = ITERATIONS;
        };
        descent.iterations += iterations;
        descent.gap = gap + decrease.max(0.0);
        // 3. The step, longer if that is better.
        let solution = bundle.best();
        let direction = difference(&solution.w, &descent.at.w);
        let step = difference(&solution.image, &descent.at.image);
        let next = self.extend(&descent.at, &direction, &step);
        let decrease = before - next.objective;
        if decrease > 0.0 {
            descent.at = next;
        }
        self.majorant = Some(convex);
        // 4. Whether the point is stationary.
        if stop == Stop::Interrupted {
            descent.stop = stop;
        } else if decrease <= allowed && descent.gap <= allowed {
            descent.stop = Stop::Converged;
        } else if decrease <= 0.0 {
            descent.stop = Stop::Stalled;
        }
    }

    /// The majorant that is tight at a point. The planes become planes of it.
    fn next_majorant(&mut self, at: &Candidate) -> ListProblem<'a> {
        let majorant = |loss: &dyn QueryLoss, scores: &[f64]| loss.majorant(scores);
        let losses = self.problem.map_losses(&at.image, majorant);
        let convex = self.problem.with_losses(losses, Shape::Convex);
        let objective = convex.ridge(self.lambda);
        let (Some(bundle), Some(old)) = (&mut self.bundle, &self.majorant) else {
            self.bundle = Some(Bundle::new(&objective, at.w.clone()));
            return convex;
        };
        let mut slopes = [vec![0.0; at.image.len()], vec![0.0; at.image.len()]];
        let [new_slopes, old_slopes] = &mut slopes;
        let new_risk = convex.value_at(&at.image, new_slopes);
        let old_risk = old.value_at(&at.image, old_slopes);
        let change = difference(new_slopes, old_slopes);
        let linear = convex.transposed(&change);
        let constant = new_risk - old_risk - dot(&change, &at.image);
        bundle.replace_risk(&objective, &linear, constant, at.w.clone(), at.image.clone());
        convex
    }

    /// The best of from + t direction, t = 1, 2, 4, ...
    fn extend(&self, from: &Candidate, direction: &[f64], step: &[f64]) -> Candidate {
        let ridge = self.problem.ridge(self.lambda);
        let at = |t: f64| {
            let w = moved(&from.w, t, direction);
            let (risk, _) = self.problem.value_on_line(&from.image, step, t);
            let objective = risk + ridge.penalty(&w);
            (t, w, objective)
        };
        let mut best = at(1.0);
        for doubling in 1..=MOST_DOUBLINGS {
            let next = at(2.0_f64.powi(doubling));
            if next.2 >= best.2 {
                break;
            }
            best = next;
        }
        let (t, w, objective) = best;
        Candidate { w, image: moved(&from.image, t, step), objective }
    }
}

impl From<Candidate> for Descent {
    fn from(at: Candidate) -> Self {
        let (gap, stop, steps) = (at.objective, Stop::IterationLimit, Vec::new());
        Self { at, gap, stop, iterations: 0, steps, began: Instant::now() }
    }
}

impl From<Descent> for Solution {
    fn from(Descent { at, gap, stop, iterations, steps, .. }: Descent) -> Self {
        Self { w: at.w, report: SolveReport::new(stop, iterations, at.objective, gap, steps) }
    }
}

// Annealing, for limits of smooth losses (Le, Smola, Chapelle & Teo, algorithm 4).
//
// A round replaces each loss by its smooth form of width sigma, solves the problem by L-BFGS and halves sigma. The
// first sigma is the loss's or, without one, twice the standard deviation of the scores within queries. The rounds end if the smooth risk and the
// risk differ by less than 0.001. The solution is the point with the least original objective of all rounds, from each
// start.
//
// **Report.** The objective is the original one. The gap comes from the last round: it says how close its solution is
// to a stationary point and does not certify an optimum. `steps` has one entry per round of all starts, with the least
// objective so far, and `iterations` counts the iterations of all rounds. Each lambda starts from the same point,
// because otherwise solutions would depend on the order of a path.

const MOST_SMOOTH_ROUNDS: usize = 10;
/// Most L-BFGS iterations of a round. The next round continues from there.
const MOST_SMOOTH_ITERATIONS: u32 = 30;
/// Annealing ends at this difference of the risks, relative to the weights of all queries.
const RISK_DIFFERENCE: f64 = 1e-3;
/// Annealing takes longer than rounds of convex problems: this factor fewer random starts.
const RANDOM_STARTS_LESS: usize = 4;
/// First sigma, in standard deviations of the scores.
const FIRST_SIGMA: f64 = 2.0;

/// Solves for each lambda.
pub(super) fn annealing_path(
    problem: &ListProblem<'_>,
    lambdas: &[f64],
    rule: &StopRule,
    control: &Control,
) -> Vec<Solution> {
    let inner = StopRule { max_iterations: rule.max_iterations.min(MOST_SMOOTH_ITERATIONS), ..*rule };
    solve_path(lambdas, |lambda, _| {
        let from = |w| rounds(problem, lambda, problem.ridge(lambda).at(w), &inner, control);
        let mut random = Random::new(0);
        let others = 1 + random_starts(problem) / RANDOM_STARTS_LESS;
        several_starts(from(problem.start()), others, |number, best| {
            let start = match number {
                0 => regression_on_worth(problem, lambda, control)?,
                _ => random_direction(&mut random, &best.w, number),
            };
            Some(from(Candidate::on_ray(problem, lambda, start).w))
        })
    })
}

/// The rounds from one start.
fn rounds(
    problem: &ListProblem<'_>,
    lambda: f64,
    start: Point,
    inner: &StopRule,
    control: &Control,
) -> Solution {
    let began = Instant::now();
    let weight: f64 = problem.blocks.iter().map(|(_, weight)| weight).sum();
    // A large sigma of the caller takes more rounds until it matches the scores.
    let by_scores = first_sigma(problem, &start.w);
    let (mut w, mut sigma) = (start.w.clone(), problem.loss.first_sigma().unwrap_or(by_scores));
    let more = libm::log2(sigma / by_scores).clamp(0.0, MOST_ROUNDS as f64) as usize;
    let report = SolveReport::new(Stop::IterationLimit, 0, start.value, start.value, Vec::new());
    let mut best = Solution { w: start.w, report };
    for _ in 0..MOST_SMOOTH_ROUNDS + more {
        // 1. The solution of the smooth problem.
        let losses = (0..problem.blocks.len()).map(|query| problem.loss_of(query).smoothed(sigma));
        let smooth = problem.with_losses(losses.collect(), Shape::Smooth);
        let round = lbfgs::minimize(&smooth.ridge(lambda), w, inner, control);
        // 2. The original objective there.
        let point = problem.ridge(lambda).at(round.w.clone());
        let report = &mut best.report;
        if point.value < report.objective {
            (best.w, report.objective) = (point.w, point.value);
        }
        report.gap = round.report.gap;
        report.iterations += round.report.iterations;
        let seconds = began.elapsed().as_secs_f64();
        report.steps.push(Step { objective: report.objective, gap: report.gap, seconds });
        // 3. Both objectives have the same penalty, so they differ by the difference of the risks.
        let close = (round.report.objective - point.value).abs() < RISK_DIFFERENCE * weight;
        if round.report.stop == Stop::Interrupted || close {
            report.stop = if close { Stop::Converged } else { round.report.stop };
            break;
        }
        w = round.w;
        sigma *= 0.5;
    }
    best
}

/// Twice the standard deviation of the scores; 1 if all are equal.
fn first_sigma(problem: &ListProblem<'_>, w: &[f64]) -> f64 {
    let deviation = spread(problem, &problem.image(w));
    if deviation > 0.0 { FIRST_SIGMA * deviation } else { 1.0 }
}

// Starts of solvers for losses that are not convex.
//
// | start | |
// |---|---|
// | the center of the penalty, otherwise the given start, otherwise 0 | the default start |
// | the least-squares function of the documents' worth in the measure (Le, Smola, Chapelle & Teo, algorithm 2) | with the same lambda |
// | random directions, and random changes of the best solution | for small problems |
//
// **Norm.** The risk depends on |w|, and a start with a wrong norm may lie where the risk is flat. A start is
// multiplied by the factor t of least P(t w). Trials need no new products X w.

/// Most L-BFGS iterations of a regression. A start need not be exact.
const REGRESSION: StopRule = StopRule { tolerance: 1e-3, max_iterations: 50 };
/// Trial norms: standard deviations of scores 2^-6, 2^-5, ..., 2^8.
const LENGTHS: std::ops::RangeInclusive<i32> = -6..=8;
/// Limits of random starts: starts times numbers of all documents are at most the first, and starts at most the second.
const RANDOM_NUMBERS: usize = 60_000;
const MOST_RANDOM_STARTS: usize = 16;
/// Trials between the best norm and its neighbors.
const REFINEMENTS: u32 = 3;

/// A point with its image and P.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub w: Vec<f64>,
    pub image: Vec<f64>,
    pub objective: f64,
}

impl Candidate {
    /// The best of w and its multiples.
    pub fn on_ray(problem: &ListProblem<'_>, lambda: f64, w: Vec<f64>) -> Self {
        let image = problem.image(&w);
        let (t, objective) = Ray::new(problem, lambda, &w, &image).minimum();
        let scaled = |values: Vec<f64>| values.into_iter().map(|value| t * value).collect();
        Self { w: scaled(w), image: scaled(image), objective }
    }
}

/// P(t w).
struct Ray<'p, 'a> {
    problem: &'p ListProblem<'a>,
    lambda: f64,
    image: &'p [f64],
    zero: Vec<f64>,
    /// |w|^2, w.w0 and |w0|^2
    penalty: [f64; 3],
}

impl<'p, 'a> Ray<'p, 'a> {
    fn new(problem: &'p ListProblem<'a>, lambda: f64, w: &[f64], image: &'p [f64]) -> Self {
        let center = problem.center();
        let penalty = [dot(w, w), center.map_or(0.0, |w0| dot(w, w0)), center.map_or(0.0, |w0| dot(w0, w0))];
        Self { problem, lambda, image, zero: vec![0.0; image.len()], penalty }
    }

    fn value(&self, t: f64) -> f64 {
        let (risk, _) = self.problem.value_on_line(&self.zero, self.image, t);
        let [ww, wc, cc] = self.penalty;
        risk + self.lambda * (t * t * ww - 2.0 * t * wc + cc)
    }

    /// t of the least P among the trials, with P.
    fn minimum(&self) -> (f64, f64) {
        let deviation = spread(self.problem, self.image);
        let mut best = (1.0, self.value(1.0));
        if !(deviation > 0.0 && deviation.is_finite()) {
            return best;
        }
        let mut consider = |t: f64| {
            let value = self.value(t);
            if value < best.1 {
                best = (t, value);
            }
            best
        };
        let mut center = (1.0, f64::INFINITY);
        for power in LENGTHS {
            center = consider(libm::exp2(f64::from(power)) / deviation);
        }
        for refinement in 1..=REFINEMENTS {
            let step = libm::exp2(0.5_f64.powi(refinement as i32));
            let middle = center.0;
            consider(middle * step);
            center = consider(middle / step);
        }
        center
    }
}

/// Standard deviation of the scores minus their means in the query.
pub(super) fn spread(problem: &ListProblem<'_>, scores: &[f64]) -> f64 {
    let squares = problem.map_losses(scores, |_, scores| {
        let mean = scores.iter().sum::<f64>() / scores.len() as f64;
        scores.iter().map(|score| (score - mean) * (score - mean)).sum::<f64>()
    });
    (squares.iter().sum::<f64>() / scores.len().max(1) as f64).sqrt()
}

/// The least-squares function of the documents' worth; `None` if the loss does not define it.
pub(super) fn regression_on_worth(
    problem: &ListProblem<'_>,
    lambda: f64,
    control: &Control,
) -> Option<Vec<f64>> {
    let squared = least_squares();
    let losses = (0..problem.blocks.len())
        .map(|query| problem.loss_of(query).worth().map(|worth| squared.prepare(worth, &[])));
    let losses = losses.collect::<Vec<_>>();
    if losses.is_empty() || losses.iter().any(Option::is_none) {
        return None;
    }
    let problem = problem.without_center().with_losses(losses, Shape::Quadratic);
    let zero = vec![0.0; problem.dim()];
    Some(lbfgs::minimize(&problem.ridge(lambda), zero, &REGRESSION, control).w)
}

/// How many random starts a problem can afford.
pub(super) fn random_starts(problem: &ListProblem<'_>) -> usize {
    let numbers = problem.documents() * problem.dim();
    RANDOM_NUMBERS.checked_div(numbers).unwrap_or(0).min(MOST_RANDOM_STARTS)
}

/// A random direction; every second one is a change of the direction of `near`.
pub(super) fn random_direction(random: &mut Random, near: &[f64], number: usize) -> Vec<f64> {
    let mut w: Vec<f64> = near.iter().map(|_| random.symmetric()).collect();
    let (size, length) = (norm(near), norm(&w));
    if number % 2 == 1 && size > 0.0 {
        w.iter_mut().zip(near).for_each(|(w, near)| *w = *w / length + near / size);
    }
    w
}
