//! The judgments of the training queries, prepared for fitting functions. During training they are rows of the training
//! set. In a loaded model they are byte blocks, which may be read on demand. Up to 256 MiB of prepared queries are
//! cached.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::judgments::{BlockLayout, Judgments, RowJudgments};
use super::kept_sums::KeptSums;
use crate::base::{BoundedCache, Control, Error, Memory, Reservation, Result, matrix_bytes, parallel};
use crate::cost::loss::{self, ListLoss, Loss, PairWeights};
use crate::data::{Dataset, ListConstraint, Matrix};
use crate::learn::kernel::SingleMap;
use crate::learn::solve::{ListBlock, PairWeighting, QueryBlock, Rows};
use crate::learn::space::{Form, Scorer, Space};
use crate::math::LANES;

/// Largest number of weights for which pair moments are computed. They take 8 dim^2 bytes per query.
const MAX_DIM_WITH_MOMENT: usize = 200;

/// Number of vectors, one entry per document, that a prepared query stores besides its features.
const SMALL_VECTORS: usize = 6;

/// Number of vectors in a prepared query that hold document or pair weights.
const WEIGHT_VECTORS: usize = 4;

/// Advice for the error when prepared queries take too much memory.
const FEWER: &str = "use fewer rows, landmarks or threads";

/// Maximum size of the cache of prepared queries, in bytes.
const CACHE_BYTES: usize = 256 << 20;

/// Number of fits whose blocks are loaded together.
pub const BATCH: usize = 64;

/// When the blocks of a model are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loading {
    /// All blocks are loaded right after the header and stay in memory.
    All,
    /// A block is loaded when a fit needs it.
    OnDemand,
}

/// Where the judgments of all queries are stored.
#[derive(Debug)]
enum Origin {
    /// Rows of the training set, with scaled features.
    Rows(Arc<Dataset>),
    /// Blocks of a model, one per query; each is set when it is loaded.
    Blocks(Vec<OnceLock<Arc<Judgments>>>),
    /// Blocks of a model that are kept only in the cache.
    CachedBlocks,
}

/// Where the judgments of one query are stored.
#[derive(Debug, Clone)]
enum Source {
    /// In the training set.
    Rows(Arc<Dataset>),
    /// In a loaded block.
    Block(Arc<Judgments>),
}

impl Source {
    /// The document features, the range of rows that belong to the query, and the judgments of these rows.
    fn documents(&self, query: usize) -> (&Matrix, Range<usize>, RowJudgments<'_>) {
        match self {
            Self::Rows(data) => {
                let judged = RowJudgments {
                    labels: data.labels(query),
                    doc_weights: data.doc_weights(query),
                    row_groups: data.row_groups(query),
                };
                (&data.features, data.rows(query), judged)
            }
            Self::Block(block) => (&block.features, 0..block.labels.len(), block.judged()),
        }
    }
}

/// A query in the cache.
#[derive(Debug)]
struct CachedQuery {
    source: Source,
    /// The documents in the form that a solver needs, prepared at the first use.
    prepared: OnceLock<Arc<QueryBlock>>,
}

impl CachedQuery {
    fn new(source: Source) -> Arc<Self> {
        Arc::new(Self { source, prepared: OnceLock::new() })
    }
}

/// The judgments of the training queries, as rows of the training set or as blocks of a model.
#[derive(Debug)]
pub struct TrainingBlocks {
    /// Number of documents of each query; 0 if the query is not informative.
    pub(crate) sizes: Vec<u32>,
    origin: Origin,
    layout: BlockLayout,
    /// The space in which functions are fitted.
    pub space: Arc<Space>,
    /// The loss that queries are prepared for.
    pub loss: Loss,
    single_map: OnceLock<Option<(SingleMap, Reservation)>>,
    sums: Mutex<Option<KeptSums>>,
    cache: BoundedCache<usize, Arc<CachedQuery>>,
}

/// The properties of blocks that depend on the training set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockFormat {
    /// Bytes per feature value: 4 or 8.
    pub element_bytes: u8,
    /// Whether documents have weights.
    pub has_doc_weights: bool,
}

fn list_block(rows: Rows, judged: RowJudgments<'_>, loss: &ListLoss) -> Result<QueryBlock> {
    let block = ListBlock::new(rows, judged.labels, judged.row_groups, loss)?;
    block.weighted(judged.labels, judged.doc_weights, loss).map(QueryBlock::List)
}

impl TrainingBlocks {
    /// The judgments of a training set with scaled features.
    pub fn from_rows(space: Arc<Space>, data: Arc<Dataset>, loss: Loss) -> Self {
        // Losses on scores pull documents with equal labels together. If no query has different labels, nothing can be
        // learned from that.
        let differ = (0..data.n_queries()).any(|query| loss::pair_count(data.labels(query)) > 0);
        Self::of_rows(space, data, loss, differ)
    }

    /// Like [`Self::from_rows`], for rows that may be only a part of the training set. `differ`: whether any query in
    /// the whole training set contains documents of different relevance.
    pub fn of_rows(space: Arc<Space>, data: Arc<Dataset>, loss: Loss, differ: bool) -> Self {
        let size = |query: usize| {
            let labels = data.labels(query);
            if differ && loss.is_informative(labels, data.doc_weights(query)) {
                labels.len() as u32
            } else {
                0
            }
        };
        let sizes = (0..data.n_queries()).map(size).collect();
        let format = BlockFormat {
            element_bytes: data.features.element_bytes() as u8,
            has_doc_weights: !data.doc_weights.is_empty(),
        };
        Self::new(space, loss, sizes, format, Origin::Rows(data))
    }

    /// The judgments in a stored model, none of them loaded yet. `sizes`: number of documents of each query.
    pub(crate) fn from_blocks(
        space: Arc<Space>,
        loss: Loss,
        sizes: Vec<u32>,
        format: BlockFormat,
        loading: Loading,
    ) -> Self {
        let origin = match loading {
            Loading::All => Origin::Blocks(vec![OnceLock::new(); sizes.len()]),
            Loading::OnDemand => Origin::CachedBlocks,
        };
        Self::new(space, loss, sizes, format, origin)
    }

    fn new(space: Arc<Space>, loss: Loss, sizes: Vec<u32>, format: BlockFormat, origin: Origin) -> Self {
        let has_row_groups = loss.constraint() != ListConstraint::None;
        let BlockFormat { element_bytes, has_doc_weights } = format;
        let layout = BlockLayout { width: space.width(), element_bytes, has_row_groups, has_doc_weights };
        let (single_map, cache) = (OnceLock::new(), BoundedCache::new(CACHE_BYTES));
        Self { sizes, origin, layout, space, loss, single_map, sums: Mutex::default(), cache }
    }

    /// Prepares these judgments for a different loss.
    ///
    /// # Errors
    /// If the judgments come from a stored model.
    pub fn for_loss(&self, loss: Loss) -> Result<Self> {
        match &self.origin {
            Origin::Rows(data) => Ok(Self::from_rows(Arc::clone(&self.space), Arc::clone(data), loss)),
            _ => Err(Error::Internal("judgments of a model, for another loss than its own".to_owned())),
        }
    }

    /// Number of training queries.
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Whether there are no training queries.
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Whether the query influences a fit ([`Loss::is_informative`]).
    pub fn is_informative(&self, query: usize) -> bool {
        self.sizes[query] > 0
    }

    /// The rows of the training set with scaled features; `None` for a loaded model.
    pub(super) fn rows(&self) -> Option<&Arc<Dataset>> {
        match &self.origin {
            Origin::Rows(data) => Some(data),
            _ => None,
        }
    }

    /// The space's feature map in single precision, if that is accurate enough.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub(super) fn single_map(&self, control: &Control) -> Result<Option<&SingleMap>> {
        if self.single_map.get().is_none() {
            let what = format_args!("a space of {} landmarks in single precision", self.space.dim());
            let memory = control.reserve(self.space.single_map_bytes(), what, FEWER)?;
            self.single_map.get_or_init(|| Some((self.space.single_map()?, memory)));
        }
        Ok(self.single_map.get().and_then(Option::as_ref).map(|(map, _)| map))
    }

    /// The least-squares sums that the latest fit kept for the next one.
    pub(super) fn kept_sums(&self) -> MutexGuard<'_, Option<KeptSums>> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The factor by which each term of the query's loss is multiplied to make the loss a mean; 0 if the query is not
    /// informative.
    pub fn normalizer(&self, query: usize) -> f64 {
        if self.is_informative(query) { self.loss.normalizer(self.sizes[query] as usize) } else { 0.0 }
    }

    /// The format of the blocks.
    pub(crate) fn format(&self) -> BlockFormat {
        let BlockLayout { element_bytes, has_doc_weights, .. } = self.layout;
        BlockFormat { element_bytes, has_doc_weights }
    }

    /// Prepares an informative query's documents for a solver, for a single use: the result is not cached.
    ///
    /// # Errors
    /// If the block is not loaded; an interrupt.
    pub fn prepare(&self, query: usize, control: &Control) -> Result<Arc<QueryBlock>> {
        self.prepare_from(query, &self.source(query)?, control).map(Arc::new)
    }

    /// Prepares an informative query's documents for a solver and caches them, together with data that several fits can
    /// share.
    ///
    /// # Errors
    /// If the block is not loaded; an interrupt.
    pub fn prepare_cached(&self, query: usize, control: &Control) -> Result<Arc<QueryBlock>> {
        let cached = self.cached(query)?;
        if let Some(block) = cached.prepared.get() {
            return Ok(Arc::clone(block));
        }
        let block = match self.prepare_from(query, &cached.source, control)? {
            QueryBlock::Pair(block) if self.space.dim() <= MAX_DIM_WITH_MOMENT => {
                QueryBlock::Pair(block.with_moment())
            }
            block => block,
        };
        Ok(Arc::clone(cached.prepared.get_or_init(|| Arc::new(block))))
    }

    /// Returns the query's cache entry. If it is missing and the judgments are in memory, it is added.
    fn cached(&self, query: usize) -> Result<Arc<CachedQuery>> {
        if let Some(cached) = self.cache.get(&query) {
            return Ok(cached);
        }
        let cached = CachedQuery::new(self.source(query)?);
        self.cache.put(query, Arc::clone(&cached), self.cached_bytes(query) as usize);
        Ok(cached)
    }

    /// The judgments of a query.
    fn source(&self, query: usize) -> Result<Source> {
        let source = match &self.origin {
            Origin::Rows(data) => Some(Source::Rows(Arc::clone(data))),
            Origin::Blocks(blocks) => blocks[query].get().cloned().map(Source::Block),
            Origin::CachedBlocks => self.cache.get(&query).map(|cached| cached.source.clone()),
        };
        source.ok_or_else(|| Error::Internal(format!("the block of query {query} is not loaded")))
    }

    fn prepare_from(&self, query: usize, source: &Source, control: &Control) -> Result<QueryBlock> {
        let (features, rows, judged) = source.documents(query);
        let block = match (source, &self.loss) {
            // Linear functions use the rows of the data set directly, without copying them.
            (Source::Rows(data), Loss::List(loss)) if self.space.is_linear() => {
                list_block(Rows::Of(Arc::clone(data), rows), judged, loss)
            }
            _ => self.query_block(features, rows, judged, control),
        };
        block.map_err(|error| match (source, error) {
            (Source::Rows(data), Error::Data(problem)) => {
                Error::Data(format!("query {}: {problem}", data.query_ids[query]))
            }
            (_, other) => other,
        })
    }

    fn query_block(
        &self,
        documents: &Matrix,
        rows: Range<usize>,
        judged: RowJudgments<'_>,
        control: &Control,
    ) -> Result<QueryBlock> {
        match &self.loss {
            Loss::Pair(_, by) => {
                let weighting = PairWeighting { by: *by, documents: judged.doc_weights };
                let block = self.space.pair_block(documents, rows, judged.labels, weighting, control);
                block.map(QueryBlock::Pair)
            }
            Loss::List(loss) => {
                let rows = Rows::Own(self.space.rows(documents, rows, control)?);
                list_block(rows, judged, loss)
            }
        }
    }

    /// Reserves the memory that these queries take when prepared for one fit, including temporary copies.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn reserve(&self, queries: impl Iterator<Item = usize>, control: &Control) -> Result<Reservation> {
        let (mut sum, mut largest) = (0_u64, 0);
        for query in queries {
            let bytes = self.prepared_bytes(query);
            (sum, largest) = (sum.saturating_add(bytes), bytes.max(largest));
        }
        self.reserve_bytes(sum, largest, control.memory())
    }

    /// Number of bytes that the blocks of all queries take in a model.
    pub(crate) fn block_bytes(&self) -> u64 {
        let bytes = |size: &u32| self.layout.block_bytes(*size as usize).unwrap_or(usize::MAX) as u64;
        self.sizes.iter().map(bytes).fold(0, u64::saturating_add)
    }

    /// Reserves memory for the queries prepared for `fits` fits, each using at most `neighbors` queries. It covers the
    /// cache and the queries that exceed the cache limit while fits use them. Must be called in the thread pool that
    /// runs the fits.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn reserve_cache(&self, fits: usize, neighbors: usize, memory: &Memory) -> Result<Reservation> {
        let informative = (0..self.len()).filter(|query| self.is_informative(*query));
        let mut bytes: Vec<u64> = informative.map(|query| self.cached_bytes(query)).collect();
        bytes.sort_unstable();
        let of_largest = |count: usize| bytes.iter().rev().take(count).copied().fold(0, u64::saturating_add);
        let mut sum = of_largest(fits.saturating_mul(neighbors));
        if sum > CACHE_BYTES as u64 {
            let in_use = match self.origin {
                // The queries of a batch stay in the cache until all fits of the batch are done.
                Origin::CachedBlocks => of_largest(neighbors.saturating_mul(fits.min(BATCH))),
                // Each thread may have to prepare again the queries that the cache has dropped.
                _ => of_largest(neighbors).saturating_mul(fits.min(parallel::threads()) as u64),
            };
            sum = in_use.saturating_add(CACHE_BYTES as u64);
        }
        self.reserve_bytes(sum, of_largest(1), memory)
    }

    fn reserve_bytes(&self, sum: u64, largest: u64, memory: &Memory) -> Result<Reservation> {
        let copies = largest.saturating_mul(parallel::threads() as u64);
        let what = format_args!("preparing training queries in a space of {} weights", self.space.dim());
        memory.reserve(sum.saturating_add(copies), what, FEWER)
    }

    /// Number of bytes that a query takes when prepared for a solver, without the pair moment.
    fn prepared_bytes(&self, query: usize) -> u64 {
        let n = self.sizes[query] as usize;
        let is_linear = self.space.is_linear();
        let rows = match (&self.loss, &self.origin) {
            (Loss::List(_), Origin::Rows(_)) if is_linear => 0,
            (Loss::Pair(..), Origin::Rows(data)) if !is_linear && self.space.form == Form::Ranking => {
                1 + loss::pair_count(data.labels(query)) as usize
            }
            (Loss::Pair(..), _) if !is_linear && self.space.form == Form::Ranking => 1 + n * n / 2,
            _ => n,
        };
        let by_grades = matches!(self.loss, Loss::Pair(_, by) if by != PairWeights::Equal);
        let weighs = self.layout.has_doc_weights || by_grades;
        let vectors = SMALL_VECTORS + if weighs { WEIGHT_VECTORS } else { 0 };
        matrix_bytes(rows, self.space.dim().next_multiple_of(LANES)).saturating_add(matrix_bytes(n, vectors))
    }

    /// Number of bytes that a query's pair moment takes.
    fn moment_bytes(&self) -> u64 {
        let dim = self.space.dim();
        let has_moment = matches!(self.loss, Loss::Pair(..)) && dim <= MAX_DIM_WITH_MOMENT;
        let width = if has_moment { dim.next_multiple_of(LANES) } else { 0 };
        matrix_bytes(width, width)
    }

    /// Number of bytes that a query takes in the cache.
    fn cached_bytes(&self, query: usize) -> u64 {
        let judgments = self.layout.block_bytes(self.sizes[query] as usize).unwrap_or(usize::MAX) as u64;
        let own = if matches!(self.origin, Origin::Rows(_)) { 0 } else { judgments.saturating_mul(2) };
        self.prepared_bytes(query).saturating_add(self.moment_bytes()).saturating_add(own)
    }

    /// Returns the queries in `queries` whose blocks must be loaded before use. Blocks that are loaded afterwards stay
    /// in memory until the next call.
    pub(crate) fn missing(&self, queries: &[usize]) -> Vec<usize> {
        if !matches!(self.origin, Origin::CachedBlocks) {
            return Vec::new();
        }
        self.cache.trim();
        queries.iter().copied().filter(|query| !self.cache.contains(query)).collect()
    }

    /// Loads the block of a query.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the bytes are not the judgments of this query.
    pub(crate) fn load(&self, query: usize, bytes: &[u8]) -> Result<()> {
        let judgments = Arc::new(self.layout.read(self.sizes[query] as usize, bytes)?);
        match &self.origin {
            Origin::Rows(_) => return Err(Error::Internal("a block for rows".to_owned())),
            Origin::Blocks(blocks) => drop(blocks[query].set(judgments)),
            // A batch may need more memory than the limit, so entries are dropped only between batches, in `missing`.
            Origin::CachedBlocks => {
                let cached = CachedQuery::new(Source::Block(judgments));
                self.cache.put_without_limit(query, cached, self.cached_bytes(query) as usize);
            }
        }
        Ok(())
    }

    /// Appends the block of a query to `out`.
    ///
    /// # Errors
    /// If the block is not loaded.
    pub(crate) fn write(&self, query: usize, out: &mut Vec<u8>) -> Result<()> {
        let source = self.source(query)?;
        let (features, rows, judged) = source.documents(query);
        self.layout.write(judged, features, rows, out);
        Ok(())
    }
}
