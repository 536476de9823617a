//! A pass over all pairs of a query, in score space.
//!
//! The hinge is Huberized with width delta. For a pair (a, b) with u = 1 - (`s_a - s_b`) and center p0, p = clamp(p0 +
//! u / delta, 0, 1) is the derivative of the smoothed hinge, and alpha = c p is in the box \[0, c\], so each pass gives
//! a dual point. With p0 = 1/2 the quadratic zone |u| < delta / 2 is centered on the kink, and a pass stores nothing
//! per pair. In multiplier rounds p0 is stored per pair: the p of the previous round.
//!
//! With pair weights (`weights`) alpha = c w p is in the box \[0, c w\]; p and the centers do not depend on w.
//!
//! Scores are divided by delta and padded with [`PAD`] to a multiple of eight, so a pair costs a few additions and
//! comparisons, and padding gives p = 0 and no loss. Cost T pairs; no feature is read.
#![allow(clippy::inline_always)]

use crate::base::Ticks;
use crate::learn::solve::pair::weights::EightWeights;
use crate::math::{LANES, Lanes, lanes};

/// Operations, for [`Ticks`], of eight pairs.
pub(super) const BLOCK_COST: usize = 4;

/// Score of padding: no pair with it can be violated.
pub(super) const PAD: f64 = -1e30;

/// Entry k hides the first k documents of a block.
pub(super) const HIDE: [Lanes; LANES] = hide_table();

const fn hide_table() -> [Lanes; LANES] {
    let mut table = [Lanes::ZERO; LANES];
    let mut k = 0;
    while k < LANES {
        let mut lane = 0;
        while lane < k {
            table[k].0[lane] = PAD;
            lane += 1;
        }
        k += 1;
    }
    table
}

/// The source of the centers p0.
pub(super) trait Center {
    /// Centers of the `index`-th eight pairs.
    fn get(&self, index: usize) -> Lanes;
    /// Receives the new p of the `index`-th eight pairs.
    #[inline(always)]
    fn put(&mut self, _index: usize, _p: Lanes) {}
}

/// p0 = 1/2 for every pair.
pub(super) struct Half;

impl Center for Half {
    #[inline(always)]
    fn get(&self, _: usize) -> Lanes {
        Lanes([0.5; LANES])
    }
}

/// One p0 per pair.
pub(super) struct Stored<'a>(pub &'a [Lanes]);

impl Center for Stored<'_> {
    #[inline(always)]
    fn get(&self, index: usize) -> Lanes {
        self.0[index]
    }
}

/// One p0 per pair, replaced by p: the multiplier step.
pub(super) struct Update<'a>(pub &'a mut [Lanes]);

impl Center for Update<'_> {
    #[inline(always)]
    fn get(&self, index: usize) -> Lanes {
        self.0[index]
    }
    #[inline(always)]
    fn put(&mut self, index: usize, p: Lanes) {
        self.0[index] = p;
    }
}

/// A query with its scores divided by delta.
#[derive(Clone, Copy)]
pub(super) struct ScaledQuery<'a> {
    /// The first lower document of each document.
    pub start: &'a [u32],
    pub scores: &'a [Lanes],
    /// 1 / delta.
    pub one: f64,
}

/// Number of blocks of eight pairs of a query, and of stored centers.
pub(super) fn pair_blocks(start: &[u32]) -> usize {
    let blocks = lanes::blocks_for(start.len());
    start.iter().filter(|&&s| (s as usize) < start.len()).map(|&s| blocks - s as usize / LANES).sum()
}

/// Sums over the pairs of one document, lane by lane.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RowSums {
    p: Lanes,
    hinge: Lanes,
}

/// Sums of w p by document: `g[a]` gains the sum over the pairs of a minus the sum over the pairs in which a is the lower
/// one. Returns (sum of w max(u, 0) / delta, sum of w p), w the pair weights. `rows` is a buffer with one entry per
/// document: compilers keep sums in wide registers only if all their lanes are stored.
#[inline(always)]
pub(super) fn pass(
    query: ScaledQuery<'_>,
    center: &mut impl Center,
    weights: impl EightWeights,
    rows: &mut Vec<RowSums>,
    g: &mut [Lanes],
) -> (f64, f64) {
    let ScaledQuery { start, scores: scaled, one } = query;
    let n = start.len();
    rows.resize(n, RowSums::default());
    let mut ticks = Ticks::default();
    let mut index = 0;
    let mut used = 0;
    for ((a, &first), sums) in start.iter().enumerate().zip(rows.iter_mut()) {
        let first = first as usize;
        if first >= n {
            break;
        }
        used = a + 1;
        // The first block may begin before the first lower document; its other documents are hidden.
        let shift = one - lanes::get(scaled, a);
        let lower = first / LANES;
        let (scores, columns) = (&scaled[lower..], &mut g[lower..scaled.len()]);
        ticks.add(BLOCK_COST * scores.len());
        let mut row = RowSums::default();
        let mut hidden = scores[0];
        hidden.add_scaled(1.0, &HIDE[first % LANES]);
        let times = |values: Lanes| weights.times(a, lower, values);
        let violations = |scores: &Lanes| scores.map(|score| shift + score);
        eight_pairs(&violations(&hidden), center, index, times, &mut columns[0], &mut row);
        for (offset, (scores, column)) in scores.iter().zip(columns).enumerate().skip(1) {
            let times = |values: Lanes| weights.times(a, lower + offset, values);
            eight_pairs(&violations(scores), center, index + offset, times, column, &mut row);
        }
        index += scores.len();
        *sums = row;
    }
    let mut hinge = Lanes::ZERO;
    let mut total = 0.0;
    for (a, sums) in rows[..used].iter().enumerate() {
        let row = sums.p.fold();
        *lanes::get_mut(g, a) += row;
        total += row;
        hinge.add_scaled(1.0, &sums.hinge);
    }
    (hinge.fold(), total)
}

/// Eight pairs of one document with these u / delta; `times` multiplies by their weights.
#[inline(always)]
fn eight_pairs(
    violations: &Lanes,
    center: &mut impl Center,
    index: usize,
    times: impl Fn(Lanes) -> Lanes,
    column: &mut Lanes,
    row: &mut RowSums,
) {
    let middle = center.get(index);
    let (mut p, mut violation) = (Lanes::ZERO, Lanes::ZERO);
    for lane in 0..LANES {
        let u = violations.0[lane];
        let t = u + middle.0[lane];
        let t = if t > 0.0 { t } else { 0.0 };
        p.0[lane] = if t < 1.0 { t } else { 1.0 };
        violation.0[lane] = if u > 0.0 { u } else { 0.0 };
    }
    center.put(index, p);
    let (p, violation) = (times(p), times(violation));
    for lane in 0..LANES {
        row.hinge.0[lane] += violation.0[lane];
        row.p.0[lane] += p.0[lane];
        column.0[lane] -= p.0[lane];
    }
}

/// Lists the pairs (a, b) of the quadratic zone, 0 < p0 + u / delta < 1, in the order of a.
#[inline(always)]
pub(super) fn zone(query: ScaledQuery<'_>, center: &impl Center, pairs: &mut Vec<(u32, u32)>) {
    let ScaledQuery { start, scores: scaled, one } = query;
    let n = start.len();
    let mut ticks = Ticks::default();
    let mut index = 0;
    for (a, &first) in start.iter().enumerate() {
        let first = first as usize;
        if first >= n {
            break;
        }
        ticks.add(BLOCK_COST * (scaled.len() - first / LANES));
        let shift = one - lanes::get(scaled, a);
        let mut hide = &HIDE[first % LANES];
        let mut block = first / LANES;
        for scores in scaled[block..].chunks(u64::BITS as usize) {
            // Bit k of a lane belongs to block k, so lanes are combined once per 64 blocks.
            let mut inside = [0u64; LANES];
            for (k, scores) in scores.iter().enumerate() {
                let middle = center.get(index + k);
                for (lane, inside) in inside.iter_mut().enumerate() {
                    let t = (shift + (scores.0[lane] + hide.0[lane])) + middle.0[lane];
                    *inside |= if t > 0.0 && t < 1.0 { 1 << k } else { 0 };
                }
                hide = &HIDE[0];
            }
            for (lane, mut bits) in inside.into_iter().enumerate() {
                while bits != 0 {
                    let document = (block + bits.trailing_zeros() as usize) * LANES + lane;
                    pairs.push((a as u32, document as u32));
                    bits &= bits - 1;
                }
            }
            index += scores.len();
            block += scores.len();
        }
    }
}

/// Largest margin `s_a - s_b` of a pair; minus infinity without pairs. Cost n.
pub(super) fn largest_margin(start: &[u32], scores: &[Lanes]) -> f64 {
    let n = start.len();
    let mut lowest = vec![f64::INFINITY; n + 1];
    for b in (0..n).rev() {
        lowest[b] = lowest[b + 1].min(lanes::get(scores, b));
    }
    (0..n).map(|a| lanes::get(scores, a) - lowest[start[a] as usize]).fold(f64::NEG_INFINITY, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::solve::pair::weights::Equal;

    /// Eleven documents with labels 3 3 2 1 1 1 1 1 1 0 0.
    const START: [u32; 11] = [2, 2, 3, 9, 9, 9, 9, 9, 9, 11, 11];

    fn scores() -> Vec<Lanes> {
        let mut scores = vec![Lanes([PAD; LANES]); 2];
        for i in 0..START.len() {
            *lanes::get_mut(&mut scores, i) = (i as f64 * 1.7).sin();
        }
        scores
    }

    #[test]
    fn a_pass_equals_the_plain_loops() {
        let (scores, delta) = (scores(), 0.8);
        let scaled: Vec<Lanes> = scores.iter().map(|s| Lanes(s.0.map(|v| v / delta))).collect();
        let (mut hinge, mut total, mut zone_pairs) = (0.0, 0.0, Vec::new());
        let mut expected = [0.0; 11];
        for a in 0..11 {
            for b in START[a] as usize..11 {
                let u = 1.0 - lanes::get(&scores, a) + lanes::get(&scores, b);
                let p = (0.5 + u / delta).clamp(0.0, 1.0);
                hinge += u.max(0.0);
                total += p;
                expected[a] += p;
                expected[b] -= p;
                if p > 0.0 && p < 1.0 {
                    zone_pairs.push((a as u32, b as u32));
                }
            }
        }
        let mut g = vec![Lanes::ZERO; 2];
        let query = ScaledQuery { start: &START, scores: &scaled, one: 1.0 / delta };
        let (scaled_hinge, sum) = pass(query, &mut Half, Equal, &mut Vec::new(), &mut g);
        assert!((scaled_hinge * delta - hinge).abs() < 1e-12 && (sum - total).abs() < 1e-12);
        (0..11).for_each(|i| assert!((lanes::get(&g, i) - expected[i]).abs() < 1e-12));
        let mut pairs = Vec::new();
        zone(query, &Half, &mut pairs);
        pairs.sort_unstable();
        assert_eq!(pairs, zone_pairs);
        let stored = vec![Lanes([0.5; LANES]); pair_blocks(&START)];
        let mut again = vec![Lanes::ZERO; 2];
        let sums = pass(query, &mut Stored(&stored), Equal, &mut Vec::new(), &mut again);
        assert_eq!((sums, again), ((scaled_hinge, sum), g));
    }

    #[test]
    fn the_largest_margin_matches_plain_loops() {
        let scores = scores();
        let mut largest = f64::NEG_INFINITY;
        for (a, &first) in START.iter().enumerate() {
            for b in first as usize..11 {
                largest = largest.max(lanes::get(&scores, a) - lanes::get(&scores, b));
            }
        }
        assert_eq!(largest_margin(&START, &scores).to_bits(), largest.to_bits());
        assert!(largest_margin(&[1], &[Lanes::ZERO]) < 0.0);
    }
}
