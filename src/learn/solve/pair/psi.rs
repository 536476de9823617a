//! The psi loss by convex steps (Shen et al. 2003; Wu & Liu 2007; Yuille & Rangarajan 2003).
//!
//! psi(m) = max(0, 1 - m) - max(0, -m) is a difference of convex functions. The second function is replaced by its
//! tangent at the current w: a pair with a margin below 0 adds its c z to the linear term. The result is convex, is an
//! upper bound of the psi objective, and equals it at w:
//!
//! ```text
//! min over w of   hinge loss + (v + sum over pairs with m < 0 of c z).w + lambda |w - w0|^2
//! ```
//!
//! The solution is the next w, so the psi objective never rises. The steps end when the linear term does not change, when
//! the objective decreases by less than the tolerance, or after [`MOST_STEPS`].
//!
//! **Starts.** Local minima differ. The default start is the solution of the hinge problem. The others are its best
//! multiple and, for small problems, random directions with their best norm. The solution is the best of all.
//!
//! **Report.** The objective is the psi objective. The gap comes from the last convex problem: it certifies a
//! stationary point, not the optimum, which is hard to find. `steps` has one entry per convex problem; `iterations` is
//! their sum.

use std::time::Instant;

use super::{PairBlock, PairProblem, objective_by_definition};
use crate::base::{Control, Ticks};
use crate::cost::loss::PairLoss;
use crate::learn::solve::{PairPath, Solution, SolveReport, Step, Stop, StopRule};
use crate::math::{Lanes, Random, lanes, several_starts};

/// Largest number of convex problems from one start.
const MOST_STEPS: usize = 50;
/// Limits of random starts: starts times pairs and numbers of all documents are at most the first, and starts at most
/// the second.
const RANDOM_NUMBERS: u64 = 20_000;
const MOST_RANDOM_STARTS: u64 = 8;
/// Multiples of a direction that are tried: 2^-3, 2^-2, ..., 2^8.
const DOUBLINGS: std::ops::RangeInclusive<i32> = -3..=8;

/// Solves the psi problem for each lambda; `solve_hinge` solves hinge problems with a linear term.
pub(super) fn path(
    problem: &PairProblem<'_>,
    lambdas: &[f64],
    rule: &StopRule,
    control: &Control,
    solve_hinge: PairPath,
) -> Vec<Solution> {
    let hinge = problem.clone().with_loss(PairLoss::Hinge);
    let starts = solve_hinge(&hinge, lambdas, rule, control);
    let mut solutions = Vec::with_capacity(starts.len());
    for (&lambda, start) in lambdas.iter().zip(starts) {
        let problem = PairProblem { lambda, ..problem.clone() };
        let convex = |convex: &PairProblem<'_>| solve_hinge(convex, &[lambda], rule, control).pop();
        let first = Descent::new(&problem, start).run(rule.tolerance, convex);
        let others = if first.report.objective > 0.0 { 1 + random_starts(&problem) } else { 0 };
        let mut random = Random::new(0);
        let best = several_starts(first, others, |number, best| {
            let direction = if number == 0 { best.w.clone() } else { random_direction(&mut random, &best.w) };
            let start = Descent::at(&problem, best_multiple(&problem, direction));
            Some(start.run(rule.tolerance, convex))
        });
        let interrupted = best.report.stop == Stop::Interrupted;
        solutions.push(best);
        if interrupted {
            break;
        }
    }
    solutions
}

/// How many random starts a problem can afford.
fn random_starts(problem: &PairProblem<'_>) -> usize {
    let numbers = |(block, _): (&PairBlock, f64)| block.pairs + (block.n_docs() * problem.dim) as u64;
    let numbers: u64 = problem.useful_blocks().map(numbers).sum();
    (RANDOM_NUMBERS / numbers.max(1)).min(MOST_RANDOM_STARTS) as usize
}

/// A random vector.
fn random_direction(random: &mut Random, like: &[f64]) -> Vec<f64> {
    like.iter().map(|_| random.symmetric()).collect()
}

/// The best of w 2^k.
fn best_multiple(problem: &PairProblem<'_>, w: Vec<f64>) -> Vec<f64> {
    let scaled = |t: f64| w.iter().map(|w| t * w).collect::<Vec<f64>>();
    let trials = DOUBLINGS.map(|power| scaled(libm::exp2(f64::from(power))));
    let valued = trials.map(|w| (objective_by_definition(problem, &w), w));
    let best = valued.reduce(|best, next| if next.0 < best.0 { next } else { best });
    best.map_or(w, |(_, w)| w)
}

/// A fit.
struct Descent<'p, 'a> {
    problem: &'p PairProblem<'a>,
    began: Instant,
    w: Vec<f64>,
    report: SolveReport,
    solved: Solved,
}

/// The convex problem that w solves.
enum Solved {
    None,
    /// The hinge problem, in which no pair is misranked.
    Hinge,
    /// The problem with these net weights of misranked pairs.
    Convex(Vec<f64>),
}

impl<'p, 'a> Descent<'p, 'a> {
    /// From the solution of the hinge problem.
    fn new(problem: &'p PairProblem<'a>, Solution { w, report }: Solution) -> Self {
        let objective = objective_by_definition(problem, &w);
        let step = Step { objective, gap: report.gap, seconds: 0.0 };
        let report = SolveReport { objective, steps: vec![step], ..report };
        Self { problem, began: Instant::now(), w, report, solved: Solved::Hinge }
    }

    /// From another point.
    fn at(problem: &'p PairProblem<'a>, w: Vec<f64>) -> Self {
        let objective = objective_by_definition(problem, &w);
        let (stop, steps) = (Stop::IterationLimit, Vec::new());
        let report = SolveReport::new(stop, 0, objective, objective, steps);
        Self { problem, began: Instant::now(), w, report, solved: Solved::None }
    }

    /// Solves convex problems until the objective decreases by less than `tolerance`.
    fn run(mut self, tolerance: f64, convex: impl Fn(&PairProblem<'_>) -> Option<Solution>) -> Solution {
        for _ in 0..MOST_STEPS {
            let net = self.misranked();
            let solved = match &self.solved {
                Solved::None => false,
                Solved::Hinge => net.iter().all(|weight| *weight == 0.0),
                Solved::Convex(solved) => *solved == net,
            };
            if solved || matches!(self.report.stop, Stop::Interrupted | Stop::Empty) {
                return self.finish();
            }
            let hinge = self.problem.clone().with_loss(PairLoss::Hinge);
            let hinge = hinge.with_linear_term(self.linear_term(&net)).with_start(self.w.clone());
            self.solved = Solved::Convex(net);
            if !convex(&hinge).is_some_and(|solution| self.accept(solution, tolerance)) {
                return self.finish();
            }
        }
        self.report.stop = Stop::IterationLimit;
        self.finish()
    }

    fn finish(self) -> Solution {
        Solution { w: self.w, report: self.report }
    }

    /// Takes the solution of a convex problem into account; true if the objective decreased by more than the tolerance.
    fn accept(&mut self, Solution { w, report }: Solution, tolerance: f64) -> bool {
        self.report.iterations += report.iterations;
        self.report.stop = report.stop;
        if report.stop == Stop::Interrupted {
            return false;
        }
        self.report.gap = report.gap;
        let objective = objective_by_definition(self.problem, &w);
        let decrease = self.report.objective - objective;
        if decrease > 0.0 {
            self.w = w;
            self.report.objective = objective;
        }
        let seconds = self.began.elapsed().as_secs_f64();
        self.report.steps.push(Step { objective: self.report.objective, gap: report.gap, seconds });
        decrease > tolerance * objective.abs()
    }

    /// The net weights: for each document of each query, the weight of its pairs with a margin below 0 in which it is the
    /// better one, minus the weight of those in which it is the worse one. Equal ones give equal convex problems.
    fn misranked(&self) -> Vec<f64> {
        let w = lanes::from_slice(&self.w);
        let (mut all, mut ticks) = (Vec::new(), Ticks::default());
        for (block, _) in &self.problem.blocks {
            let scores: Vec<f64> = (0..block.n_docs()).map(|a| lanes::dot(block.row(a), &w)).collect();
            let mut net = vec![0.0; scores.len()];
            for (a, &first) in block.start.iter().enumerate() {
                ticks.add(scores.len() - first as usize);
                for b in first as usize..scores.len() {
                    if scores[a] < scores[b] {
                        let weight = block.pair_weight(a, b);
                        net[a] += weight;
                        net[b] -= weight;
                    }
                }
            }
            all.append(&mut net);
        }
        all
    }

    /// The problem's linear term plus the sum of c z over misranked pairs.
    fn linear_term(&self, net: &[f64]) -> Vec<f64> {
        let dim = self.problem.dim;
        let mut linear_term = vec![Lanes::ZERO; lanes::blocks_for(dim)];
        let mut net = net.iter();
        for (block, weight) in &self.problem.blocks {
            for (document, &net) in (0..block.n_docs()).zip(net.by_ref()) {
                lanes::axpy(weight * net, block.row(document), &mut linear_term);
            }
        }
        if let Some(own) = &self.problem.linear_term {
            lanes::axpy(1.0, &lanes::from_slice(own), &mut linear_term);
        }
        lanes::to_vec(&linear_term, dim)
    }
}
