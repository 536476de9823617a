//! A pairwise problem in score space: stores the scores of all documents, runs passes over all pairs, and computes sums
//! over documents. Newton's method accesses rows only through [`Rows`]; `remote_rows` implements this trait for rows
//! that are stored elsewhere.
//!
//! A large problem is divided into chunks of consecutive queries; the division depends only on the problem. Chunks run
//! in the caller's thread pool, and their results are added in chunk order, so results are bit-identical for any number
//! of threads. A small problem is a single chunk and runs on the calling thread.

use super::chunk::{Chunk, PassSums};
use super::curve::Curve;
use super::hessian::Precision;
use super::woodbury::{Documents, ZonePair};
use super::{chunk, curve, woodbury};
use crate::base::{Control, Reservation, parallel};
use crate::learn::solve::{PairBlock, PairProblem};
use crate::math::{Lanes, lanes};

/// A problem is divided into chunks only if a pass takes at least this many multiplications and comparisons.
const SERIAL_WORK: u64 = 2_000_000;
/// Maximum number of chunks.
const MOST_CHUNKS: u64 = 64;
/// With at least this many features, products are faster in single precision, and the next constant limits the number
/// of chunks, because adding their Hessians is slow.
pub(super) const MANY_FEATURES: usize = 256;
const MOST_WIDE_CHUNKS: u64 = 8;
/// Maximum number of bytes for the Hessians of all chunks together.
const HESSIAN_BYTES: u64 = 1 << 26;

/// A problem in score space.
pub(super) struct Space<'a> {
    chunks: Vec<Chunk<'a>>,
    /// The accepted point, if its scores were computed directly from the features.
    point: Option<Vec<Lanes>>,
    /// The last pass with the smoothed hinge, if it was at the accepted point.
    last_pass: Option<LastPass>,
    /// The documents and their inner products, once needed; used only if there are few documents.
    documents: Option<Documents<'a>>,
    /// Memory reserved for the centers (`pass`: one multiplier p0 per pair), if they are stored.
    center_memory: Option<Reservation>,
    /// Checked before every chunk. After a cancellation, chunks are skipped and results are meaningless.
    control: &'a Control,
    totals: Totals,
}

/// The result of a pass with the smoothed hinge.
struct LastPass {
    delta: f64,
    sums: PassSums,
    /// X'g, once it has been computed.
    product: Option<Vec<Lanes>>,
}

/// Number of comparisons and multiplications in one pass over a query.
fn work(block: &PairBlock) -> u64 {
    block.pairs + (2 * block.n_docs() * block.dim) as u64
}

/// Maximum number of chunks for a problem with `dim` features.
fn chunk_limit(dim: usize) -> u64 {
    let square = (8 * dim * dim).max(1) as u64;
    let most = if dim >= MANY_FEATURES { MOST_WIDE_CHUNKS } else { MOST_CHUNKS };
    (HESSIAN_BYTES / square).clamp(1, most)
}

/// An upper bound on the number of chunks into which this problem is divided if it has `dim` features.
pub fn largest_chunk_count(problem: &PairProblem<'_>, dim: usize) -> u64 {
    let total: u64 = problem.useful_blocks().map(|(block, _)| work(block)).sum();
    if total < SERIAL_WORK { 1 } else { chunk_limit(dim).min(total / (SERIAL_WORK / 8)) + 1 }
}

impl<'a> Space<'a> {
    /// Creates the score space from the queries that have a positive weight and at least one pair.
    pub(super) fn new(problem: &PairProblem<'a>, control: &'a Control) -> Self {
        let (dim, width) = (problem.dim, lanes::blocks_for(problem.dim));
        let total: u64 = problem.useful_blocks().map(|(block, _)| work(block)).sum();
        let chunk_work =
            if total < SERIAL_WORK { u64::MAX } else { (total / chunk_limit(dim)).max(SERIAL_WORK / 8) };
        let (mut chunks, mut parts, mut sum) = (Vec::new(), Vec::new(), 0);
        let (mut pairs, mut total_weight, mut pair_sum) = (0, 0.0, vec![Lanes::ZERO; width]);
        let mut documents = 0;
        let mut chunk = |parts: Vec<(&'a PairBlock, f64)>| {
            let first = documents;
            documents += parts.iter().map(|(block, _)| block.n_docs()).sum::<usize>();
            chunks.push(Chunk::new(parts, first));
        };
        for (block, weight) in problem.useful_blocks() {
            lanes::axpy(weight, &block.pair_sum, &mut pair_sum);
            total_weight += weight * block.total_weight();
            pairs += block.pairs;
            parts.push((block, weight));
            sum += work(block);
            if sum >= chunk_work {
                chunk(std::mem::take(&mut parts));
                sum = 0;
            }
        }
        if !parts.is_empty() {
            chunk(parts);
        }
        let totals = Totals { width, dim, total_weight, pairs, pair_sum };
        Self { chunks, point: None, last_pass: None, documents: None, center_memory: None, control, totals }
    }

    /// A pass at (accepted scores) + step * Xd for a loss that has a second derivative.
    pub(super) fn curve_pass<C: Curve>(&mut self, curve: C, step: f64) -> PassSums {
        PassSums::total(&self.each(|chunk| curve::pass(chunk, curve, step)))
    }

    /// The sum of c k z z' over all pairs at the accepted point, where k is the curvature. Only blocks on and above the
    /// diagonal are computed.
    pub(super) fn curve_hessian<C: Curve>(&mut self, curve: C) -> Vec<Lanes> {
        self.folded(self.matrix_size(), |chunk, out| curve::add_hessian(chunk, curve, out))
    }

    /// Number of blocks in a matrix of features x features.
    fn matrix_size(&self) -> usize {
        self.totals.width * lanes::LANES * self.totals.width
    }

    /// Runs `work` on all chunks and returns the results in chunk order; after a cancellation, default values.
    fn each<R: Send + Default>(&mut self, work: impl Fn(&mut Chunk<'a>) -> R + Sync + Send) -> Vec<R> {
        let control = self.control;
        let work = |chunk: &mut Chunk<'a>| if control.is_canceled() { R::default() } else { work(chunk) };
        if let [chunk] = &mut self.chunks[..] {
            return vec![work(chunk)];
        }
        parallel::map_of(self.chunks.iter_mut().collect(), |_, chunk| work(chunk))
    }

    /// Lets each chunk write into a vector of `size` blocks, and adds the vectors in chunk order.
    fn folded(
        &mut self,
        size: usize,
        work: impl Fn(&mut Chunk<'a>, &mut [Lanes]) + Sync + Send,
    ) -> Vec<Lanes> {
        let results = self.each(|chunk| {
            let mut out = vec![Lanes::ZERO; size];
            work(chunk, &mut out);
            Some(out)
        });
        let mut results = results.into_iter().flatten();
        let mut total = results.next().unwrap_or_else(|| vec![Lanes::ZERO; size]);
        results.for_each(|part| lanes::axpy(1.0, &part, &mut total));
        total
    }
}

impl Rows for Space<'_> {
    fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Computes the scores of w from the features and accepts them. Does nothing if the accepted scores were already
    /// computed from w.
    fn set_point(&mut self, w: &[Lanes]) {
        if self.point.as_deref() == Some(w) {
            return;
        }
        (self.point, self.last_pass) = (Some(w.to_vec()), None);
        self.each(|chunk| chunk::write_scores(&chunk.parts, w, &mut chunk.accepted));
    }

    fn set_direction(&mut self, d: &[Lanes]) {
        self.each(|chunk| chunk::write_scores(&chunk.parts, d, &mut chunk.direction_scores));
    }

    fn accept(&mut self) {
        (self.point, self.last_pass) = (None, None);
        self.chunks.iter_mut().for_each(Chunk::accept);
    }

    fn transpose_times(&mut self) -> Vec<Lanes> {
        let known = self.last_pass.as_ref().and_then(|last| last.product.clone());
        let product = known.unwrap_or_else(|| {
            self.folded(self.totals.width, |chunk, out| chunk::transpose_times(chunk, out))
        });
        if let Some(last) = &mut self.last_pass {
            last.product = Some(product.clone());
        }
        product
    }

    fn moment(&mut self, precision: Precision) -> Vec<Lanes> {
        self.folded(self.matrix_size(), |chunk, out| chunk::add_moment(chunk, precision, out))
    }
}

impl HingeRows for Space<'_> {
    fn pass(&mut self, step: f64, delta: f64) -> PassSums {
        let at_point = step.abs() <= 0.0;
        let known = self.last_pass.as_ref().filter(|last| at_point && last.delta.total_cmp(&delta).is_eq());
        if let Some(last) = known {
            return last.sums;
        }
        let sums = PassSums::total(&self.each(|chunk| chunk::pass(chunk, step, delta)));
        self.last_pass = at_point.then_some(LastPass { delta, sums, product: None });
        sums
    }

    fn hessian(&mut self, delta: f64, precision: Precision) -> (Vec<Lanes>, u64) {
        let matrix =
            self.folded(self.matrix_size(), |chunk, out| chunk::add_hessian(chunk, delta, precision, out));
        (matrix, self.chunks.iter().map(|chunk| chunk.zone_pairs).sum())
    }

    fn largest_margin(&mut self) -> f64 {
        self.each(|chunk| chunk.largest_margin()).into_iter().fold(f64::NEG_INFINITY, f64::max)
    }

    fn few_pairs(&mut self, delta: f64) -> Option<Vec<ZonePair>> {
        let parts = || self.chunks.iter().flat_map(|chunk| &chunk.parts);
        let documents = parts().map(|part| part.block.n_docs()).sum();
        if !woodbury::are_few(documents, self.totals.dim) {
            return None;
        }
        let most = self.totals.dim;
        let lists = self.each(|chunk| chunk::zone_pairs(chunk, delta, most));
        let pairs: Vec<ZonePair> = lists.into_iter().collect::<Option<Vec<_>>>()?.concat();
        debug_assert!(pairs.is_sorted_by_key(|pair| pair.better));
        (pairs.len() <= most).then_some(pairs)
    }

    fn solve_pairs(&mut self, pairs: &[ZonePair], lambda: f64, r: &[Lanes]) -> Option<Vec<Lanes>> {
        let parts = self.chunks.iter().flat_map(|chunk| &chunk.parts);
        let documents = self.documents.get_or_insert_with(|| Documents::new(parts.map(|part| part.block)));
        documents.solve(pairs, lambda, r)
    }

    fn center_bytes(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.pair_blocks * size_of::<Lanes>()).sum()
    }

    fn update_centers(&mut self, delta: f64) {
        if self.center_memory.is_none() {
            let (what, way_out) = ("a multiplier for each pair", "use fewer rows, or shorter lists");
            let bytes = self.center_bytes() as u64;
            self.center_memory = Some(self.control.reserve_or_unwind(bytes, what, way_out));
        }
        self.last_pass = None;
        self.each(|chunk| chunk::update_centers(chunk, delta));
    }

    fn clear_centers(&mut self) {
        self.chunks.iter_mut().for_each(Chunk::clear_centers);
        if self.center_memory.take().is_some() {
            self.last_pass = None;
        }
    }
}

// The interface through which Newton's method accesses the rows of a problem, in memory (`space`) or elsewhere
// (`remote_rows`).

/// The constants of a problem, which do not depend on the point.
pub(super) struct Totals {
    /// Number of blocks in a feature vector.
    pub width: usize,
    /// Number of features.
    pub dim: usize,
    /// The sum of c over all pairs, which is the loss at w = 0.
    pub total_weight: f64,
    /// Number of pairs.
    pub pairs: u64,
    /// The sum of c z over all pairs, multiplied by pair weights if there are any.
    pub pair_sum: Vec<Lanes>,
}

/// The rows of a problem.
pub(super) trait Rows {
    /// The sums that do not depend on w.
    fn totals(&self) -> &Totals;

    /// Makes w the accepted point.
    fn set_point(&mut self, w: &[Lanes]);

    /// Makes d the direction of the next passes.
    fn set_direction(&mut self, d: &[Lanes]);

    /// Accepts the point of the last pass.
    fn accept(&mut self);

    /// X'g of the last pass.
    fn transpose_times(&mut self) -> Vec<Lanes>;

    /// The sum of c z z' over all pairs. Only blocks on and above the diagonal are computed.
    fn moment(&mut self, precision: Precision) -> Vec<Lanes>;
}

/// Rows for the smoothed hinge loss. The default methods are for implementations that store nothing per pair.
pub(super) trait HingeRows: Rows {
    /// A pass at (accepted point) + step * (direction). `delta`: the width of the quadratic zone.
    fn pass(&mut self, step: f64, delta: f64) -> PassSums;

    /// The sum of (c / delta) z z' over the pairs in the zone at the accepted point, and the number of these pairs.
    /// Only blocks on and above the diagonal are computed.
    fn hessian(&mut self, delta: f64, precision: Precision) -> (Vec<Lanes>, u64);

    /// The largest margin of any pair at the accepted point, or infinity if it is unknown.
    fn largest_margin(&mut self) -> f64 {
        f64::INFINITY
    }

    /// Tells the implementation which zone width is likely to come next.
    fn expect_width(&mut self, _width: f64) {}

    /// If the pass at the accepted point is already known for a width near `width`, returns that width; otherwise
    /// `width`.
    fn near_width(&self, width: f64) -> f64 {
        width
    }

    /// The pairs in the zone at the accepted point, weighted by c / delta; `None` if there are many pairs or documents.
    fn few_pairs(&mut self, _delta: f64) -> Option<Vec<ZonePair>> {
        None
    }

    /// Solves (H + 2 lambda I) d = r for d, where H is the Hessian of these pairs.
    fn solve_pairs(&mut self, _pairs: &[ZonePair], _lambda: f64, _r: &[Lanes]) -> Option<Vec<Lanes>> {
        None
    }

    /// Number of bytes needed to store one center per pair.
    fn center_bytes(&self) -> usize {
        usize::MAX
    }

    /// Replaces every center p0 with the value of p at the accepted point.
    fn update_centers(&mut self, _delta: f64) {}

    /// Resets every center to 1/2.
    fn clear_centers(&mut self) {}
}
