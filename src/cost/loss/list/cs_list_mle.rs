//! Cost-sensitive ListMLE (Lu et al. 2010, as in Olinto & Fokoue 2018, section 2).
//!
//! ```text
//! L(y, s) = (1 / Z_k) sum_j beta_j log2(1 + x_j),   x_j = sum over t with y_t < y_j of alpha_jt exp(s_t - s_j)
//!
//! with the documents in ideal order, Z_k the largest DCG of the first k, c_j = beta_j / (Z_k ln 2),
//! p_t = alpha_jt exp(s_t - s_j) / (1 + x_j) and P = sum_t p_t = x_j / (1 + x_j):
//! dL/ds = sum_j c_j (sum_t p_t e_t - P e_j)
//! H d   = sum_j c_j (sum_t v_t e_t - (sum_t v_t) e_j),   v_t = p_t (d_t - d_j - sum_u p_u (d_u - d_j))
//! ```
//!
//! The option `cost_weights` gives alpha and beta; see [`Costs`]. With p_t = P r_t and r_t = alpha_jt exp(s_t) / sum_u
//! alpha_ju exp(s_u), all j of one grade have the same r unless alpha depends on j: a term is then O(1) and a grade
//! O(m), m documents with L grades O(m L). With `swap`, where it does, sums over pairs of positions are O(m) (`costs`),
//! or O(k m) for few documents and for scores with a large range. The largest score of the lower grades is taken out of
//! the exponentials, so nothing overflows.

use std::sync::Arc;

use serde_json::Value;

use super::slam::LabelTies;
use super::{in_range, with_scratch};
use crate::base::{Error, Params, Result, Ticks, shorten};
use crate::cost::loss::{ListwiseLoss, LossDef, QueryLoss, Shape};
use crate::data::RowGroup;

pub use super::cs_list_mle_costs::{Costs, Scheme, Tables};

use super::cs_list_mle_costs::Swaps;

pub const CS_LIST_MLE: LossDef = LossDef {
    parameters: &["cost_weights", "truncation", "label_ties"],
    ..LossDef::listwise("cs_list_mle", Shape::Smooth, |params| Ok(Arc::new(CsListMle::new(params)?)))
};

#[derive(Debug)]
struct CsListMle {
    /// The source of alpha and beta.
    scheme: Scheme,
    /// k >= 1; all positions if absent.
    truncation: Option<usize>,
    ties: LabelTies,
}

/// The loss of one query.
struct CsListMleQuery {
    costs: Costs,
    blocks: Vec<Block>,
    /// From this many documents on, sums over all positions are faster than sums over each block.
    many: usize,
}

/// Positions j with beta_j > 0 and the same r.
struct Block {
    start: usize,
    end: usize,
    /// The first position of a lower grade.
    lower: usize,
}

impl CsListMle {
    fn new(params: &Params) -> Result<Self> {
        let truncation = params.count("truncation");
        let scheme = match params.get("cost_weights") {
            None => Scheme::Swap,
            Some(Value::String(name)) => match name.as_str() {
                "swap" => Scheme::Swap,
                "unit" => Scheme::Unit,
                "rank" if truncation.is_none() => Scheme::Rank,
                "rank" => {
                    let reason = "option 'cost_weights': \"rank\" weighs all positions; \
                                  leave out 'truncation' or use \"swap\" or \"unit\"";
                    return Err(Error::Unsupported(reason.to_owned()));
                }
                _ => return Err(unknown_weights(&format!("\"{name}\""))),
            },
            Some(tables) => Scheme::Tables(parse_tables(tables)?),
        };
        // A truncation would count the equal grades with smaller ids.
        let by_default = if truncation.is_some() { LabelTies::Average } else { LabelTies::Stable };
        Ok(Self { scheme, truncation, ties: params.choice("label_ties")?.unwrap_or(by_default) })
    }

    fn of(&self, labels: &[f64]) -> CsListMleQuery {
        let mut costs = Costs::of(&self.scheme, self.truncation, self.ties, labels);
        let n = labels.len();
        let mut blocks: Vec<Block> = Vec::new();
        let mut ticks = Ticks::default();
        for j in 0..n {
            let lower = costs.lower[j];
            ticks.add(n - lower);
            let weighs = costs.beta[j] > 0.0 && (lower..n).any(|t| costs.alpha(j, t) > 0.0);
            match blocks.last_mut() {
                _ if !weighs => costs.beta[j] = 0.0,
                Some(block) if block.lower == lower && costs.alpha_is_of_grades() => block.end = j + 1,
                _ => blocks.push(Block { start: j, end: j + 1, lower }),
            }
        }
        CsListMleQuery { costs, blocks, many: MANY }
    }
}

impl ListwiseLoss for CsListMle {
    fn validate(&self) -> Result<()> {
        in_range(self.truncation != Some(0), "truncation", &0, "a whole number from 1")
    }

    fn is_informative(&self, labels: &[f64]) -> bool {
        !self.of(labels).blocks.is_empty()
    }

    /// A distribution and a document, times beta_j / ln 2.
    fn lipschitz(&self, labels: &[f64]) -> Option<f64> {
        Some(2.0 / std::f64::consts::LN_2 * self.of(labels).costs.beta.iter().sum::<f64>())
    }

    fn check_query(&self, labels: &[f64], _row_groups: &[RowGroup]) -> Result<()> {
        match &self.scheme {
            Scheme::Tables(tables) => tables.check(labels),
            Scheme::Swap | Scheme::Unit | Scheme::Rank => Ok(()),
        }
    }

    fn prepare(&self, labels: &[f64], _row_groups: &[RowGroup]) -> Box<dyn QueryLoss> {
        Box::new(self.of(labels))
    }
}

fn unknown_weights(got: &str) -> Error {
    let allowed = "\"swap\", \"unit\", \"rank\", or {\"pair\": [[...], ...], \"document\": [...]} with as many rows, \
                   columns and numbers as there are grades, from 0 to 1e9";
    Error::value("option 'cost_weights'", got, allowed)
}

/// The tables of an object.
fn parse_tables(given: &Value) -> Result<Tables> {
    let wrong = || unknown_weights(&shorten(&given.to_string()));
    let tables: Tables = serde_json::from_value(given.clone()).map_err(|_| wrong())?;
    let keys = given.as_object().map_or(0, serde_json::Map::len);
    if keys == 2 && tables.is_valid() { Ok(tables) } else { Err(wrong()) }
}

/// Writes exp(s_t - largest) of the positions from the first lower one of the block; returns the largest score of those
/// with alpha > 0. Blocks with the same lower positions agree about which these are.
fn exponentials(costs: &Costs, block: &Block, scores: &[f64], out: &mut [f64]) -> f64 {
    let lower = || (block.lower..costs.order.len()).filter(|t| costs.alpha(block.start, *t) > 0.0);
    let largest = lower().map(|t| scores[costs.order[t]]).fold(f64::NEG_INFINITY, f64::max);
    out[block.lower..].fill(0.0);
    lower().for_each(|t| out[t] = libm::exp(scores[costs.order[t]] - largest));
    largest
}

/// Writes r by position; returns the sum of alpha_jt times these exponentials.
fn normalized(costs: &Costs, block: &Block, exponentials: &[f64], out: &mut [f64]) -> f64 {
    let mut sum = 0.0;
    for t in block.lower..out.len() {
        out[t] = costs.alpha(block.start, t) * exponentials[t];
        sum += out[t];
    }
    out[block.lower..].iter_mut().for_each(|r| *r /= sum);
    sum
}

/// log(1 + e^u), and e^u / (1 + e^u) with its difference from 1.
fn softplus(u: f64) -> (f64, f64, f64) {
    let small = libm::exp(-u.abs());
    let (large_share, small_share) = (1.0 / (1.0 + small), small / (1.0 + small));
    if u > 0.0 {
        (u + libm::log1p(small), large_share, small_share)
    } else {
        (libm::log1p(small), small_share, large_share)
    }
}

impl CsListMleQuery {
    /// Calls `work` for every block with its r by position and log sum_t alpha_jt exp(s_t).
    fn each_block(&self, scores: &[f64], mut work: impl FnMut(&Block, &[f64], f64)) {
        let n = scores.len();
        let mut ticks = Ticks::default();
        with_scratch(2 * n, |scratch| {
            let (powers, r) = scratch.split_at_mut(n);
            let (mut largest, mut lower) = (0.0, n);
            for block in &self.blocks {
                ticks.add(n);
                if block.lower != lower {
                    largest = exponentials(&self.costs, block, scores, powers);
                    lower = block.lower;
                }
                let sum = normalized(&self.costs, block, powers, r);
                work(block, r, largest + libm::log(sum));
            }
        });
    }
}

/// From this many documents on, sums over all positions are used.
const MANY: usize = 24;

/// The largest range of scores whose exponentials, and products of them, stay far from the limits of numbers.
const MOST_RANGE: f64 = 600.0;

/// Sums of a query with the weights of `swap`, by position.
struct SwapSums<'a> {
    swaps: Swaps<'a>,
    /// exp(s_t - largest).
    powers: Vec<f64>,
    /// sum_t (G_j - G_t) (D_j - D_t) exp(s_t - largest).
    totals: Vec<f64>,
    /// log sum_t alpha_jt exp(s_t - s_j), for positions that weigh.
    logs: Vec<f64>,
}

impl CsListMleQuery {
    /// The sums of `swap`; `None` for other weights, few documents or a large range of scores.
    fn swap_sums(&self, scores: &[f64]) -> Option<SwapSums<'_>> {
        let (swaps, scales) = self.costs.swaps().filter(|_| scores.len() >= self.many)?;
        let order = &self.costs.order;
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let least = scores.iter().copied().fold(f64::INFINITY, f64::min);
        if !(0.0..=MOST_RANGE).contains(&(largest - least)) {
            return None;
        }
        let powers: Vec<f64> = order.iter().map(|t| libm::exp(scores[*t] - largest)).collect();
        let totals = swaps.over_lower(&powers);
        let log = |j: usize| largest + libm::log(totals[j] * scales[j]) - scores[order[j]];
        let weighs = |j: usize| self.costs.beta[j] > 0.0;
        let logs = (0..order.len()).map(|j| if weighs(j) { log(j) } else { f64::NEG_INFINITY }).collect();
        Some(SwapSums { swaps, powers, totals, logs })
    }

    /// Positions that weigh, where the sum is not too small for a number.
    fn positions(&self, sums: &SwapSums<'_>) -> impl Iterator<Item = usize> {
        self.blocks.iter().flat_map(|block| block.start..block.end).filter(|j| sums.totals[*j] > 0.0)
    }

    fn swap_value(&self, sums: &SwapSums<'_>, subgradient: &mut [f64]) -> f64 {
        let Costs { order, beta, .. } = &self.costs;
        let mut value = 0.0;
        let mut pushed = vec![0.0; order.len()];
        for j in self.positions(sums) {
            let factor = beta[j] / std::f64::consts::LN_2;
            let (cost, p, _) = softplus(sums.logs[j]);
            value += factor * cost;
            subgradient[order[j]] -= factor * p;
            pushed[j] = factor * p / sums.totals[j];
        }
        let pushes = sums.swaps.over_higher(&pushed);
        for ((document, power), push) in order.iter().zip(&sums.powers).zip(&pushes) {
            subgradient[*document] += power * push;
        }
        value
    }

    fn swap_hessian_times(&self, sums: &SwapSums<'_>, direction: &[f64], product: &mut [f64]) {
        let Costs { order, beta, .. } = &self.costs;
        // Only differences count: a mean of 0 keeps numbers small.
        let center = direction.iter().sum::<f64>() / direction.len() as f64;
        let directions: Vec<f64> = order.iter().map(|t| direction[*t] - center).collect();
        let moved: Vec<f64> = sums.powers.iter().zip(&directions).map(|(power, d)| power * d).collect();
        let moved = sums.swaps.over_lower(&moved);
        let (mut spread, mut shift) = (vec![0.0; order.len()], vec![0.0; order.len()]);
        for j in self.positions(sums) {
            let mean = moved[j] / sums.totals[j];
            let (_, p, rest) = softplus(sums.logs[j]);
            let factor = p * beta[j] / std::f64::consts::LN_2;
            let term = factor * rest * (mean - directions[j]);
            product[order[j]] -= term;
            spread[j] = factor / sums.totals[j];
            shift[j] = (term - factor * mean) / sums.totals[j];
        }
        let (spread, shift) = (sums.swaps.over_higher(&spread), sums.swaps.over_higher(&shift));
        for (t, document) in order.iter().enumerate() {
            product[*document] += sums.powers[t] * (spread[t] * directions[t] + shift[t]);
        }
    }
}

impl QueryLoss for CsListMleQuery {
    fn value_and_subgradient(&self, scores: &[f64], subgradient: &mut [f64]) -> f64 {
        let Costs { order, beta, .. } = &self.costs;
        let mut value = 0.0;
        subgradient.fill(0.0);
        if let Some(sums) = self.swap_sums(scores) {
            return self.swap_value(&sums, subgradient);
        }
        self.each_block(scores, |block, r, sum| {
            let mut pushed = 0.0;
            for j in block.start..block.end {
                let factor = beta[j] / std::f64::consts::LN_2;
                let (cost, p, _) = softplus(sum - scores[order[j]]);
                value += factor * cost;
                subgradient[order[j]] -= factor * p;
                pushed += factor * p;
            }
            for t in block.lower..order.len() {
                subgradient[order[t]] += pushed * r[t];
            }
        });
        value
    }

    fn hessian_times(&self, scores: &[f64], direction: &[f64], product: &mut [f64]) -> bool {
        let Costs { order, beta, .. } = &self.costs;
        product.fill(0.0);
        if let Some(sums) = self.swap_sums(scores) {
            self.swap_hessian_times(&sums, direction, product);
            return true;
        }
        self.each_block(scores, |block, r, sum| {
            let mean: f64 = (block.lower..order.len()).map(|t| r[t] * direction[order[t]]).sum();
            // v_t = r_t p (d_t - mean + (1 - p) (mean - d_j)), added over the j of the block.
            let (mut spread, mut shift) = (0.0, 0.0);
            for j in block.start..block.end {
                let (_, p, rest) = softplus(sum - scores[order[j]]);
                let factor = p * beta[j] / std::f64::consts::LN_2;
                let term = factor * rest * (mean - direction[order[j]]);
                product[order[j]] -= term;
                spread += factor;
                shift += term;
            }
            for t in block.lower..order.len() {
                product[order[t]] += r[t] * (spread * (direction[order[t]] - mean) + shift);
            }
        });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::metric::{Metric, MetricOptions, Ties};

    fn make(options: &str) -> Result<CsListMle> {
        let options: serde_json::Map<_, _> = serde_json::from_str(options).unwrap();
        CsListMle::new(&options.into())
    }

    proptest::proptest! {
        #[test]
        fn it_bounds_one_less_ndcg(rows in proptest::collection::vec((0u8..5, -4i8..4), 1..9)) {
            let labels: Vec<f64> = rows.iter().map(|row| f64::from(row.0)).collect();
            let scores: Vec<f64> = rows.iter().map(|row| 0.5 * f64::from(row.1)).collect();
            let mut g = vec![0.0; rows.len()];
            for k in [Some(1), Some(2), Some(3), Some(5), None] {
                let name = k.map_or("ndcg".to_owned(), |k| format!("ndcg@{k}"));
                let options = MetricOptions { ties: Ties::Worst, ..MetricOptions::default() };
                let metric = Metric::parse(&name).unwrap().with_options(options).unwrap();
                let lost = 1.0 - metric.value(&labels, &scores).unwrap_or(1.0);
                for scheme in [Scheme::Swap, Scheme::Unit, Scheme::Rank] {
                    for ties in [LabelTies::Average, LabelTies::Stable] {
                        if scheme != Scheme::Rank || k.is_none() {
                            let loss = CsListMle { scheme: scheme.clone(), truncation: k, ties };
                            let value = loss.of(&labels).value_and_subgradient(&scores, &mut g);
                            proptest::prop_assert!(value >= lost - 1e-12, "{loss:?}: {value}, {lost}");
                            proptest::prop_assert!(loss.is_informative(&labels) || value <= 0.0);
                        }
                    }
                }
            }
        }
    }

    /// Sums over all positions give the value, slopes and Hessian of sums over each block.
    #[test]
    fn many_documents_have_the_sums_of_each_block() {
        let mut random = crate::math::random::Random::new(6);
        for (n, grades, truncation, scale) in [
            (24, 2, None, 1.0),
            (60, 5, Some(10), 2.0),
            (200, 200, None, 0.2),
            (300, 4, None, 60.0),
            (40, 1, None, 1.0),
        ] {
            let labels: Vec<f64> = (0..n).map(|_| random.below(grades) as f64 / 16.0).collect();
            let mut number = || scale * random.symmetric();
            let scores: Vec<f64> = (0..n).map(|_| number()).collect();
            let direction: Vec<f64> = (0..n).map(|_| number()).collect();
            let ties = if grades == 5 { LabelTies::Average } else { LabelTies::Stable };
            let loss = CsListMle { scheme: Scheme::Swap, truncation, ties };
            let query = loss.of(&labels);
            let slow = CsListMleQuery { many: usize::MAX, ..loss.of(&labels) };
            let of = |query: &CsListMleQuery| {
                let (mut slopes, mut product) = (vec![0.0; n], vec![0.0; n]);
                let value = query.value_and_subgradient(&scores, &mut slopes);
                assert!(query.hessian_times(&scores, &direction, &mut product));
                [vec![value], slopes, product].concat()
            };
            let (found, expected) = (of(&query), of(&slow));
            let size = expected.iter().fold(1e-300, |size: f64, value| size.max(value.abs()));
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() <= 1e-11 * size, "{n}: {found} {expected}");
            }
        }
    }

    #[test]
    fn tables_of_gains_are_unit() {
        let tables =
            r#"{"cost_weights": {"pair": [[0,0,0],[1,0,0],[1,1,0]], "document": [0,1,3]}, "truncation": 3}"#;
        let unit = r#"{"cost_weights": "unit", "truncation": 3}"#;
        let (labels, scores) = ([1.0, 0.0, 2.0, 2.0, 1.0], [0.5, -0.3, 1.0, -2.0, 3.0]);
        let value = |options: &str| {
            let mut g = [0.0; 5];
            (make(options).unwrap().of(&labels).value_and_subgradient(&scores, &mut g), g)
        };
        let (found, expected) = (value(tables), value(unit));
        assert!((found.0 - expected.0).abs() < 1e-14);
        assert!(found.1.iter().zip(expected.1).all(|(a, b)| (a - b).abs() < 1e-14));
    }

    /// With a truncation, the order of documents of equal grade does not matter.
    #[test]
    fn equal_grades_weigh_the_same_with_a_truncation() {
        let (labels, scores) = ([1.0, 1.0, 1.0, 0.0, 2.0, 1.0], [0.5, -0.3, 1.0, 0.1, -2.0, 3.0]);
        for scheme in ["swap", "unit", r#"{"pair": [[0,0,0],[1,0,0],[1,2,0]], "document": [0,1,3]}"#] {
            let scheme = if scheme.starts_with('{') { scheme.to_owned() } else { format!("\"{scheme}\"") };
            let loss = make(&format!(r#"{{"cost_weights": {scheme}, "truncation": 2}}"#)).unwrap();
            let value = |order: [usize; 6]| {
                let (mut slopes, mut back) = ([0.0; 6], [0.0; 6]);
                let value = loss
                    .of(&order.map(|i| labels[i]))
                    .value_and_subgradient(&order.map(|i| scores[i]), &mut slopes);
                order.into_iter().zip(slopes).for_each(|(i, slope)| back[i] = slope);
                (value, back)
            };
            let (a, b) = (value([0, 1, 2, 3, 4, 5]), value([5, 2, 3, 1, 4, 0]));
            assert!((a.0 - b.0).abs() < 1e-14 && a.0 > 0.1, "{scheme}: {a:?} {b:?}");
            assert!(a.1.iter().zip(b.1).all(|(a, b)| (a - b).abs() < 1e-14), "{scheme}: {a:?} {b:?}");
        }
    }

    #[test]
    fn pairs_of_no_weight_cost_nothing_whatever_their_scores() {
        let options = r#"{"cost_weights": {"pair": [[0,0,0],[0,0,0],[0,1,0]], "document": [0,1,3]}}"#;
        let query = make(options).unwrap().of(&[2.0, 1.0, 0.0]);
        let mut g = [0.0; 3];
        let value = query.value_and_subgradient(&[-400.0, -401.0, 700.0], &mut g);
        assert!(
            (value - 3.0 * libm::log2(1.0 + libm::exp(-1.0)) / (3.0 + 1.0 / libm::log2(3.0))).abs() < 1e-12
        );
        assert!(g[2].abs() < 1e-300 && g[1] > 0.1 && g[0] < -0.1);
    }

    #[test]
    fn what_cannot_work_is_refused() {
        let refusal = |options: &str| make(options).unwrap_err().to_string();
        let rank = refusal(r#"{"cost_weights": "rank", "truncation": 3}"#);
        assert!(rank.starts_with("option 'cost_weights': \"rank\" weighs all positions"), "{rank}");
        for weights in [
            r#""swop""#,
            r#"{"pair": [[1]]}"#,
            r#"{"pair": [[1]], "document": [1], "more": 1}"#,
            r#"{"pair": [[1, 2]], "document": [1]}"#,
            r#"{"pair": [[-1]], "document": [1]}"#,
            r#"{"pair": [[1]], "document": [1e10]}"#,
            r#"{"pair": [], "document": []}"#,
        ] {
            let error = refusal(&format!(r#"{{"cost_weights": {weights}}}"#));
            assert!(error.starts_with("option 'cost_weights': got "), "{error}");
        }
        let tables = make(r#"{"cost_weights": {"pair": [[0,0],[1,0]], "document": [0,1]}}"#).unwrap();
        assert!(tables.check_query(&[0.0, 1.0], &[]).is_ok());
        for label in [2.0, 0.5, -1.0] {
            let error = tables.check_query(&[label], &[]).unwrap_err().to_string();
            assert!(
                error.ends_with("expected a whole number from 0 to 1, as the tables have 2 grades"),
                "{error}"
            );
        }
    }
}
