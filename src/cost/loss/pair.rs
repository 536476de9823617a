//! Pairwise losses: a sum over pairs of documents of one query,
//!
//!   L(y, s) = 2 / (N (N - 1)) sum over pairs with y_j > y_l of value(s_j - s_l)
//!
//! with N documents. Pairs with equal labels are not counted. Each loss (psi, hinge, squared hinge, logistic) has the value
//! and slope of one pair. The sums over all pairs of a query take O(n log n) where the loss allows it. The option
//! `pair_weights` gives each pair a factor by its grades ([`PairWeights`]).

use super::def::{LossKind, PairDef, PairLoss};
use crate::base::{Ticks, checkpoint, named};
use crate::cost::loss::{LossDef, Shape};
use crate::math::splits::Item;
use crate::math::{MERGE_COST, compare, descending, pairs, sort_ascending, splits, tied_pairs};

/// From this many documents on, sorting is faster than visiting all pairs.
const MANY: usize = 24;

/// Operations, for [`Ticks`], of a pair.
const PAIR_COST: usize = 4;

impl PairLoss {
    pub fn def(self) -> &'static PairDef {
        match self {
            Self::Hinge => &HINGE,
            Self::Psi => &PSI,
            Self::Logistic => &LOGISTIC,
            Self::SquaredHinge => &SQUARED_HINGE,
        }
    }
}

impl PairDef {
    /// The value for one query with these labels (N) and scores (N): `logistic` in O(N^2), the others in O(N log N). Writes
    /// a subgradient with respect to the scores into the last argument (N, overwritten).
    pub fn value_and_subgradient(&self, labels: &[f64], scores: &[f64], subgradient: &mut [f64]) -> f64 {
        subgradient.fill(0.0);
        let sum = match self.def.kind {
            _ if labels.len() < MANY => None,
            LossKind::Pairwise(PairLoss::Logistic) => {
                super::logistic_tiles::value_and_slopes(labels, scores, subgradient)
            }
            LossKind::Pairwise(loss @ (PairLoss::Hinge | PairLoss::SquaredHinge | PairLoss::Psi)) => {
                Some(value_and_subgradient(loss, labels, scores, subgradient))
            }
            LossKind::Listwise(_) => None,
        };
        let sum = sum.unwrap_or_else(|| self.sum_over_pairs(labels, scores, subgradient));
        let weight = pair_normalizer(labels.len());
        subgradient.iter_mut().for_each(|slope| *slope *= weight);
        weight * sum
    }

    /// The sum over all pairs, one after the other. Adds a subgradient to the last argument.
    fn sum_over_pairs(&self, labels: &[f64], scores: &[f64], subgradient: &mut [f64]) -> f64 {
        let (mut value, mut ticks) = (0.0, Ticks::default());
        for j in 0..labels.len() {
            ticks.add(PAIR_COST * labels.len());
            for l in 0..labels.len() {
                if labels[j] > labels[l] {
                    let margin = scores[j] - scores[l];
                    value += (self.value)(margin);
                    let slope = (self.slope)(margin);
                    subgradient[j] += slope;
                    subgradient[l] -= slope;
                }
            }
        }
        value
    }
}

/// 2 / (N (N - 1)), the weight of one pair in the mean over all pairs of N documents; 0 without pairs.
pub fn pair_normalizer(documents: usize) -> f64 {
    let n = documents as f64;
    if documents < 2 { 0.0 } else { 2.0 / (n * (n - 1.0)) }
}

/// The number of pairs of documents with different labels.
pub fn pair_count(labels: &[f64]) -> u64 {
    checkpoint();
    let mut sorted = labels.to_vec();
    sort_ascending(&mut sorted);
    pairs(sorted.len()) - tied_pairs(&sorted, |a, b| compare(*a, *b).is_eq())
}

// Pairwise psi loss (Shen et al. 2003; Dai & Wang 2019, section 2): min(1, max(0, 1 - m)) for a pair of margin m.
//
// It is the hinge with an upper limit of 1, which bounds the influence of outliers. It is not convex:
// psi(m) = max(0, 1 - m) - max(0, -m).

pub const PSI: PairDef = PairDef {
    def: LossDef::pairwise("psi", Shape::Difference, PairLoss::Psi),
    value: |margin| (1.0 - margin).clamp(0.0, 1.0),
    slope: |margin| if (0.0..1.0).contains(&margin) { -1.0 } else { 0.0 },
    steepest: Some(1.0),
};

// Pairwise hinge loss (Herbrich et al. 2000; Dai & Wang 2019, equation 3.7): max(0, 1 - m) for a pair of margin m.

pub const HINGE: PairDef = PairDef {
    def: LossDef::pairwise("hinge", Shape::Convex, PairLoss::Hinge),
    value: |margin| (1.0 - margin).max(0.0),
    slope: |margin| if margin < 1.0 { -1.0 } else { 0.0 },
    steepest: Some(1.0),
};

// Pairwise squared hinge loss (Chapelle & Keerthi 2010): max(0, 1 - m)^2 for a pair of margin m.

pub const SQUARED_HINGE: PairDef = PairDef {
    def: LossDef::pairwise("squared_hinge", Shape::Smooth, PairLoss::SquaredHinge),
    value: |margin| (1.0 - margin).max(0.0) * (1.0 - margin).max(0.0),
    slope: |margin| -2.0 * (1.0 - margin).max(0.0),
    steepest: None,
};

// Weights of pairs: they depend on the grades.

/// How to weight a pair of documents with grades y > y'.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PairWeights {
    /// 1.
    #[default]
    Equal,
    /// y - y'.
    Grade,
    /// The difference of the gains 2^y - 1.
    Gain,
}

named!(PairWeights { Equal = "equal", Grade = "grade", Gain = "gain" });

impl PairWeights {
    /// k and h of a document with this grade: a pair weighs k of its better document minus h of its worse one.
    pub fn levels(self, grade: f64) -> (f64, f64) {
        let level = match self {
            Self::Equal => return (1.0, 0.0),
            Self::Grade => grade,
            Self::Gain => libm::exp2(grade),
        };
        (level, level)
    }

    /// Sum of all pair weights for documents with these labels.
    pub fn total(self, labels: &[f64]) -> f64 {
        if self == Self::Equal {
            return pair_count(labels) as f64;
        }
        let mut sorted = labels.to_vec();
        sort_ascending(&mut sorted);
        // Each document is the better one in pairs with documents before it, the worse one in pairs with documents after it.
        let balance = |place: usize| (2 * place + 1) as f64 - sorted.len() as f64;
        sorted.iter().enumerate().map(|(place, grade)| balance(place) * self.levels(*grade).0).sum()
    }
}

// Pairwise logistic loss (Burges et al. 2005, RankNet): log(1 + exp(-m)) for a pair of margin m.

pub const LOGISTIC: PairDef = PairDef {
    def: LossDef::pairwise("logistic", Shape::Smooth, PairLoss::Logistic),
    value: |margin| (-margin).max(0.0) + libm::log1p(libm::exp(-margin.abs())),
    slope,
    steepest: Some(1.0),
};

/// -1 / (1 + exp(m)), with an exponent that cannot overflow.
fn slope(margin: f64) -> f64 {
    let small = libm::exp(-margin.abs());
    if margin > 0.0 { -small / (1.0 + small) } else { -1.0 / (1.0 + small) }
}

// Sums over all pairs of a query of losses that are polynomials up to a threshold, in O(n log n): [`splits`] gives the pairs
// as ranges of sorted lists, and sums of 1, s and s^2 over a range are all that a document needs.

/// Sums over documents: count, scores and squared scores, minus a center.
#[derive(Debug, Clone, Copy, Default)]
struct ScoreSums {
    count: f64,
    first: f64,
    second: f64,
}

impl ScoreSums {
    fn add(&mut self, score: f64) {
        self.count += 1.0;
        self.first += score;
        self.second += score * score;
    }
}

/// The sum of the loss over all pairs, not for `logistic`. Adds a subgradient to the last argument.
pub fn value_and_subgradient(loss: PairLoss, labels: &[f64], scores: &[f64], slopes: &mut [f64]) -> f64 {
    let order = descending(labels);
    let mut starts = vec![0];
    for grade in order.chunk_by(|a, b| labels[*a] <= labels[*b]) {
        starts.push(starts[starts.len() - 1] + grade.len());
    }
    let mut items: Vec<Item> = order.iter().map(|&document| Item::new(document, scores[document])).collect();
    let mut value = 0.0;
    splits::each_split(&mut items, &starts, &mut |high, low| {
        value += add(loss, high, low, 1.0, 1.0);
        if loss == PairLoss::Psi {
            value += add(loss, high, low, 0.0, -1.0);
        }
    });
    items.iter().for_each(|item| slopes[item.document as usize] += item.sum);
    value
}

/// The sum of `sign` max(0, threshold - (s_j - s_l)), or of its square, for all j of the first and l of the second list. Adds
/// subgradients to the documents.
fn add(loss: PairLoss, high: &mut [Item], low: &mut [Item], threshold: f64, sign: f64) -> f64 {
    let squared = loss == PairLoss::SquaredHinge;
    // Small numbers have small squares and small errors.
    let center = high[high.len() / 2].score;
    let mut ticks = Ticks::default();
    let (mut value, mut from, mut sums) = (0.0, low.len(), ScoreSums::default());
    for better in high.iter_mut().rev() {
        ticks.add(MERGE_COST);
        while from > 0 && better.score - low[from - 1].score < threshold {
            from -= 1;
            sums.add(low[from].score - center);
        }
        let ScoreSums { count, first, second } = sums;
        let lacking = threshold - (better.score - center);
        if squared {
            value += (count * lacking + 2.0 * first) * lacking + second;
            better.sum -= 2.0 * (count * lacking + first);
        } else {
            value += sign * (count * lacking + first);
            better.sum -= sign * count;
        }
    }
    let (mut to, mut sums) = (0, ScoreSums::default());
    for worse in low {
        ticks.add(MERGE_COST);
        while to < high.len() && high[to].score - worse.score < threshold {
            sums.add(high[to].score - center);
            to += 1;
        }
        let ScoreSums { count, first, .. } = sums;
        let gained = threshold + (worse.score - center);
        worse.sum += if squared { 2.0 * (count * gained - first) } else { sign * count };
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::dot;

    const LOSSES: [PairDef; 4] = [HINGE, PSI, LOGISTIC, SQUARED_HINGE];

    /// Labels and two series of scores, all of equal length.
    type Rows = Vec<(u8, f64, f64)>;

    fn columns(rows: &Rows) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let labels = rows.iter().map(|row| f64::from(row.0)).collect();
        (labels, rows.iter().map(|row| row.1).collect(), rows.iter().map(|row| row.2).collect())
    }

    fn rows() -> impl proptest::strategy::Strategy<Value = Rows> {
        proptest::collection::vec((0u8..4, -3.0f64..3.0, -3.0f64..3.0), 0..12)
    }

    proptest::proptest! {
        /// f(b) >= f(a) + g . (b - a): the subgradient inequality of a convex function.
        #[test]
        fn the_subgradient_inequality_holds(rows in rows()) {
            let (labels, a, b) = columns(&rows);
            let mut g = vec![0.0; rows.len()];
            for loss in LOSSES.iter().filter(|loss| loss.def.name != "psi") {
                let at_b = loss.value_and_subgradient(&labels, &b, &mut g);
                let at_a = loss.value_and_subgradient(&labels, &a, &mut g);
                let step: Vec<f64> = b.iter().zip(&a).map(|(x, y)| x - y).collect();
                proptest::prop_assert!(at_b >= at_a + dot(&g, &step) - 1e-12, "{}", loss.def.name);
                let length: f64 = g.iter().map(|g| g.abs()).sum();
                let most = 2.0 * pair_normalizer(rows.len()) * PairWeights::Equal.total(&labels);
                let bound = loss.steepest.map_or(f64::INFINITY, |steepest| steepest * most);
                proptest::prop_assert!(length <= bound + 1e-12, "{}: {length}, {bound}", loss.def.name);
            }
        }

        /// The slope equals central differences, away from kinks.
        #[test]
        fn a_slope_matches_finite_differences(margin in -40.0f64..40.0) {
            let h = 1e-5;
            let smooth = (margin - 1.0).abs() > 2.0 * h && margin.abs() > 2.0 * h;
            for loss in LOSSES.iter().filter(|_| smooth) {
                let difference = ((loss.value)(margin + h) - (loss.value)(margin - h)) / (2.0 * h);
                let error = (difference - (loss.slope)(margin)).abs();
                proptest::prop_assert!(error < 1e-8 * (1.0 + margin.abs()), "{}: {error}", loss.def.name);
            }
        }

        #[test]
        fn psi_is_a_difference_of_convex_functions(margin in -5.0f64..5.0) {
            let difference = (HINGE.value)(margin) - (-margin).max(0.0);
            proptest::prop_assert!(((PSI.value)(margin) - difference).abs() < 1e-15);
        }
    }

    /// Values and subgradients of many documents equal the sums over the pairs, one after the other.
    #[test]
    fn sums_of_many_documents_are_those_over_pairs() {
        let mut random = crate::math::random::Random::new(2);
        for (n, grades, scale) in [
            (24, 2, 1.0),
            (25, 25, 0.3),
            (100, 5, 2.0),
            (331, 331, 1.0),
            (64, 1, 1.0),
            (77, 3, 90.0),
            (90, 5, 160.0),
            (50, 4, 1e4),
        ] {
            let labels: Vec<f64> = (0..n).map(|_| random.below(grades) as f64).collect();
            // Ties, and margins of exactly 0 and 1.
            let scores: Vec<f64> = (0..n).map(|_| scale * (random.below(60) as f64 - 30.0) / 8.0).collect();
            for loss in &LOSSES {
                let (mut found, mut expected) = (vec![0.0; n], vec![0.0; n]);
                let value = loss.value_and_subgradient(&labels, &scores, &mut found);
                let weight = pair_normalizer(n);
                let sum = weight * loss.sum_over_pairs(&labels, &scores, &mut expected);
                let name = loss.def.name;
                assert!((value - sum).abs() <= 1e-12 * (1.0 + sum.abs()), "{name} {n}: {value} {sum}");
                for (found, expected) in found.iter().zip(&expected) {
                    let expected = weight * expected;
                    assert!(
                        (found - expected).abs() <= 1e-12 * (1.0 + expected.abs()),
                        "{name} {n}: {found} {expected}"
                    );
                }
            }
        }
    }

    /// Three documents, by hand: the pairs (a, b), (a, c) with margins 0.5 and -1; b and c are equal.
    #[test]
    fn values_by_hand() {
        let (labels, scores) = ([1.0, 0.0, 0.0], [0.0, -0.5, 1.0]);
        let value = |loss: &PairDef| loss.value_and_subgradient(&labels, &scores, &mut [0.0; 3]);
        assert!((value(&HINGE) - 2.5 / 3.0).abs() < 1e-15);
        assert!((value(&PSI) - 1.5 / 3.0).abs() < 1e-15);
        assert!((value(&SQUARED_HINGE) - 4.25 / 3.0).abs() < 1e-15);
        assert!((value(&LOGISTIC) - (0.474_076_984_180_106_7 + 1.313_261_687_518_222_8) / 3.0).abs() < 1e-15);
    }

    #[test]
    fn the_logistic_loss_survives_large_margins() {
        assert!(((LOGISTIC.value)(-1e6) - 1e6).abs() < 1e-9 && (LOGISTIC.value)(1e6) < 1e-300);
        assert!((LOGISTIC.slope)(-1e6) <= -1.0 && (LOGISTIC.slope)(1e6) <= 0.0);
    }

    #[test]
    fn weights_of_pairs_add_up_to_their_total() {
        let labels = [2.0, 0.0, 1.0, 2.0, 0.5, 2.0, 0.0];
        for weights in [PairWeights::Equal, PairWeights::Grade, PairWeights::Gain] {
            let weight = |y: f64, z: f64| if y > z { weights.levels(y).0 - weights.levels(z).1 } else { 0.0 };
            let sum: f64 = labels.iter().flat_map(|y| labels.iter().map(move |z| weight(*y, *z))).sum();
            assert!((weights.total(&labels) - sum).abs() < 1e-12, "{weights:?}");
            assert!([&[][..], &[1.0]].iter().all(|labels| weights.total(labels).abs() <= 0.0));
        }
    }

    #[test]
    fn pairs_of_equal_labels_are_not_counted() {
        assert_eq!(pair_count(&[2.0, 0.0, 0.0, 1.0]), 5);
        assert_eq!(pair_count(&[1.0, 1.0]), 0);
        assert_eq!(pair_count(&[]), 0);
    }
}
