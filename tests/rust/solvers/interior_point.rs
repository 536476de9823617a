//! Reference solver: a primal-dual interior point method with predictor and corrector (Mehrotra 1992) for
//!
//! ```text
//! min sum of c max(0, 1 - z'w) + lambda |w - w0|^2     over explicit pairs (c, z), the rows of M
//! ```
//!
//! It uses no code of the library. With xi the loss of a pair and r its distance beyond the margin, at the solution
//!
//! ```text
//! 2 lambda (w - w0) = M'alpha,  M w + xi - r = 1,  nu = c - alpha,  nu xi = 0,  alpha r = 0,  all of them >= 0
//! ```
//!
//! A Newton step towards nu xi = alpha r = target, with the products q1 and q2 of the predictor's moves, is
//!
//! ```text
//! e1 = (target - q1) / nu,   e2 = (target - q2) / alpha,   D = alpha nu / (xi alpha + r nu),   u = 1 - M w
//! (2 lambda I + M'D M) dw = M'alpha - 2 lambda (w - w0) + M'D (u - e1 + e2)
//! dalpha = -dnu = D (u - e1 + e2 - M dw),   dxi = e1 - xi + xi dalpha / nu,   dr = e2 - r - r dalpha / alpha
//! ```

/// A solution with its certificate.
#[derive(Debug)]
pub struct Answer {
    pub w: Vec<f64>,
    pub objective: f64,
    /// Upper bound of the objective minus the optimum.
    pub gap: f64,
    pub iterations: u32,
}

/// A problem; `center` is w0.
pub struct Problem {
    pub pairs: Vec<(f64, Vec<f64>)>,
    pub lambda: f64,
    pub center: Vec<f64>,
}

/// The variables of one pair.
#[derive(Clone, Copy)]
struct State {
    alpha: f64,
    nu: f64,
    xi: f64,
    r: f64,
}

/// Their moves; nu moves by minus the move of alpha.
#[derive(Clone, Copy, Default)]
struct Move {
    alpha: f64,
    xi: f64,
    r: f64,
}

const MOST_ITERATIONS: u32 = 60;
/// Iterations without a gap smaller by a hundredth after which rounding allows no progress.
const PATIENCE: u32 = 12;
const MOST_REFINEMENTS: u32 = 3;

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn add(factor: f64, x: &[f64], y: &mut [f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += factor * x);
}

/// Iterates until the gap is at most `tolerance` times the objective, or no smaller gap is found.
pub fn solve(problem: &Problem, tolerance: f64) -> Answer {
    let (mut w, mut states) = start(problem);
    let total: f64 = problem.pairs.iter().map(|(c, _)| c).sum();
    let mut answer = Answer { w: w.clone(), objective: f64::INFINITY, gap: f64::INFINITY, iterations: 0 };
    let (mut dual, mut last_gap, mut idle) = (f64::NEG_INFINITY, f64::INFINITY, 0);
    loop {
        let (primal, gap) = primal_and_gap(problem, &w, &states);
        dual = f64::max(dual, primal - gap);
        if primal < answer.objective {
            (answer.w, answer.objective) = (w.clone(), primal);
        }
        answer.gap = (answer.objective - dual).max(0.0);
        let allowed = tolerance * answer.objective.max(1e-9 * total);
        (last_gap, idle) = if answer.gap < 0.99 * last_gap { (answer.gap, 0) } else { (last_gap, idle + 1) };
        let ended = answer.gap <= allowed || idle > PATIENCE || answer.iterations == MOST_ITERATIONS;
        if ended || !improve(problem, &mut w, &mut states, 0.01 * allowed) {
            return answer;
        }
        answer.iterations += 1;
    }
}

/// The solution for the hinge widened to a zone of 4: (2 lambda I + sum of c z z' / 4) w = 3/4 sum of c z + 2 lambda w0.
fn start(Problem { pairs, lambda, center }: &Problem) -> (Vec<f64>, Vec<State>) {
    let quarters: Vec<f64> = pairs.iter().map(|(c, _)| 0.25 * c).collect();
    let mut right: Vec<f64> = center.iter().map(|w0| 2.0 * lambda * w0).collect();
    pairs.iter().for_each(|(c, z)| add(0.75 * c, z, &mut right));
    let zero = vec![0.0; center.len()];
    let w = factor(pairs, &quarters, *lambda, center.len()).map_or(zero, |factor| substitute(&factor, right));
    let state = |(c, z): &(f64, Vec<f64>)| {
        let u = 1.0 - dot(z, &w);
        let p = (0.5 + 0.25 * u).clamp(0.05, 0.95);
        State { alpha: c * p, nu: c * (1.0 - p), xi: u.max(0.0) + 0.3, r: (-u).max(0.0) + 0.3 }
    };
    let states = pairs.iter().map(state).collect();
    (w, states)
}

/// The objective, and its smallest distance from the dual value of theta alpha, theta = 1 or the best theta <= 1. Every
/// term of it is rounded by itself; the bound is widened by what that costs.
fn primal_and_gap(Problem { pairs, lambda, center }: &Problem, w: &[f64], states: &[State]) -> (f64, f64) {
    let (mut loss, mut slack, mut work) = (0.0, 0.0, 0.0);
    let mut pulled = vec![0.0; w.len()];
    for ((c, z), state) in pairs.iter().zip(states) {
        let u = 1.0 - dot(z, w);
        loss += c * u.max(0.0);
        slack += (c - state.alpha) * u.max(0.0) + state.alpha * (-u).max(0.0);
        work += state.alpha * u;
        add(state.alpha, z, &mut pulled);
    }
    let moved: Vec<f64> = w.iter().zip(center).map(|(w, w0)| w - w0).collect();
    let primal = loss + lambda * dot(&moved, &moved);
    let gradient_part = |theta: f64| {
        let residual = |(d, p): (&f64, &f64)| (2.0 * lambda * d - theta * p).powi(2);
        moved.iter().zip(&pulled).map(residual).sum::<f64>() / (4.0 * lambda)
    };
    let theta = (work + dot(&pulled, &moved)) / (dot(&pulled, &pulled) / (2.0 * lambda));
    let theta = if theta.is_finite() { theta.clamp(0.0, 1.0) } else { 1.0 };
    let shortened = loss - theta * work + gradient_part(theta);
    let rounding = 8.0 * f64::EPSILON * (primal + loss + theta * (loss + slack) + gradient_part(theta));
    (primal, (slack + gradient_part(1.0)).min(shortened + rounding) + 8.0 * f64::EPSILON * primal)
}

/// One iteration; false where rounding forbids it. `noise` is what the rounding of the step may cost.
fn improve(problem: &Problem, w: &mut [f64], states: &mut [State], noise: f64) -> bool {
    let Problem { pairs, lambda, center } = problem;
    let weights: Vec<f64> = states.iter().map(|s| s.alpha * s.nu / (s.xi * s.alpha + s.r * s.nu)).collect();
    let Some(factor) = factor(pairs, &weights, *lambda, w.len()) else { return false };
    // What is missing of 2 lambda (w - w0) = M'alpha.
    let mut missing: Vec<f64> = w.iter().zip(center).map(|(w, w0)| -2.0 * lambda * (w - w0)).collect();
    pairs.iter().zip(&*states).for_each(|((_, z), state)| add(state.alpha, z, &mut missing));

    let direction = |target: f64, before: &[Move]| {
        let ask = |(i, (_, z)): (usize, &(f64, Vec<f64>))| {
            let (s, m, d) = (&states[i], &before[i], weights[i]);
            let (e1, e2) = ((target + m.alpha * m.xi) / s.nu, (target - m.alpha * m.r) / s.alpha);
            (e1, e2, d * (1.0 - dot(z, w) - e1 + e2))
        };
        let asked: Vec<(f64, f64, f64)> = pairs.iter().enumerate().map(ask).collect();
        let mut right = missing.clone();
        pairs.iter().zip(&asked).for_each(|((_, z), (_, _, push))| add(*push, z, &mut right));
        let step = substitute(&factor, right);
        let moves = pairs.iter().zip(&*states).zip(&weights).zip(&asked);
        let moves = moves.map(|((((_, z), s), d), (e1, e2, push))| {
            let alpha = push - d * dot(z, &step);
            Move { alpha, xi: e1 - s.xi + s.xi * (alpha / s.nu), r: e2 - s.r - s.r * (alpha / s.alpha) }
        });
        let moves: Vec<Move> = moves.collect();
        (step, moves)
    };
    // Predictor: straight to complementarity 0. Corrector: to a fraction of the mean that the predictor could reach.
    let (_, moves) = direction(0.0, &vec![Move::default(); states.len()]);
    let (now, then) = (complementarity(states, &moves, 0.0), longest(states, &moves).min(1.0));
    let then = complementarity(states, &moves, then);
    let (mut step, mut moves) = direction(then * (then / now) * (then / now), &moves);
    // Refinement: the rounding of the last solve, solved for with the same factor.
    for _ in 0..MOST_REFINEMENTS {
        let mut left = missing.clone();
        pairs.iter().zip(&moves).for_each(|((_, z), m)| add(m.alpha, z, &mut left));
        add(-2.0 * lambda, &step, &mut left);
        if dot(&left, &left) <= 4.0 * lambda * noise {
            break;
        }
        let change = substitute(&factor, left);
        add(1.0, &change, &mut step);
        for ((((_, z), s), d), m) in pairs.iter().zip(&*states).zip(&weights).zip(&mut moves) {
            let alpha = -d * dot(z, &change);
            m.alpha += alpha;
            m.xi += s.xi * (alpha / s.nu);
            m.r -= s.r * (alpha / s.alpha);
        }
    }
    let length = (0.99 * longest(states, &moves)).min(1.0);
    if !(length > 0.0 && dot(&step, &step).is_finite()) {
        return false;
    }
    add(length, &step, w);
    for (s, m) in states.iter_mut().zip(&moves) {
        s.alpha += length * m.alpha;
        s.nu -= length * m.alpha;
        s.xi += length * m.xi;
        s.r += length * m.r;
    }
    true
}

/// The longest step before a variable becomes negative.
fn longest(states: &[State], moves: &[Move]) -> f64 {
    let rate = |(s, m): (&State, &Move)| [m.alpha / s.nu, -m.alpha / s.alpha, -m.xi / s.xi, -m.r / s.r];
    1.0 / states.iter().zip(moves).flat_map(rate).fold(0.0, f64::max)
}

/// Mean of nu xi and alpha r after a step.
fn complementarity(states: &[State], moves: &[Move], step: f64) -> f64 {
    let products = |(s, m): (&State, &Move)| {
        (s.nu - step * m.alpha) * (s.xi + step * m.xi) + (s.alpha + step * m.alpha) * (s.r + step * m.r)
    };
    states.iter().zip(moves).map(products).sum::<f64>() / (2.0 * states.len() as f64)
}

/// The Cholesky factor L of 2 lambda I + sum of D z z', its rows; the diagonal is raised where rounding has made the
/// matrix indefinite.
fn factor(pairs: &[(f64, Vec<f64>)], weights: &[f64], lambda: f64, dim: usize) -> Option<Vec<Vec<f64>>> {
    let mut matrix = vec![vec![0.0; dim]; dim];
    for ((_, z), weight) in pairs.iter().zip(weights) {
        matrix.iter_mut().zip(z).for_each(|(row, zi)| add(weight * zi, z, row));
    }
    let largest = (0..dim).map(|i| matrix[i][i]).fold(0.0, f64::max);
    let shifts =
        std::iter::successors(Some(0.0), |s| Some(if *s > 0.0 { 30.0 * s } else { 1e-14 * largest }));
    shifts.take(8).find_map(|shift| cholesky(&matrix, 2.0 * lambda + shift))
}

/// L with L L' = A + shift I.
fn cholesky(a: &[Vec<f64>], shift: f64) -> Option<Vec<Vec<f64>>> {
    let mut l: Vec<Vec<f64>> = Vec::with_capacity(a.len());
    for (i, given) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(i + 1);
        for j in 0..i {
            row.push((given[j] - dot(&row, &l[j])) / l[j][j]);
        }
        let size = given[i] + shift;
        let pivot = size - dot(&row, &row);
        if pivot.is_nan() || pivot <= 1e-15 * size {
            return None;
        }
        row.push(pivot.sqrt());
        l.push(row);
    }
    Some(l)
}

/// x with L L' x = b.
fn substitute(l: &[Vec<f64>], b: Vec<f64>) -> Vec<f64> {
    let mut x = b;
    for (i, row) in l.iter().enumerate() {
        x[i] = (x[i] - dot(row, &x[..i])) / row[i];
    }
    for i in (0..l.len()).rev() {
        x[i] /= l[i][i];
        let (value, row) = (x[i], &l[i]);
        add(-value, &row[..i], &mut x[..i]);
    }
    x
}
