//! Shapley values (Shapley 1953): a player's mean marginal contribution over all orders of players.
//!
//! Up to [`MOST_ENUMERATED`] players all coalitions are evaluated, and the values are exact. Otherwise orders are drawn at random,
//! each with its reverse (Castro, Gomez and Tejada 2009; Strumbelj and Kononenko 2014; antithetic pairs as in Mitchell, Cooper,
//! Frank and Holmes 2022). Sums run in a fixed order, so a seed gives the same bits on any number of threads.

#[cfg(test)]
mod tests;

use std::ops::Range;

use super::Contribution;
use super::explanation::MOST_ENUMERATED;
use crate::base::{Control, Result, Ticks, parallel};
use crate::data::{Documents, Matrix, shaped};
use crate::learn::kernel::Replacements;
use crate::learn::space::{Opponents, Scorer, Space, WeightsOf};
use crate::math::Random;
use crate::model::Model;

/// Largest number of batches of sampled orders. It does not depend on the number of threads, so sums do not either.
const MOST_BATCHES: usize = 128;

/// Numbers in a chunk of coalitions that are evaluated together.
const CHUNK: usize = 1 << 14;

/// A cooperative game: the value of each coalition.
pub(super) trait Game: Sync {
    /// Number of players, n.
    fn players(&self) -> usize;

    /// Numbers in memory per evaluated coalition.
    fn numbers(&self) -> usize;

    /// The values of some coalitions. `members`: whether each player is a member, shape `(coalitions, n)`, row-major.
    fn values(&self, members: &[bool], control: &Control) -> Result<Vec<f64>>;
}

/// How to estimate Shapley values if there are too many players for exact values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampling {
    /// Number of random orders, each paired with its reverse; at least 2.
    pub pairs: usize,
    /// Seed of the random orders.
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { pairs: 200, seed: 0 }
    }
}

/// Each player's Shapley value. They add up to the value of all players minus the value of no players.
///
/// # Errors
/// Errors of the game; an interrupt; too much memory.
pub(super) fn values(game: &dyn Game, sampling: Sampling, control: &Control) -> Result<Vec<Contribution>> {
    match game.players() {
        0 => Ok(Vec::new()),
        n if n <= MOST_ENUMERATED => enumerated(game, control),
        _ => sampled(game, sampling, control),
    }
}

/// Coalitions in a chunk.
fn together(game: &dyn Game) -> usize {
    (CHUNK / game.numbers().max(1)).clamp(4, 1024)
}

/// Exact values: v of all 2^n coalitions.
pub(super) fn enumerated(game: &dyn Game, control: &Control) -> Result<Vec<Contribution>> {
    let n = game.players();
    let (coalitions, together) = (1_usize << n, together(game));
    // 1. The values. Player i is in coalition c if bit i of c is set.
    let chunk = |number: usize| {
        let chunk = number * together..((number + 1) * together).min(coalitions);
        let members: Vec<bool> = chunk.flat_map(|c| (0..n).map(move |player| c >> player & 1 == 1)).collect();
        game.values(&members, control)
    };
    let v = parallel::try_map(coalitions.div_ceil(together), chunk)?.concat();
    // 2. The weight of a coalition of s others: s! (n - 1 - s)! / n!, as 1 / (n C(n - 1, s)).
    let mut weights = vec![1.0 / n as f64; n];
    for s in 1..n {
        weights[s] = weights[s - 1] * s as f64 / (n - s) as f64;
    }
    // 3. Marginal contributions.
    let mut ticks = Ticks::default();
    let mut value = |player: usize| {
        let without = (0..coalitions).filter(|c| c >> player & 1 == 0);
        let adds = without.map(|c| {
            ticks.add(4);
            weights[c.count_ones() as usize] * (v[c | 1 << player] - v[c])
        });
        Contribution { value: adds.sum(), standard_error: 0.0 }
    };
    Ok((0..n).map(&mut value).collect())
}

/// Means over random orders and their reverses.
pub(super) fn sampled(game: &dyn Game, sampling: Sampling, control: &Control) -> Result<Vec<Contribution>> {
    let (n, pairs) = (game.players(), sampling.pairs.max(2));
    let each = pairs.div_ceil(MOST_BATCHES);
    let batches = pairs.div_ceil(each);
    // 1. Marginal contributions, averaged over an order and its reverse: moments over each batch of pairs.
    let ends: Vec<bool> = [false, true].into_iter().flat_map(|is_member| vec![is_member; n]).collect();
    let ends = game.values(&ends, control)?;
    let mut random = Random::new(sampling.seed);
    let seeds: Vec<u64> = (0..batches).map(|_| random.bits()).collect();
    control.expect(batches);
    let batch_moments = parallel::try_map(batches, |batch| {
        let mut random = Random::new(seeds[batch]);
        let mut order: Vec<usize> = (0..n).collect();
        let mut moments = vec![Moments::default(); n];
        for _ in 0..each.min(pairs - batch * each) {
            random.shuffle(&mut order);
            let mut added = vec![0.0; n];
            for _ in 0..2 {
                add_along(game, &order, [ends[0], ends[1]], &mut added, control)?;
                order.reverse();
            }
            let values = added.into_iter().map(|value| Moments { count: 1.0, mean: value, squares: 0.0 });
            moments.iter_mut().zip(values).for_each(|(moments, value)| moments.add(value));
        }
        control.step();
        Ok(moments)
    })?;
    // 2. Means over all pairs and their standard errors.
    let mut totals = vec![Moments::default(); n];
    for batch in batch_moments {
        totals.iter_mut().zip(batch).for_each(|(total, batch)| total.add(batch));
    }
    let estimate = |Moments { count, mean, squares }: Moments| Contribution {
        value: mean,
        standard_error: (squares / (count * (count - 1.0))).sqrt(),
    };
    Ok(totals.into_iter().map(estimate).collect())
}

/// Number, mean and sum of squared deviations of some values.
#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    /// Adds further values (Chan, Golub and LeVeque 1979).
    fn add(&mut self, other: Self) {
        let count = self.count + other.count;
        let (change, fraction) = (other.mean - self.mean, other.count / count);
        self.squares += other.squares + change * change * self.count * fraction;
        self.mean += change * fraction;
        self.count = count;
    }
}

/// Adds half of each player's marginal contribution in one order. `ends`: the values of no and of all players.
fn add_along(
    game: &dyn Game,
    order: &[usize],
    ends: [f64; 2],
    added: &mut [f64],
    control: &Control,
) -> Result<()> {
    let (n, together) = (order.len(), together(game));
    let mut current = vec![false; n];
    let mut before = ends[0];
    for chunk in order.chunks(together) {
        control.check()?;
        let mut members = Vec::with_capacity(chunk.len() * n);
        for &player in chunk {
            current[player] = true;
            members.extend_from_slice(&current);
        }
        let values = game.values(&members, control)?;
        for (&player, value) in chunk.iter().zip(values) {
            added[player] += 0.5 * (value - before);
            before = value;
        }
    }
    Ok(())
}

// The game of a score: features in the coalition come from the document, all others from the base.

/// A summand of the score, with the document and the base in the summand's scaled features.
pub(super) struct Part<'a> {
    space: &'a Space,
    weights: &'a [f64],
    query: Opponents,
    document: Vec<f64>,
    base: Vec<f64>,
}

/// A score that is a sum of parts.
pub(super) struct Parts<'a> {
    /// Number of features.
    n: usize,
    parts: Vec<Part<'a>>,
}

impl<'a> Parts<'a> {
    /// `scorer`, with a function's weights: the model's, or a query's trees. `rows`: the documents of a query
    /// and the base, before scaling. `explained`: the row of a document.
    pub(super) fn new(
        model: &Model,
        scorer: &'a dyn Scorer,
        weights: &'a [f64],
        rows: &Matrix,
        explained: usize,
        control: &Control,
    ) -> Result<Self> {
        let count = rows.rows();
        let scaled = model.scaling.matrix(rows.clone(), &[0, count], control)?;
        let mut parts = Vec::new();
        for summand in scorer.summands(weights) {
            let scaled = match summand.scaling {
                None => scaled.clone(),
                Some(scaling) => scaling.matrix(scaled.clone(), &[0, count], control)?,
            };
            let (document, base) = (scaled.row_f64(explained), scaled.row_f64(count - 1));
            let (space, weights) = (summand.space, summand.weights);
            let documents_of_query = Documents { features: &scaled, start: 0, end: count - 1 };
            let query = space.query(&documents_of_query, weights, control)?;
            parts.push(Part { space, weights, query, document, base });
        }
        Ok(Self { n: rows.columns(), parts })
    }

    /// The columns, ranges of features, that differ between the base and the document.
    pub(super) fn differing(&self, columns: &[Range<usize>]) -> Vec<usize> {
        let differs = |feature: usize| self.parts.iter().any(|part| part.differs(self.n, feature));
        (0..columns.len()).filter(|column| columns[*column].clone().any(differs)).collect()
    }

    /// The score of the base.
    pub(super) fn base(&self, control: &Control) -> Result<f64> {
        let mut sum = 0.0;
        for part in &self.parts {
            sum += part.scores(part.base.clone(), control)?.iter().sum::<f64>();
        }
        Ok(sum)
    }

    /// Each feature's contribution to the exact parts: linear functions and trees.
    pub(super) fn exact(&self) -> Vec<f64> {
        let mut added = vec![0.0; self.n];
        for part in &self.parts {
            match part.space.weights_of() {
                WeightsOf::Features => part.add_linear(&mut added),
                WeightsOf::Leaves(forest) => {
                    let contributions =
                        forest.contributions(part.weights, &part.document, &part.base, self.n);
                    added
                        .iter_mut()
                        .zip(contributions)
                        .for_each(|(added, contributions)| *added += contributions);
                }
                WeightsOf::Documents(_) | WeightsOf::Pairs => {}
            }
        }
        added
    }

    /// The other parts, as a game of these ranges of features.
    pub(super) fn game<'b>(&'b self, players: &'b [Range<usize>]) -> Option<FeatureGame<'b>> {
        let columns = |features: &Range<usize>, part: &Part<'_>| -> Vec<usize> {
            features.clone().flat_map(|feature| (feature..part.base.len()).step_by(self.n)).collect()
        };
        let other = |part: &'b Part<'a>| match part.space.weights_of() {
            WeightsOf::Features | WeightsOf::Leaves(_) => None,
            WeightsOf::Pairs => Some((part, None)),
            WeightsOf::Documents(basis) => {
                let groups = players.iter().map(|features| columns(features, part));
                Some((part, basis.replacements(part.weights, [&part.base, &part.document], groups)))
            }
        };
        let parts: Vec<_> = self.parts.iter().filter_map(other).collect();
        (!parts.is_empty()).then_some(FeatureGame { n: self.n, parts, players })
    }
}

impl Part<'_> {
    /// Scores of documents with these scaled features, row-major, each in place of the query's document.
    fn scores(&self, rows: Vec<f64>, control: &Control) -> Result<Vec<f64>> {
        let width = self.base.len();
        let rows = Matrix::F64(shaped(rows.len() / width.max(1), width, rows));
        self.space.scores_in(&self.query, &rows, self.weights, control)
    }

    /// Adds each feature's contribution to a linear function.
    fn add_linear(&self, added: &mut [f64]) {
        let n = added.len();
        for (column, (x, base)) in self.document.iter().zip(&self.base).enumerate() {
            // Equal values contribute nothing, whatever their size.
            if x.to_bits() != base.to_bits() {
                added[column % n] += self.weights[column] * (x - base);
            }
        }
    }

    fn differs(&self, n: usize, feature: usize) -> bool {
        let differs = |column: usize| self.document[column].to_bits() != self.base[column].to_bits();
        (feature..self.base.len()).step_by(n).any(differs)
    }
}

/// Features as players.
pub(super) struct FeatureGame<'a> {
    n: usize,
    /// Parts, and kernels that are products over features.
    parts: Vec<(&'a Part<'a>, Option<Replacements>)>,
    players: &'a [Range<usize>],
}

impl Game for FeatureGame<'_> {
    fn players(&self) -> usize {
        self.players.len()
    }

    fn numbers(&self) -> usize {
        let evaluated = self.parts.iter().filter(|(_, replacements)| replacements.is_none());
        evaluated.map(|(part, _)| part.base.len() + part.space.dim()).max().unwrap_or(0)
    }

    fn values(&self, members: &[bool], control: &Control) -> Result<Vec<f64>> {
        let coalitions = members.chunks_exact(self.players.len());
        let mut values = vec![0.0; coalitions.len()];
        for (part, replacements) in &self.parts {
            if let Some(replacements) = replacements {
                let differences = replacements.values(members);
                values.iter_mut().zip(differences).for_each(|(value, difference)| *value += difference);
                continue;
            }
            let mut rows = Vec::with_capacity(values.len() * part.base.len());
            for members in coalitions.clone() {
                let start = rows.len();
                rows.extend_from_slice(&part.base);
                let joined = self.players.iter().zip(members).filter(|(_, is_member)| **is_member);
                for feature in joined.flat_map(|(features, _)| features.clone()) {
                    for column in (feature..part.base.len()).step_by(self.n) {
                        rows[start + column] = part.document[column];
                    }
                }
            }
            let scores = part.scores(rows, control)?;
            values.iter_mut().zip(scores).for_each(|(value, score)| *value += score);
        }
        Ok(values)
    }
}
