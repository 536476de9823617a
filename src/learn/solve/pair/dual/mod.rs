//! ADMM, which keeps a number per pair of documents.
//!
//! `pairs` has the passes over pairs and `progress` the record of a fit. The method shares no optimization code with
//! Newton's method, so tests compare both.

mod admm;
mod pairs;
mod progress;

pub use admm::ADMM;

#[cfg(test)]
mod tests {
    use super::ADMM;
    use crate::base::control::Control;
    use crate::learn::solve::pair::NEWTON;
    use crate::learn::solve::{PairBlock, PairProblem, Solution, SolveOptions, SolveReport, Stop, solve};
    use crate::math::lanes;
    use crate::math::random::Random;

    const DIM: usize = 9;

    /// Three queries, the first with more documents than one group of rows.
    fn blocks() -> Vec<PairBlock> {
        let mut random = Random::new(9);
        [70usize, 5, 13]
            .iter()
            .map(|&n| {
                let x: Vec<f64> = (0..n * DIM).map(|_| random.symmetric()).collect();
                let labels: Vec<f64> = (0..n).map(|_| (4.0 * random.symmetric()).floor()).collect();
                PairBlock::new(&x, &labels, DIM).unwrap()
            })
            .collect()
    }

    fn problem(blocks: &[PairBlock], lambda: f64) -> PairProblem<'_> {
        let weighted = blocks.iter().map(|block| (block, 0.5 / block.pairs() as f64)).collect();
        PairProblem::new(DIM, weighted, lambda).unwrap()
    }

    /// P by its definition.
    fn objective(problem: &PairProblem<'_>, center: &[f64], linear_term: &[f64], w: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (block, c) in problem.blocks() {
            let score = |i| lanes::to_vec(block.row(i), DIM).iter().zip(w).map(|(x, w)| x * w).sum::<f64>();
            for a in 0..block.n_docs() {
                for b in (0..block.n_docs()).filter(|b| block.labels()[a] > block.labels()[*b]) {
                    sum += c * (1.0 - score(a) + score(b)).max(0.0);
                }
            }
        }
        for (j, w) in w.iter().enumerate() {
            sum += problem.lambda() * (w - center[j]) * (w - center[j]) + linear_term[j] * w;
        }
        sum
    }

    #[test]
    fn a_linear_term_and_a_center_are_part_of_the_problem() {
        let blocks = blocks();
        let mut random = Random::new(4);
        let mut vector = |size: f64| -> Vec<f64> { (0..DIM).map(|_| size * random.symmetric()).collect() };
        for (lambda, size) in [(10.0, 5.0), (0.1, 0.5), (1e-2, 0.01)] {
            let (center, linear_term) = (vector(2.0), vector(size));
            let problem = problem(&blocks, lambda)
                .with_center(center.clone())
                .unwrap()
                .with_linear_term(linear_term.clone());
            let fit = |solver, tolerance| {
                solve(
                    &problem,
                    &SolveOptions { solver, tolerance, max_iterations: 5000 },
                    &Control::default(),
                )
            };
            let Solution { w, report: reference } = fit(&NEWTON, 1e-10);
            assert_eq!(reference.stop, Stop::Converged, "{reference:?}");
            let plain = |w: &[f64]| objective(&problem, &center, &linear_term, w);
            assert!((plain(&w) - reference.objective).abs() < 1e-10);
            for _ in 0..50 {
                let nearby: Vec<f64> = w.iter().zip(vector(0.01)).map(|(w, d)| w + d).collect();
                assert!(plain(&nearby) >= reference.objective - reference.gap, "{lambda}");
            }
            let Solution { w, report } = fit(&ADMM, 1e-6);
            let difference = (report.objective - reference.objective).abs();
            assert!(difference <= report.gap.max(reference.gap) + 1e-10, "{report:?}");
            assert!((plain(&w) - report.objective).abs() < 1e-10);
            let SolveReport { stop, iterations, objective, gap, .. } = report;
            assert_eq!(stop, Stop::Converged, "{lambda} {iterations} {gap:e} {objective}");
        }
    }
}
