//! Score space of a problem whose rows are elsewhere: each new point is a question.
//!
//! The answer has everything that a step needs: sums of a pass, X'g and the Hessian. Nothing is stored per pair, so there
//! are no multipliers.

use super::chunk::Sums;
use super::hinge::Hinge;
use super::space::Space;
use super::state::{State, run};
use crate::control::Control;
use crate::error::Result;
use crate::math::lanes::{self, Lanes};
use crate::solve::pair::PairProblem;
use crate::solve::{Solution, StopRule};

/// Width of the zone in the question about w = 0: all pairs are inside, with p = 3/4.
const ORIGIN_WIDTH: f64 = 4.0;
const ORIGIN_P: f64 = 0.75;
/// Numbers of an answer before the vectors.
const HEAD: usize = 4;

/// The hinge, smoothed with a width, at a point: loss, sum of alpha, g's, pairs in the zone, X'g, and the entries of the
/// Hessian on and above the diagonal.
pub fn hinge_sums(problem: &PairProblem<'_>, w: &[f64], width: f64, control: &Control) -> Vec<f64> {
    let mut space = Space::new(problem, control);
    space.set_point(&lanes::from_slice(w));
    let Sums { loss, alpha, g_scores, .. } = space.pass(0.0, width);
    let alpha_z = lanes::to_vec(&space.transpose_times(), w.len());
    let (hessian, zone_pairs) = space.hessian(width);
    let row = |i: usize| {
        let hessian = &hessian;
        (i..w.len()).map(move |j| lanes::get(&hessian[i * lanes::blocks_for(w.len())..], j))
    };
    let head = [loss, alpha, g_scores, zone_pairs as f64];
    head.into_iter().chain(alpha_z).chain((0..w.len()).flat_map(row)).collect()
}

/// Number of numbers of [`hinge_sums`].
pub fn hinge_sums_len(dim: usize) -> usize {
    HEAD + dim + dim * (dim + 1) / 2
}

/// Sums of the hinge at a point (first argument) with a width.
pub type AskHinge<'a> = &'a dyn Fn(&[f64], f64) -> Vec<f64>;

/// The sums that are needed before the first step of any lambda.
pub fn hinge_origin(dim: usize, ask: AskHinge<'_>) -> Vec<f64> {
    ask(&vec![0.0; dim], ORIGIN_WIDTH)
}

/// Solves for one lambda. `origin`: the answer to [`hinge_origin`].
///
/// # Errors
/// A lambda out of range.
pub fn solve_hinge(
    (origin, pairs): (&[f64], u64),
    (lambda, start): (f64, Option<&[f64]>),
    rule: &StopRule,
    control: &Control,
    (dim, ask): (usize, AskHinge<'_>),
) -> Result<Solution> {
    let problem = PairProblem::new(dim, Vec::new(), lambda)?;
    let asked = Asked::new(dim, ask);
    let (total_weight, alpha_z, hessian) = (origin[0], &origin[HEAD..HEAD + dim], asked.hessian(origin));
    let pair_sum = lanes::scaled(&lanes::from_slice(alpha_z), 1.0 / ORIGIN_P);
    let moment = lanes::scaled(&hessian, ORIGIN_WIDTH);
    let space = Space::asked(Asked { moment, ..asked }, (total_weight, pairs, pair_sum), control);
    let mut state = State::in_space(&problem, *rule, space, control);
    state.start = start.map(lanes::from_slice);
    Ok(run(&mut Hinge::new(state), lambda))
}

/// The rows as answers.
pub(super) struct Asked<'a> {
    dim: usize,
    ask: AskHinge<'a>,
    accepted: Vec<Lanes>,
    direction: Vec<Lanes>,
    /// The last point and width with their answer.
    point: Vec<Lanes>,
    width: f64,
    answer: Vec<f64>,
    /// Sum of c z z'.
    pub moment: Vec<Lanes>,
}

impl<'a> Asked<'a> {
    fn new(dim: usize, ask: AskHinge<'a>) -> Self {
        let zero = vec![Lanes::ZERO; lanes::blocks_for(dim)];
        Self {
            dim,
            ask,
            accepted: zero.clone(),
            direction: zero.clone(),
            point: zero,
            width: 0.0,
            answer: Vec::new(),
            moment: Vec::new(),
        }
    }

    pub fn dim(&self) -> usize {
        self.dim
    }

    pub fn set_point(&mut self, w: &[Lanes]) {
        self.accepted = w.to_vec();
    }

    pub fn set_direction(&mut self, d: &[Lanes]) {
        self.direction = d.to_vec();
    }

    pub fn accept(&mut self) {
        self.accepted.clone_from(&self.point);
    }

    /// Asks about a point, unless it was the last one.
    fn move_to(&mut self, point: Vec<Lanes>, width: f64) {
        let is_same = |(a, b): (&Lanes, &Lanes)| a.0.iter().zip(b.0).all(|(a, b)| a.to_bits() == b.to_bits());
        let known = !self.answer.is_empty()
            && self.width.to_bits() == width.to_bits()
            && self.point.iter().zip(&point).all(is_same);
        if !known {
            self.answer = (self.ask)(&lanes::to_vec(&point, self.dim), width);
        }
        (self.point, self.width) = (point, width);
    }

    pub fn pass(&mut self, step: f64, width: f64) -> Sums {
        let mut point = self.accepted.clone();
        if step.abs() > 0.0 {
            lanes::axpy(step, &self.direction, &mut point);
        }
        self.move_to(point, width);
        let products: Vec<f64> =
            self.alpha_z().iter().zip(lanes::to_vec(&self.direction, self.dim)).map(|(z, d)| z * d).collect();
        Sums {
            loss: self.answer[0],
            alpha: self.answer[1],
            g_scores: self.answer[2],
            g_direction: products.iter().sum(),
            g_direction_size: products.iter().map(|product| product.abs()).sum(),
        }
    }

    fn alpha_z(&self) -> &[f64] {
        &self.answer[HEAD..HEAD + self.dim]
    }

    /// X'g of the last pass.
    pub fn transpose_times(&self) -> Vec<Lanes> {
        lanes::from_slice(self.alpha_z())
    }

    /// The Hessian in an answer, blocks on and above the diagonal.
    fn hessian(&self, answer: &[f64]) -> Vec<Lanes> {
        let width = lanes::blocks_for(self.dim);
        let mut matrix = vec![Lanes::ZERO; width * lanes::LANES * width];
        let mut entries = answer[HEAD + self.dim..].iter();
        for i in 0..self.dim {
            for j in i..self.dim {
                *lanes::get_mut(&mut matrix[i * width..], j) = entries.next().copied().unwrap_or_default();
            }
        }
        matrix
    }

    /// The Hessian at the accepted point, and the number of pairs in the zone.
    pub fn hessian_at(&mut self, width: f64) -> (Vec<Lanes>, u64) {
        self.move_to(self.accepted.clone(), width);
        (self.hessian(&self.answer), self.answer[3] as u64)
    }
}
