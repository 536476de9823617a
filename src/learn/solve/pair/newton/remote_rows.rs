//! Score space of a problem whose rows are elsewhere: each new point is a question.
//!
//! The answer contains everything for a step: sums of a pass at two widths, X'g at both, and the Hessian at the first.
//! The second width is the one that the next round of Newton's method is expected to have, so that its first pass asks
//! nothing. The first step uses the available Hessian, whose zone is wider. Nothing is stored per pair, so there are no
//! multipliers.

use super::chunk::PassSums;
use super::hessian::Precision;
use super::hinge::Hinge;
use super::space::{HingeRows, Rows, Space, Totals};
use super::state::{State, run};
use crate::base::{Control, Result};
use crate::learn::solve::pair::PairProblem;
use crate::learn::solve::{Solution, StopRule};
use crate::math::{Lanes, lanes};

/// The second width of the first question over its first width.
const FIRST_SHRINK: f64 = 0.1;
/// Range of the second width over the one that the method wants.
const NEAR: std::ops::RangeInclusive<f64> = 0.4..=1.2;
/// Numbers of a pass before X'g: loss, sum of alpha, g's.
const HEAD: usize = 3;

/// Entries of a matrix of features on and above the diagonal.
fn upper(matrix: &[Lanes], dim: usize) -> impl Iterator<Item = f64> {
    let width = lanes::blocks_for(dim);
    (0..dim).flat_map(move |i| (i..dim).map(move |j| lanes::get(&matrix[i * width..], j)))
}

/// The matrix with these entries on and above the diagonal.
fn matrix_of(entries: &[f64], dim: usize) -> Vec<Lanes> {
    let width = lanes::blocks_for(dim);
    let mut matrix = vec![Lanes::ZERO; width * lanes::LANES * width];
    let mut entries = entries.iter();
    for i in 0..dim {
        for j in i..dim {
            *lanes::get_mut(&mut matrix[i * width..], j) = entries.next().copied().unwrap_or_default();
        }
    }
    matrix
}

/// Sums that do not depend on w: of c over all pairs, of c z, and the entries of the sum of c z z' on and above the
/// diagonal.
pub fn hinge_origin(problem: &PairProblem<'_>, control: &Control) -> Vec<f64> {
    let mut space = Space::new(problem, control);
    let moment = space.moment(Precision::Double);
    let Totals { dim, total_weight, pair_sum, .. } = space.totals();
    let (dim, pair_sum) = (*dim, lanes::to_vec(pair_sum, *dim));
    [*total_weight].into_iter().chain(pair_sum).chain(upper(&moment, dim)).collect()
}

/// Number of numbers of [`hinge_origin`].
pub fn hinge_origin_len(dim: usize) -> usize {
    1 + dim + dim * (dim + 1) / 2
}

/// The hinge at a point, smoothed with each of two widths: loss, sum of alpha, g's and X'g; then the number of pairs in the
/// zone of the first width, and the entries of the Hessian there on and above the diagonal.
pub fn hinge_sums(problem: &PairProblem<'_>, w: &[f64], widths: [f64; 2], control: &Control) -> Vec<f64> {
    let mut space = Space::new(problem, control);
    space.set_point(&lanes::from_slice(w));
    let mut numbers = Vec::with_capacity(hinge_sums_len(w.len()));
    for width in widths {
        let PassSums { loss, alpha, g_scores, .. } = space.pass(0.0, width);
        numbers.extend([loss, alpha, g_scores]);
        numbers.extend(lanes::to_vec(&space.transpose_times(), w.len()));
    }
    let (hessian, zone_pairs) = space.hessian(widths[0], Precision::Double);
    numbers.push(zone_pairs as f64);
    numbers.extend(upper(&hessian, w.len()));
    numbers
}

/// Number of numbers of [`hinge_sums`].
pub fn hinge_sums_len(dim: usize) -> usize {
    hinge_sums_pairs(dim) + 1 + dim * (dim + 1) / 2
}

/// Index of the pair count in [`hinge_sums`].
pub fn hinge_sums_pairs(dim: usize) -> usize {
    2 * (HEAD + dim)
}

/// Sums of the hinge at a point (first argument) with two widths.
pub type AskHinge<'a> = &'a dyn Fn(&[f64], [f64; 2]) -> Vec<f64>;

/// A problem with the hinge whose rows are elsewhere.
pub struct RemoteProblem<'a> {
    /// Number of features.
    pub dim: usize,
    /// The numbers of [`hinge_origin`].
    pub origin: &'a [f64],
    /// Number of pairs.
    pub pairs: u64,
    /// Lambda of the penalty.
    pub lambda: f64,
    /// The first point, if not 0.
    pub start: Option<&'a [f64]>,
}

/// Solves for one lambda.
///
/// # Errors
/// A lambda out of range.
pub fn solve_hinge(
    problem: &RemoteProblem<'_>,
    ask: AskHinge<'_>,
    rule: &StopRule,
    control: &Control,
) -> Result<Solution> {
    let RemoteProblem { dim, origin, pairs, lambda, start } = *problem;
    let problem = PairProblem::new(dim, Vec::new(), lambda)?;
    let (head, moment) = origin.split_at(1 + dim);
    let (width, pair_sum) = (lanes::blocks_for(dim), lanes::from_slice(&head[1..]));
    let totals = Totals { width, dim, total_weight: head[0], pairs, pair_sum };
    let asked = RemoteRows::new(totals, ask, matrix_of(moment, dim));
    let mut state = State::new(&problem, *rule, asked, control);
    state.start = start.map(lanes::from_slice);
    Ok(run(&mut Hinge::new(state, false), lambda))
}

/// The rows as answers.
struct RemoteRows<'a> {
    totals: Totals,
    ask: AskHinge<'a>,
    accepted: Vec<Lanes>,
    direction: Vec<Lanes>,
    /// The last point and its widths with their answer; the one of the last pass.
    point: Vec<Lanes>,
    widths: [f64; 2],
    answer: Vec<f64>,
    last: usize,
    /// Whether the Hessian of the answer was used.
    used: bool,
    /// The width after the current one.
    expected: Option<f64>,
    /// Sum of c z z'.
    moment: Vec<Lanes>,
}

impl<'a> RemoteRows<'a> {
    fn new(totals: Totals, ask: AskHinge<'a>, moment: Vec<Lanes>) -> Self {
        let zero = vec![Lanes::ZERO; totals.width];
        Self {
            totals,
            ask,
            accepted: zero.clone(),
            direction: zero.clone(),
            point: zero,
            widths: [0.0; 2],
            answer: Vec::new(),
            last: 0,
            used: false,
            expected: None,
            moment,
        }
    }

    fn knows(&self, point: &[Lanes]) -> bool {
        let is_same = |(a, b): (&Lanes, &Lanes)| a.0.iter().zip(b.0).all(|(a, b)| a.to_bits() == b.to_bits());
        !self.answer.is_empty() && self.point.iter().zip(point).all(is_same)
    }

    fn ask(&mut self, point: Vec<Lanes>, width: f64) {
        let expected = self.expected.unwrap_or(FIRST_SHRINK * width);
        self.widths = [width, expected.min(width)];
        self.answer = (self.ask)(&lanes::to_vec(&point, self.totals.dim), self.widths);
        (self.point, self.last, self.used) = (point, 0, false);
    }

    fn alpha_z(&self) -> &[f64] {
        let start = self.last * (HEAD + self.totals.dim) + HEAD;
        &self.answer[start..start + self.totals.dim]
    }
}

impl Rows for RemoteRows<'_> {
    fn totals(&self) -> &Totals {
        &self.totals
    }

    fn set_point(&mut self, w: &[Lanes]) {
        self.accepted = w.to_vec();
    }

    fn set_direction(&mut self, d: &[Lanes]) {
        self.direction = d.to_vec();
    }

    fn accept(&mut self) {
        self.accepted.clone_from(&self.point);
    }

    fn transpose_times(&mut self) -> Vec<Lanes> {
        lanes::from_slice(self.alpha_z())
    }

    fn moment(&mut self, _precision: Precision) -> Vec<Lanes> {
        self.moment.clone()
    }
}

impl HingeRows for RemoteRows<'_> {
    fn pass(&mut self, step: f64, width: f64) -> PassSums {
        let mut point = self.accepted.clone();
        if step.abs() > 0.0 {
            lanes::axpy(step, &self.direction, &mut point);
        }
        let known = self.widths.iter().position(|known| known.to_bits() == width.to_bits());
        match known.filter(|_| self.knows(&point)) {
            Some(known) => self.last = known,
            None => self.ask(point, width),
        }
        let products: Vec<f64> = self
            .alpha_z()
            .iter()
            .zip(lanes::to_vec(&self.direction, self.totals.dim))
            .map(|(z, d)| z * d)
            .collect();
        let sums = &self.answer[self.last * (HEAD + self.totals.dim)..];
        PassSums {
            loss: sums[0],
            alpha: sums[1],
            g_scores: sums[2],
            g_direction: products.iter().sum(),
            g_direction_size: products.iter().map(|product| product.abs()).sum(),
        }
    }

    /// The Hessian at the accepted point, and about how many pairs are in the zone. A Hessian of the first width serves for
    /// the second one, once.
    fn hessian(&mut self, width: f64, _precision: Precision) -> (Vec<Lanes>, u64) {
        let near = self.widths.iter().any(|known| known.to_bits() == width.to_bits());
        if self.used || !near || !self.knows(&self.accepted) {
            self.ask(self.accepted.clone(), width);
        }
        self.used = true;
        let pairs = hinge_sums_pairs(self.totals.dim);
        let zone_pairs = self.answer[pairs] * (width / self.widths[0]);
        (matrix_of(&self.answer[pairs + 1..], self.totals.dim), zone_pairs as u64)
    }

    fn expect_width(&mut self, width: f64) {
        self.expected = Some(width);
    }

    fn near_width(&self, width: f64) -> f64 {
        let known = self.widths[1];
        if self.knows(&self.accepted) && NEAR.contains(&(known / width)) { known } else { width }
    }
}
