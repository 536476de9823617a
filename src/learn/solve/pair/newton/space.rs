//! A problem in score space: the scores of all documents, passes over all pairs, and sums over documents. Newton's method
//! reads the rows through [`Rows`], which `remote_rows` implements for rows elsewhere.
//!
//! A large problem is divided into chunks of consecutive queries, in a way that depends on the problem alone. Chunks
//! run in the caller's thread pool, and their results are added in chunk order, so the number of threads changes no
//! bit. A small problem is one chunk and runs on the calling thread.

use super::chunk::{Chunk, PassSums};
use super::curve::Curve;
use super::hessian::Precision;
use super::woodbury::{Documents, ZonePair};
use super::{chunk, curve, woodbury};
use crate::base::{Control, Reservation, parallel};
use crate::learn::solve::{PairBlock, PairProblem};
use crate::math::{Lanes, lanes};

/// Multiplications and comparisons of a pass below which a problem is not cut.
const SERIAL_WORK: u64 = 2_000_000;
/// Largest number of chunks.
const MOST_CHUNKS: u64 = 64;
/// From this many features on, products are faster in single precision. Then the next limit of chunks applies: adding Hessians is slow.
pub(super) const MANY_FEATURES: usize = 256;
const MOST_WIDE_CHUNKS: u64 = 8;
/// Bytes that the chunks' Hessians may take together.
const HESSIAN_BYTES: u64 = 1 << 26;

/// Score space of a problem.
pub(super) struct Space<'a> {
    chunks: Vec<Chunk<'a>>,
    /// The point whose scores were computed from the features and are the accepted ones.
    point: Option<Vec<Lanes>>,
    /// The last pass of the hinge, if it was at the accepted point.
    last_pass: Option<LastPass>,
    /// The documents with their products, if they are few and the products were needed.
    documents: Option<Documents<'a>>,
    /// Memory for the centers, if used.
    center_memory: Option<Reservation>,
    /// Checked before every chunk. After a cancellation chunks are skipped, and results are meaningless.
    control: &'a Control,
    totals: Totals,
}

/// A pass of the hinge.
struct LastPass {
    delta: f64,
    sums: PassSums,
    /// X'g, once computed.
    product: Option<Vec<Lanes>>,
}

/// Comparisons and multiplications of one pass over a query.
fn work(block: &PairBlock) -> u64 {
    block.pairs + (2 * block.n_docs() * block.dim) as u64
}

/// Largest number of chunks of a problem with `dim` features.
fn chunk_limit(dim: usize) -> u64 {
    let square = (8 * dim * dim).max(1) as u64;
    let most = if dim >= MANY_FEATURES { MOST_WIDE_CHUNKS } else { MOST_CHUNKS };
    (HESSIAN_BYTES / square).clamp(1, most)
}

/// The number of chunks that a problem has at most, if it has `dim` features.
pub fn largest_chunk_count(problem: &PairProblem<'_>, dim: usize) -> u64 {
    let total: u64 = problem.useful_blocks().map(|(block, _)| work(block)).sum();
    if total < SERIAL_WORK { 1 } else { chunk_limit(dim).min(total / (SERIAL_WORK / 8)) + 1 }
}

impl<'a> Space<'a> {
    /// The queries with a positive weight and at least one pair.
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

    /// Pass at (accepted scores) + step * Xd for a loss with a curvature.
    pub(super) fn curve_pass<C: Curve>(&mut self, curve: C, step: f64) -> PassSums {
        PassSums::total(&self.each(|chunk| curve::pass(chunk, curve, step)))
    }

    /// Sum of c k z z' over all pairs at the accepted point, k the curvature; blocks on and above the diagonal.
    pub(super) fn curve_hessian<C: Curve>(&mut self, curve: C) -> Vec<Lanes> {
        self.folded(self.matrix_size(), |chunk, out| curve::add_hessian(chunk, curve, out))
    }

    /// Blocks of a matrix of features.
    fn matrix_size(&self) -> usize {
        self.totals.width * lanes::LANES * self.totals.width
    }

    /// Results of all chunks, in chunk order; defaults when canceled.
    fn each<R: Send + Default>(&mut self, work: impl Fn(&mut Chunk<'a>) -> R + Sync + Send) -> Vec<R> {
        let control = self.control;
        let work = |chunk: &mut Chunk<'a>| if control.is_canceled() { R::default() } else { work(chunk) };
        if let [chunk] = &mut self.chunks[..] {
            return vec![work(chunk)];
        }
        parallel::map_of(self.chunks.iter_mut().collect(), |_, chunk| work(chunk))
    }

    /// The sum, in chunk order, of what the chunks write into vectors of `size` blocks.
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

    /// Computes the scores of w from the features, unless they are the accepted ones, and accepts them.
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

// Interface of Newton's method to the rows of a problem: rows in memory (`space`), or rows elsewhere (`remote_rows`).

/// Constants of a problem, which do not depend on the point.
pub(super) struct Totals {
    /// Blocks per vector of features.
    pub width: usize,
    /// Number of features.
    pub dim: usize,
    /// Sum of c over all pairs, the loss of w = 0.
    pub total_weight: f64,
    /// Number of pairs.
    pub pairs: u64,
    /// Sum of c z over all pairs, including pair weights.
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

    /// Sum of c z z' over all pairs, blocks on and above the diagonal.
    fn moment(&mut self, precision: Precision) -> Vec<Lanes>;
}

/// Rows with the smoothed hinge. The default methods are for rows that store nothing per pair.
pub(super) trait HingeRows: Rows {
    /// Pass at (accepted point) + step * (direction) with the given width of the zone.
    fn pass(&mut self, step: f64, delta: f64) -> PassSums;

    /// Sum of (c / delta) z z' over the zone at the accepted point, blocks on and above the diagonal; and the number
    /// of pairs in the zone.
    fn hessian(&mut self, delta: f64, precision: Precision) -> (Vec<Lanes>, u64);

    /// Largest margin of a pair at the accepted point, or infinity if that is not known.
    fn largest_margin(&mut self) -> f64 {
        f64::INFINITY
    }

    /// Announces the likely next width.
    fn expect_width(&mut self, _width: f64) {}

    /// The width whose pass at the accepted point is already known, if it is near this one; otherwise this one.
    fn near_width(&self, width: f64) -> f64 {
        width
    }

    /// The pairs in the zone at the accepted point, weighted with c / delta, if they and the documents are few.
    fn few_pairs(&mut self, _delta: f64) -> Option<Vec<ZonePair>> {
        None
    }

    /// The solution of (H + 2 lambda I) d = r, H the Hessian of these pairs.
    fn solve_pairs(&mut self, _pairs: &[ZonePair], _lambda: f64, _r: &[Lanes]) -> Option<Vec<Lanes>> {
        None
    }

    /// Memory in bytes for one center per pair.
    fn center_bytes(&self) -> usize {
        usize::MAX
    }

    /// Replaces every center p0 by the p of the accepted point.
    fn update_centers(&mut self, _delta: f64) {}

    /// Resets every center to 1/2.
    fn clear_centers(&mut self) {}
}
