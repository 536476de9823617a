//! The dynamic Bayesian network: estimates by passes over the log.
//!
//! The first row of an impression is examined. An examined row has a click with the probability alpha of its pair. A click
//! satisfies with the probability s of its pair, and then no further row is examined. Otherwise the next row is examined with
//! the probability p. So the rows down to the last click are examined. With l the row of the last click, b the first row
//! below it (the first row of all without a click), and n the last row:
//! * f_b = p (1 - s_l), or 1 without a click; f_r = p (1 - alpha_(r - 1)) f_(r - 1): row r is examined and no row from b to
//!   r - 1 has a click
//! * d_r = (1 - p) (1 - alpha_r) f_r, without 1 - p for r = n: row r is the last one examined, and has no click either
//! * t = s_l + (1 - p) (1 - s_l) + d_b + ... + d_n: the probability that no row from b has a click
//! * (d_r + ... + d_n) / t: the probability that row r was examined, given the clicks
//!
//! The estimates maximize the likelihood with a prior as strong as that of `estimate`: of alpha with the same mean, of s and p
//! with the mean 1/2. One pass of expectation maximization (Chuklin, Markov & de Rijke 2015, section 4.2) takes the expected
//! numbers of examined rows, of satisfying clicks, and of users who continue. A click on the last row tells nothing about s.
//! Only sums by pair are kept, so memory does not grow with rows.

use super::counts::{Counted, Finder, TakesImpressions, is_held_out};
use super::estimate::{Estimate, PRIOR, Passes, Point, prior_information, within};
use super::information::Information;
use super::{Fitted, Shown};
use crate::base::{Memory, Reservation, Result, Ticks, bytes_of};
use crate::data::Id;

/// Largest number of passes of expectation maximization.
pub const MOST_PASSES: usize = 60;
/// Largest change of an estimate in the last pass.
const TOLERANCE: f64 = 1e-4;
/// Mean of the prior of s and p.
const HALF: f64 = 0.5;
/// Where the estimate of p begins.
const FIRST_PERSEVERANCE: f64 = 0.9;
/// Vectors of the length of a point that are in use at once.
const VECTORS: usize = 10;

/// Reads the log, ordered by impression and position.
pub type Read<'a> = dyn FnMut(&mut dyn TakesImpressions) -> Result<()> + 'a;

/// The estimates of a network, while they improve.
pub struct Network<'a> {
    counted: &'a Counted,
    /// Of all impressions, or without those that are held out.
    all: bool,
    start: Fitted,
    /// Alpha and s of each pair, then p.
    point: Point,
    information: Information,
    _memory: Reservation,
}

impl<'a> Network<'a> {
    /// Begins with estimates from counts. `all`: whether the counts are of all impressions.
    ///
    /// # Errors
    /// More memory than is allowed.
    pub fn new(counted: &'a Counted, start: Fitted, all: bool, memory: &Memory) -> Result<Self> {
        let pairs = counted.pairs.len();
        let bytes =
            bytes_of::<f64>(2 * pairs + 1).saturating_mul(VECTORS as u64) + Information::bytes(counted);
        let what = format_args!("estimating {pairs} pairs of query and document");
        let memory = memory.reserve(bytes, what, "read fewer queries at a time")?;
        let mut point: Point =
            start.alpha.iter().zip(&start.satisfaction).flat_map(|(alpha, s)| [alpha.value, *s]).collect();
        point.push(FIRST_PERSEVERANCE);
        Ok(Self { counted, all, start, point, information: Information::new(counted), _memory: memory })
    }

    /// Reads the log until no estimate changes by more than 1e-4 in a pass, at most 60 times, and once more for the errors.
    /// Returns how many times it was read.
    ///
    /// # Errors
    /// Errors of `read`.
    pub fn read(&mut self, read: &mut Read<'_>) -> Result<usize> {
        let (counted, all, mean) = (self.counted, self.all, self.start.mean);
        let passes = Passes { most: MOST_PASSES, tolerance: TOLERANCE, fixed: None };
        let start = std::mem::take(&mut self.point);
        let (point, count) = passes.maximum(start, &mut |point| {
            let mut pass = Pass::new(counted, all, point, None);
            read(&mut pass)?;
            Ok(pass.maximized(mean))
        })?;
        let mut pass = Pass::new(counted, all, &point, Some(&mut self.information));
        read(&mut pass)?;
        self.start.examined = pass.sums.chunks_exact(2).map(|sums| sums[0][1]).collect();
        // By the weights of clicks, with the same expected numbers of examined rows.
        let prior = PRIOR * mean * counted.mean_weight();
        let weighted = |((weight, examined), pair): ((f64, &f64), &[f64])| {
            (weight + prior) / (examined + PRIOR) * pair[1]
        };
        let pairs = counted.weights().zip(&self.start.examined).zip(point.chunks_exact(2));
        self.start.weighted = pairs.map(weighted).collect();
        self.point = point;
        Ok(count + 1)
    }

    /// The estimates with their errors.
    pub fn finish(self) -> Fitted {
        let mean = self.start.mean;
        let count = self.point.len();
        let prior =
            |(index, value): (usize, &f64)| prior_information(PRIOR, prior_mean(index, count, mean), *value);
        let priors: Vec<f64> = self.point.iter().enumerate().map(prior).collect();
        let covariances = self.information.inverse(&priors);
        let mut fitted = self.start;
        fitted.perseverance = self.point[2 * self.counted.pairs.len()];
        for (pair, [of_alpha, of_both, of_s]) in covariances.into_iter().enumerate() {
            let estimate = |index: usize, variance: f64| Estimate {
                value: self.point[index],
                error: libm::sqrt(variance.max(0.0)),
            };
            let (alpha, s) = (estimate(2 * pair, of_alpha), estimate(2 * pair + 1, of_s));
            fitted.alpha[pair] = alpha;
            fitted.satisfaction[pair] = s.value;
            fitted.relevance[pair] = alpha.times(s, of_both);
        }
        fitted
    }
}

/// Mean of the prior of a number of a point; `mean`: of alpha.
fn prior_mean(index: usize, count: usize, mean: f64) -> f64 {
    if index + 1 < count && index.is_multiple_of(2) { mean } else { HALF }
}

/// One pass over the log.
pub(super) struct Pass<'a> {
    finder: Finder<'a>,
    all: bool,
    point: &'a [f64],
    /// By number of the point: expected successes and trials.
    sums: Vec<[f64; 2]>,
    log_likelihood: f64,
    information: Option<&'a mut Information>,
    /// Of the rows of an impression: the probability that a row was examined.
    examined: Vec<f64>,
    /// Slopes of the log-likelihood of an impression by number of the point.
    slopes: Vec<(u32, f64)>,
}

impl<'a> Pass<'a> {
    /// No impression yet.
    pub fn new(
        counted: &'a Counted,
        all: bool,
        point: &'a [f64],
        information: Option<&'a mut Information>,
    ) -> Self {
        Self {
            finder: Finder::new(counted),
            all,
            point,
            sums: vec![[0.0; 2]; point.len()],
            log_likelihood: 0.0,
            information,
            examined: Vec::new(),
            slopes: Vec::new(),
        }
    }

    /// The next point, and the log-likelihood of this one with its prior.
    pub fn maximized(self, mean: f64) -> (Point, f64) {
        let (mut value, mut ticks) = (self.log_likelihood, Ticks::default());
        let count = self.sums.len();
        let mut next = |(index, [part, all]): (usize, &[f64; 2])| {
            ticks.add(64);
            let (now, prior) = (self.point[index], PRIOR * prior_mean(index, count, mean));
            value += prior * libm::log(now) + (PRIOR - prior) * libm::log(1.0 - now);
            within((part + prior) / (all + PRIOR))
        };
        (self.sums.iter().enumerate().map(&mut next).collect(), value)
    }

    fn add(&mut self, index: usize, successes: f64, trials: f64) {
        let [part, all] = &mut self.sums[index];
        (*part, *all) = (*part + successes, *all + trials);
    }

    /// The rows down to the last click.
    fn head(&mut self, rows: &[Shown], last: usize) {
        let mut probability = 1.0;
        for (index, row) in rows[..=last].iter().enumerate() {
            let of_alpha = 2 * row.pair as usize;
            let (alpha, s) = (self.point[of_alpha], self.point[of_alpha + 1]);
            self.add(of_alpha, f64::from(u8::from(row.clicked)), 1.0);
            probability *= if row.clicked { alpha } else { 1.0 - alpha };
            if index < last {
                probability *= self.perseverance();
                if row.clicked {
                    self.add(of_alpha + 1, 0.0, 1.0);
                    probability *= 1.0 - s;
                }
            }
            // Before a long list makes it too small for a float.
            if index % 16 == 15 {
                self.log_likelihood += libm::log(probability);
                probability = 1.0;
            }
        }
        self.log_likelihood += libm::log(probability);
    }

    /// The rows below the last click.
    fn tail(&mut self, rows: &[Shown], last: Option<usize>) -> Tail {
        let first = last.map_or(0, |last| last + 1);
        self.examined.clear();
        self.examined.resize(first, 1.0);
        if first == rows.len() {
            return Tail::default();
        }
        // 1. The user stops at the last click.
        let p = self.perseverance();
        let s = last.map_or(0.0, |last| self.point[2 * rows[last].pair as usize + 1]);
        let (mut reached, mut total, mut stopped) = (1.0, 0.0, 0.0);
        if last.is_some() {
            (reached, total, stopped) = (p * (1.0 - s), s + (1.0 - p) * (1.0 - s), 1.0 - s);
        }
        // 2. Or at a row below.
        for (index, row) in rows.iter().enumerate().skip(first) {
            let no_click = reached * (1.0 - self.point[2 * row.pair as usize]);
            let is_end = index + 1 == rows.len();
            let ends = if is_end { no_click } else { (1.0 - p) * no_click };
            self.examined.push(ends);
            stopped += if is_end { 0.0 } else { no_click };
            total += ends;
            reached = p * no_click;
        }
        // 3. What that tells about them.
        let mut sum = 0.0;
        for (index, row) in rows.iter().enumerate().skip(first).rev() {
            sum += self.examined[index];
            self.examined[index] = sum / total;
            self.add(2 * row.pair as usize, 0.0, sum / total);
        }
        if let Some(last) = last {
            self.add(2 * rows[last].pair as usize + 1, s / total, 1.0);
        }
        self.log_likelihood += libm::log(total);
        Tail { satisfied: s / total, stopped: stopped / total }
    }

    /// Slopes of the log-likelihood of an impression in alpha and s.
    fn find_slopes(&mut self, rows: &[Shown], last: Option<usize>, tail: &Tail) {
        self.slopes.clear();
        for (index, row) in rows.iter().enumerate() {
            let of_alpha = 2 * row.pair;
            let (alpha, s) = (self.point[of_alpha as usize], self.point[of_alpha as usize + 1]);
            let slope = if row.clicked { 1.0 / alpha } else { -self.examined[index] / (1.0 - alpha) };
            self.slopes.push((of_alpha, slope));
            if row.clicked && index + 1 < rows.len() {
                let satisfied = if last == Some(index) { tail.satisfied } else { 0.0 };
                self.slopes.push((of_alpha + 1, (satisfied - s) / (s * (1.0 - s))));
            }
        }
    }

    fn perseverance(&self) -> f64 {
        self.point[self.point.len() - 1]
    }
}

/// What the rows below the last click tell.
#[derive(Debug, Default)]
struct Tail {
    /// The probability that the last click satisfied.
    satisfied: f64,
    /// The expected number of users who were not satisfied and did not continue, divided by 1 - p.
    stopped: f64,
}

impl TakesImpressions for Pass<'_> {
    fn takes(&self, id: &Id) -> bool {
        self.all || !is_held_out(id)
    }

    fn pair(&mut self, query: Id, doc: Id) -> Result<u32> {
        self.finder.pair(query, &doc)
    }

    fn impression(&mut self, _: &Id, rows: &[Shown]) -> Result<()> {
        let last = rows.iter().rposition(|row| row.clicked);
        if let Some(last) = last {
            self.head(rows, last);
        }
        let tail = self.tail(rows, last);
        let (p, continued) = (self.perseverance(), self.examined[1..].iter().sum::<f64>());
        self.add(self.point.len() - 1, continued, continued + (1.0 - p) * tail.stopped);
        if self.information.is_some() {
            self.find_slopes(rows, last, &tail);
        }
        if let Some(information) = &mut self.information {
            information.add(&self.slopes, continued / p - tail.stopped);
        }
        Ok(())
    }
}
