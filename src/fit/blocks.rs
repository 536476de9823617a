//! The judgments that training queries lend to targets.
//!
//! In training they are rows of the training set. A model that was read has them as blocks of bytes, which come when a
//! target needs them ([`TrainingBlocks::receive`]). What a solver of the loss makes of a query is kept as long as there is room.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::numbers::{read_f32, read_f64, write_numbers, write_rows};
use crate::arrange::{ListConstraint, RowGroup};
use crate::control::Control;
use crate::data::{Dataset, Matrix, shaped};
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::solve::{ListBlock, QueryBlock, Rows};
use crate::space::Space;

/// A training query from which a target borrows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbor {
    /// Number of the training query.
    pub query: usize,
    /// Distance of its features from the target's.
    pub distance: f64,
    /// Its weight pi.
    pub weight: f64,
}

impl Neighbor {
    /// A training query that counts fully, its distance left aside.
    pub(crate) fn with_full_weight(query: usize) -> Self {
        Self { query, distance: 0.0, weight: 1.0 }
    }
}

/// Above this many weights the pair moments are not kept: they take 8 b^2 bytes for each query.
const WIDEST_WITH_MOMENT: usize = 200;

/// Bytes of a row group: two numbers of 4 bytes.
const ROW_GROUP_BYTES: usize = 8;

/// Prepared queries are kept up to about this many bytes.
const MOST_BYTES: usize = 256 << 20;

/// Where judgments come from.
#[derive(Debug)]
enum Origin {
    /// Rows of the training set, its features scaled.
    Rows(Arc<Dataset>),
    /// Blocks of a model of elements of 4 or 8 bytes; `whole`: all of them have been received and stay.
    Blocks { element_bytes: u8, loading: Loading },
}

/// When the blocks of a model are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loading {
    /// All of them, right after the header. They stay in memory.
    All,
    /// When a fit needs them.
    OnDemand,
}

/// Labels, row groups and documents of one query, as a block of a model holds them.
#[derive(Debug)]
struct Judgments {
    labels: Vec<f64>,
    /// Empty where the loss asks for no groups.
    row_groups: Vec<RowGroup>,
    features: Matrix,
}

/// One query at hand.
#[derive(Debug)]
struct Entry {
    /// What its block holds; `None` where the judgments are rows.
    judgments: Option<Arc<Judgments>>,
    block: OnceLock<Arc<QueryBlock>>,
}

impl Entry {
    fn new(judgments: Option<Arc<Judgments>>) -> Arc<Self> {
        Arc::new(Self { judgments, block: OnceLock::new() })
    }
}

/// Queries at hand; those that are prepared stand in `order`, oldest first, and take `bytes`.
#[derive(Debug, Default)]
struct AtHand {
    entries: HashMap<usize, Arc<Entry>>,
    order: VecDeque<usize>,
    bytes: usize,
}

/// Judgments per training query; none where they teach the loss nothing.
#[derive(Debug)]
pub struct TrainingBlocks {
    /// Documents that each query lends (`n_queries`); 0 where it lends nothing.
    sizes: Vec<u32>,
    origin: Origin,
    space: Arc<Space>,
    loss: Loss,
    at_hand: Mutex<AtHand>,
}

impl TrainingBlocks {
    /// The judgments of a training set whose features are scaled: those of every query that teaches the loss anything.
    pub fn from_rows(space: Arc<Space>, data: Arc<Dataset>, loss: Loss) -> Self {
        let lent = |query: usize| {
            let labels = data.labels(query);
            if loss.teaches(labels) { labels.len() as u32 } else { 0 }
        };
        let sizes = (0..data.n_queries()).map(lent).collect();
        Self { sizes, origin: Origin::Rows(data), space, loss, at_hand: Mutex::default() }
    }

    /// The same judgments for another loss.
    ///
    /// # Errors
    /// Judgments of a model.
    pub fn for_loss(&self, loss: Loss) -> Result<Self> {
        match &self.origin {
            Origin::Rows(data) => Ok(Self::from_rows(Arc::clone(&self.space), Arc::clone(data), loss)),
            Origin::Blocks { .. } => Err(Error::Internal("a model's judgments are for its loss".to_owned())),
        }
    }

    /// The judgments of a model, to be received block by block.
    pub(crate) fn from_blocks(
        space: Arc<Space>,
        loss: Loss,
        sizes: Vec<u32>,
        element_bytes: u8,
        loading: Loading,
    ) -> Self {
        Self {
            sizes,
            origin: Origin::Blocks { element_bytes, loading },
            space,
            loss,
            at_hand: Mutex::default(),
        }
    }

    /// Number of training queries.
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// True without queries.
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// True where the query has judgments to lend.
    pub fn is_informative(&self, query: usize) -> bool {
        self.sizes[query] > 0
    }

    /// Documents that each query lends (`n_queries`).
    pub(crate) fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// The space of the functions fitted on the judgments.
    pub fn space(&self) -> &Arc<Space> {
        &self.space
    }

    /// The loss that the judgments are prepared for.
    pub fn loss(&self) -> &Loss {
        &self.loss
    }

    /// What one term of the loss of a query weighs in the mean over them; 0 where it lends nothing.
    pub fn share(&self, query: usize) -> f64 {
        if self.is_informative(query) { self.loss.share(self.sizes[query] as usize) } else { 0.0 }
    }

    /// Bytes of an element of the features: 4 or 8.
    pub(crate) fn element_bytes(&self) -> u8 {
        match &self.origin {
            Origin::Rows(data) => data.features.element_bytes() as u8,
            Origin::Blocks { element_bytes, .. } => *element_bytes,
        }
    }

    /// The documents of a query that lends, prepared for a solver and used once.
    ///
    /// # Errors
    /// Judgments that are not at hand; an interruption.
    pub fn block_once(&self, query: usize, control: &Control) -> Result<Arc<QueryBlock>> {
        self.prepare(query, None, control).map(Arc::new)
    }

    /// The documents of a query that lends, prepared for a solver together with what many targets share.
    ///
    /// # Errors
    /// Judgments that are not at hand; an interruption.
    pub fn block(&self, query: usize, control: &Control) -> Result<Arc<QueryBlock>> {
        let entry = self.entry(query)?;
        if let Some(block) = entry.block.get() {
            return Ok(Arc::clone(block));
        }
        // Prepared outside of the lock: other threads go on with other queries.
        let block = self.prepare(query, Some(&entry), control)?;
        let block = match block {
            QueryBlock::Pair(block) if self.space.dim() <= WIDEST_WITH_MOMENT => {
                QueryBlock::Pair(block.with_moment())
            }
            block => block,
        };
        let mut is_first = false;
        let block = entry.block.get_or_init(|| {
            is_first = true;
            Arc::new(block)
        });
        if is_first {
            self.count(query);
        }
        Ok(Arc::clone(block))
    }

    fn prepare(&self, query: usize, entry: Option<&Entry>, control: &Control) -> Result<QueryBlock> {
        match (&self.origin, entry) {
            (Origin::Rows(data), _) => {
                let rows = data.rows(query);
                let block = match &self.loss {
                    // Linear functions take the rows as they are, without a copy.
                    Loss::List(loss) if self.space.is_linear() => {
                        let rows = Rows::Of(Arc::clone(data), rows);
                        ListBlock::new(rows, data.labels(query), data.row_groups(query), loss)
                            .map(QueryBlock::List)
                    }
                    _ => {
                        self.made((&data.features, rows), data.labels(query), data.row_groups(query), control)
                    }
                };
                block.map_err(|error| match error {
                    Error::Data(problem) => {
                        Error::Data(format!("query {}: {problem}", data.query_ids[query]))
                    }
                    other => other,
                })
            }
            (Origin::Blocks { .. }, Some(Entry { judgments: Some(judgments), .. })) => {
                let Judgments { labels, row_groups, features } = &**judgments;
                self.made((features, 0..labels.len()), labels, row_groups, control)
            }
            (Origin::Blocks { .. }, Some(_)) => Err(not_at_hand(query)),
            (Origin::Blocks { .. }, None) => self.prepare(query, Some(&*self.entry(query)?), control),
        }
    }

    fn made(
        &self,
        (documents, rows): (&Matrix, Range<usize>),
        labels: &[f64],
        row_groups: &[RowGroup],
        control: &Control,
    ) -> Result<QueryBlock> {
        match &self.loss {
            Loss::Pair(_) => self.space.pair_block(documents, rows, labels, control).map(QueryBlock::Pair),
            Loss::List(loss) => {
                let rows = Rows::Own(self.space.rows(documents, rows, control)?);
                ListBlock::new(rows, labels, row_groups, loss).map(QueryBlock::List)
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, AtHand> {
        self.at_hand.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn entry(&self, query: usize) -> Result<Arc<Entry>> {
        let mut at_hand = self.lock();
        if let Some(entry) = at_hand.entries.get(&query) {
            return Ok(Arc::clone(entry));
        }
        if matches!(self.origin, Origin::Blocks { .. }) {
            return Err(not_at_hand(query));
        }
        let entry = Entry::new(None);
        at_hand.entries.insert(query, Arc::clone(&entry));
        Ok(entry)
    }

    /// Counts a query that has been prepared, and drops others where they can come back at any time.
    fn count(&self, query: usize) {
        let mut at_hand = self.lock();
        at_hand.bytes += self.bytes_of(query);
        at_hand.order.push_back(query);
        if !matches!(self.origin, Origin::Blocks { loading: Loading::OnDemand, .. }) {
            self.make_room(&mut at_hand);
        }
    }

    fn make_room(&self, at_hand: &mut AtHand) {
        while at_hand.bytes > MOST_BYTES {
            let Some(query) = at_hand.order.pop_front() else { return };
            at_hand.bytes -= self.bytes_of(query);
            let Some(entry) = at_hand.entries.remove(&query) else { continue };
            if matches!(self.origin, Origin::Blocks { loading: Loading::All, .. }) {
                at_hand.entries.insert(query, Entry::new(entry.judgments.clone()));
            }
        }
    }

    /// Bytes that a prepared query takes.
    fn bytes_of(&self, query: usize) -> usize {
        let dim = self.space.dim();
        let moment = if dim <= WIDEST_WITH_MOMENT { dim * dim } else { 0 };
        8 * (self.sizes[query] as usize * dim + moment) + self.block_bytes(query).unwrap_or(0)
    }

    /// Length of the block of a query; `None` where it is beyond all numbers.
    fn block_bytes(&self, query: usize) -> Option<usize> {
        let per_row = self
            .space
            .width()
            .checked_mul(usize::from(self.element_bytes()))?
            .checked_add(8 + self.row_group_bytes())?;
        per_row.checked_mul(self.sizes[query] as usize)
    }

    /// Bytes of the row group of a document in a block.
    fn row_group_bytes(&self) -> usize {
        if self.loss.constraint() == ListConstraint::None { 0 } else { ROW_GROUP_BYTES }
    }

    /// Those of `queries` whose blocks must be received before they are used. Makes room for them where it has to.
    pub(crate) fn missing(&self, queries: &[usize]) -> Vec<usize> {
        if matches!(self.origin, Origin::Rows(_)) {
            return Vec::new();
        }
        let mut at_hand = self.lock();
        self.make_room(&mut at_hand);
        queries.iter().copied().filter(|query| !at_hand.entries.contains_key(query)).collect()
    }

    /// Takes the block of a query.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for bytes that are not its judgments.
    pub(crate) fn load(&self, query: usize, bytes: &[u8]) -> Result<()> {
        if self.block_bytes(query) != Some(bytes.len()) {
            let n = self.sizes[query];
            return Err(Error::Corrupt(format!("block of {} bytes for {n} documents", bytes.len())));
        }
        let Judgments { labels, row_groups, features } = self.read(query, bytes);
        let n = labels.len() as u32;
        if row_groups.iter().any(|row| row.document >= n || row.group >= n) {
            return Err(Error::Corrupt("a row group of no document".to_owned()));
        }
        if !(labels.iter().all(|label| label.is_finite()) && features.is_finite()) {
            return Err(Error::Corrupt("a document that is not finite".to_owned()));
        }
        let entry = Entry::new(Some(Arc::new(Judgments { labels, row_groups, features })));
        self.lock().entries.insert(query, entry);
        Ok(())
    }

    /// Labels, row groups and documents of a block whose length is right.
    fn read(&self, query: usize, block: &[u8]) -> Judgments {
        let n = self.sizes[query] as usize;
        let (labels, rest) = block.split_at(8 * n);
        let (row_groups, features) = rest.split_at(self.row_group_bytes() * n);
        let features = match self.element_bytes() {
            4 => Matrix::F32(shaped(n, self.space.width(), read_f32(features))),
            _ => Matrix::F64(shaped(n, self.space.width(), read_f64(features))),
        };
        Judgments { labels: read_f64(labels), row_groups: read_row_groups(row_groups), features }
    }

    fn write_row_groups(&self, row_groups: &[RowGroup], out: &mut Vec<u8>) {
        if self.row_group_bytes() > 0 {
            for row_group in row_groups {
                out.extend(row_group.document.to_le_bytes());
                out.extend(row_group.group.to_le_bytes());
            }
        }
    }

    /// Appends the block of a query.
    ///
    /// # Errors
    /// Judgments that are not at hand.
    pub(crate) fn write(&self, query: usize, out: &mut Vec<u8>) -> Result<()> {
        match &self.origin {
            Origin::Rows(data) => {
                write_numbers(data.labels(query), out);
                self.write_row_groups(data.row_groups(query), out);
                write_rows(&data.features, data.rows(query), out);
            }
            Origin::Blocks { .. } => {
                let entry = self.entry(query)?;
                let judgments = entry.judgments.as_ref().ok_or_else(|| not_at_hand(query))?;
                write_numbers(&judgments.labels, out);
                self.write_row_groups(&judgments.row_groups, out);
                write_rows(&judgments.features, 0..judgments.labels.len(), out);
            }
        }
        Ok(())
    }
}

fn read_row_groups(bytes: &[u8]) -> Vec<RowGroup> {
    let (numbers, _) = bytes.as_chunks::<4>();
    let (pairs, _) = numbers.as_chunks::<2>();
    let row_group = |[document, group]: &[[u8; 4]; 2]| RowGroup {
        document: u32::from_le_bytes(*document),
        group: u32::from_le_bytes(*group),
    };
    pairs.iter().map(row_group).collect()
}

fn not_at_hand(query: usize) -> Error {
    Error::Internal(format!("the judgments of query {query} are not at hand"))
}
