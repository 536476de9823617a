//! Histograms of gradients over bins and leaves, and the best split of a level.
//!
//! All leaves of a level get the same split: that with the largest sum of G^2 / (W + ridge) over the leaves that it
//! makes, where G and W are the sums of gradients and weights in a leaf (Friedman 2001, section 4; one split per level:
//! Prokhorenkova et al. 2018). The histograms of the larger half of a leaf are the histograms of the leaf minus the
//! histograms of the smaller half, so that only rows of smaller halves are read. All sums are of integers, so they are
//! exact.

use std::borrow::Cow;

use super::bins::{BinColumn, BinEdges, Binned, MISSING};
use super::forest::Split;
use super::rows::{Listed, Packing, Shard};
use crate::base::{Control, Error, Result, bytes_of, parallel};
use crate::math::simd;

/// Features whose histograms a thread makes together.
const BLOCK: usize = 4;

/// Bins of a feature, and a spare one.
const MOST: usize = 256;

/// A split in bins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cut {
    pub feature: usize,
    /// The last bin of values that is not above.
    pub bin: u8,
    pub missing_above: bool,
    /// The sum that it maximizes.
    pub score: f64,
}

impl Cut {
    /// Whether a bin is above.
    pub fn is_above(&self, bin: u8) -> bool {
        bin > self.bin || (self.missing_above && bin == MISSING)
    }

    /// The split of values.
    pub fn split(&self, edges: &BinEdges) -> Split {
        let Self { feature, bin, missing_above, .. } = *self;
        // After the last edge there are only missing values.
        let threshold = edges.of(feature).edges.get(usize::from(bin) - 1).copied().unwrap_or(f64::MAX);
        Split { feature, threshold, missing_above }
    }
}

/// Finds the splits of a tree.
pub struct Histograms<'a> {
    binned: &'a Binned,
    edges: &'a BinEdges,
    stride: usize,
    /// For each feature of the current tree, sums by leaf and bin.
    sums: Vec<Vec<i64>>,
}

/// A level of a tree.
#[derive(Debug, Clone, Copy)]
pub struct Level<'a> {
    pub number: usize,
    /// The features that may be split.
    pub features: &'a [usize],
    pub packing: Packing,
    /// Added to the scaled weight of a leaf.
    pub ridge: f64,
    /// For each leaf of the level before, whether the half above is the smaller one.
    pub smaller_above: &'a [bool],
    /// Signs of features, as [`Prepared::signs`](super::Prepared::signs).
    pub signs: &'a [i8],
}

impl<'a> Histograms<'a> {
    /// Histograms of up to `features` features and trees of this depth.
    pub fn new(binned: &'a Binned, edges: &'a BinEdges, features: usize, depth: usize) -> Self {
        let stride = edges.stride();
        Self { binned, edges, stride, sums: vec![vec![0; stride << (depth - 1)]; features] }
    }

    /// The bins of a feature.
    ///
    /// # Errors
    /// As [`BinColumn::bins`].
    pub fn column(&self, feature: usize, control: &Control) -> Result<Cow<'a, [u8]>> {
        self.binned.columns[feature].bins(control)
    }

    /// Bytes for the columns of files that are read together.
    pub fn buffers(binned: &Binned, rows: usize) -> u64 {
        let is_file = |column: &BinColumn| matches!(column, BinColumn::File(..));
        let columns = if binned.columns.iter().any(is_file) { BLOCK * parallel::threads() } else { 0 };
        bytes_of::<u8>(rows).saturating_mul(columns as u64)
    }

    /// Numbers in the histograms of a feature.
    pub fn numbers(edges: &BinEdges, depth: usize) -> usize {
        edges.stride() << (depth - 1)
    }

    /// The best split of a level; the first among equals.
    ///
    /// # Errors
    /// An interrupt.
    pub fn best(&mut self, shards: &[Shard], level: Level<'_>, control: &Control) -> Result<Cut> {
        let Self { binned, edges, stride, sums } = self;
        let (binned, edges, stride) = (*binned, *edges, *stride);
        let blocks = level.features.chunks(BLOCK).zip(sums.chunks_mut(BLOCK)).collect();
        let find = |_, (features, sums): (&[usize], &mut [Vec<i64>])| -> Result<Option<Cut>> {
            control.check()?;
            let columns = features.iter().map(|feature| binned.columns[*feature].bins(control));
            let columns = columns.collect::<Result<Vec<Cow<'_, [u8]>>>>()?;
            add_rows(&columns, shards, &mut *sums, level.number, stride);
            let mut best: Option<Cut> = None;
            for (feature, sums) in features.iter().zip(sums) {
                halve(sums, level, stride);
                let cut = best_of(*feature, edges, sums, stride, level);
                best = better(best, cut);
            }
            Ok(best)
        };
        let cuts: Vec<Option<Cut>> =
            parallel::map_of(blocks, find).into_iter().collect::<Result<Vec<Option<Cut>>>>()?;
        cuts.into_iter()
            .fold(None, better)
            .ok_or_else(|| Error::Internal("a tree without features".to_owned()))
    }

    /// For each leaf of a level, whether the half above a cut has less weight.
    pub fn smaller_above(&self, cut: Cut, level: Level<'_>) -> Vec<bool> {
        let number = level.features.iter().position(|feature| *feature == cut.feature).unwrap_or(0);
        let is_smaller = |sums: &[i64]| {
            let bins = || (0..=u8::MAX).zip(sums);
            let above: i64 = bins().filter(|(bin, _)| cut.is_above(*bin)).map(|(_, sum)| sum).sum();
            let below = sums.iter().sum::<i64>() - above;
            level.packing.unpack(above).1 < level.packing.unpack(below).1
        };
        let leaves = self.sums[number][..self.stride << level.number].chunks_exact(self.stride);
        leaves.map(is_smaller).collect()
    }
}

fn better(best: Option<Cut>, cut: Option<Cut>) -> Option<Cut> {
    match (best, cut) {
        (Some(best), Some(cut)) if cut.score > best.score => Some(cut),
        (None, cut) => cut,
        (best, _) => best,
    }
}

/// Adds the listed rows to the histograms of some features: the upper half of the leaves, or leaf 0 of the first level.
fn add_rows(columns: &[Cow<'_, [u8]>], shards: &[Shard], sums: &mut [Vec<i64>], level: usize, stride: usize) {
    let first = if level == 0 { 0 } else { stride << (level - 1) };
    let mut sums: Vec<&mut [i64]> = sums.iter_mut().map(|sums| &mut sums[first..stride << level]).collect();
    sums.iter_mut().for_each(|sums| sums.fill(0));
    for shard in shards {
        let rows = shard.start..shard.start + shard.len();
        let bins: Vec<&[u8]> = columns.iter().map(|column| &column[rows.clone()]).collect();
        let Listed { rows, leaves, packed, count } = &shard.listed;
        let listed = rows[..*count].iter().zip(leaves).zip(packed);
        let listed = || {
            listed.clone().map(|((row, leaf), value)| (*row as usize, usize::from(*leaf) * stride, *value))
        };
        // An addition to a bin waits for the last one to the same bin. Additions for four features do not wait for each other. With
        // lengths that are seen to be equal, an index is checked once for all of them.
        if let (&[a, b, c, d], [of_a, of_b, of_c, of_d]) = (&bins[..], &mut sums[..]) {
            let n = a.len();
            let (b, c, d) = (&b[..n], &c[..n], &d[..n]);
            let size = of_a.len();
            let (of_a, of_b) = (&mut of_a[..size], &mut of_b[..size]);
            let (of_c, of_d) = (&mut of_c[..size], &mut of_d[..size]);
            for (row, leaf, value) in listed() {
                of_a[leaf + usize::from(a[row])] += value;
                of_b[leaf + usize::from(b[row])] += value;
                of_c[leaf + usize::from(c[row])] += value;
                of_d[leaf + usize::from(d[row])] += value;
            }
        } else {
            for (bins, sums) in bins.iter().zip(&mut sums) {
                listed().for_each(|(row, leaf, value)| sums[leaf + usize::from(bins[row])] += value);
            }
        }
    }
}

/// From the histograms of leaves and of their smaller halves to the histograms of both halves.
fn halve(sums: &mut [i64], level: Level<'_>, stride: usize) {
    if level.number == 0 {
        return;
    }
    let (below, above) = sums.split_at_mut(stride << (level.number - 1));
    let leaves = below.chunks_exact_mut(stride).zip(above.chunks_exact_mut(stride));
    for ((below, above), smaller_above) in leaves.zip(level.smaller_above) {
        for (below, above) in below.iter_mut().zip(above) {
            let larger = *below - *above;
            (*below, *above) = if *smaller_above { (larger, *above) } else { (*above, larger) };
        }
    }
}

/// The best split of a feature.
fn best_of(feature: usize, edges: &BinEdges, sums: &[i64], stride: usize, level: Level<'_>) -> Option<Cut> {
    let of = edges.of(feature);
    let values = of.edges.len() + 1;
    let (mut below, mut above, mut running) = ([0.0; MOST], [0.0; MOST], [0; MOST]);
    let sign = level.signs.get(feature).copied().unwrap_or(0);
    for leaf in sums[..stride << level.number].chunks_exact(stride) {
        let sums = &leaf[..=values];
        if sign != 0 {
            add_scores_in_order(sums, 0, level, sign, &mut below);
            if of.has_missing {
                add_scores_in_order(sums, leaf[0], level, sign, &mut above);
            }
            continue;
        }
        add_scores(sums, 0, level.packing, level.ridge, &mut running, &mut below);
        if of.has_missing {
            add_scores(sums, leaf[0], level.packing, level.ridge, &mut running, &mut above);
        }
    }
    let cut = |missing_above: bool, (bin, score): (usize, &f64)| {
        Some(Cut { feature, bin: bin as u8, missing_above, score: *score })
    };
    let best = |best, scores: &[f64], missing_above| {
        scores.iter().enumerate().skip(1).fold(best, |best, scored| better(best, cut(missing_above, scored)))
    };
    let cut = best(None, &below[..values], false);
    if of.has_missing { best(cut, &above[..=values], true) } else { cut }
}

/// As [`add_scores`] of a feature with a sign: halves whose values are against it have one value.
fn add_scores_in_order(sums: &[i64], moved: i64, level: Level<'_>, sign: i8, scores: &mut [f64; MOST]) {
    let Level { packing, ridge, .. } = level;
    let total: i64 = sums.iter().sum();
    if total == 0 {
        return;
    }
    let mut below = -moved;
    for (score, sum) in scores.iter_mut().zip(sums) {
        below += sum;
        let (g, w) = packing.unpack(below);
        let (other_g, other_w) = packing.unpack(total - below);
        let (w, other_w) = (w + ridge, other_w + ridge);
        let rise = f64::from(sign) * (other_g / other_w - g / w);
        *score += if rise >= 0.0 {
            g * g / w + other_g * other_g / other_w
        } else {
            (g + other_g) * (g + other_g) / (w + other_w)
        };
    }
}

simd! {
    /// Adds the scores of the two halves of a leaf, for each last bin of the lower half. `moved`: what belongs to the upper
    /// half in any case. `below`: scratch for the sums of lower halves.
    fn add_scores<'a>(
        sums: &'a [i64],
        moved: i64,
        packing: Packing,
        ridge: f64,
        below: &'a mut [i64; MOST],
        scores: &'a mut [f64; MOST],
    ) {
        let total: i64 = sums.iter().sum();
        if total == 0 {
            return;
        }
        let mut running = -moved;
        for (below, sum) in below.iter_mut().zip(sums) {
            running += sum;
            *below = running;
        }
        for (score, below) in scores.iter_mut().zip(&*below).take(sums.len()) {
            let (g, w) = packing.unpack(*below);
            let (other_g, other_w) = packing.unpack(total - below);
            *score += g * g / (w + ridge) + other_g * other_g / (other_w + ridge);
        }
    }
}
