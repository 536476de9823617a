//! Sample of the rows on which kernels are tried. With many documents it is held out from trees.

use crate::base::{Control, Reservation, Result};
use crate::data::Dataset;
use crate::train::select::{numbers, parts_in_order};

/// Approximate number of documents on which kernels are tried. Functions are fitted on all.
const MOST_TRIED: usize = 40_000;

/// More documents are many: trees lead.
pub(super) const MANY: usize = 100_000;
/// Approximate number of documents that are held out from trees, and on which kernels are tried, if there are many.
const HELD_OUT_OF_MANY: usize = 20_000;

/// The rows on which kernels are tried.
pub(super) struct Sample {
    /// A part of the rows, with the numbers of all queries, the others without rows; none if all rows are tried.
    pub part: Option<Dataset>,
    /// The numbers of its queries.
    pub queries: Vec<usize>,
    /// Whether there are many documents in all.
    pub has_many_documents: bool,
    _memory: Option<Reservation>,
}

impl Sample {
    /// All queries, or a part with about [`MOST_TRIED`] documents, chosen by ids; of many [`HELD_OUT_OF_MANY`], the last ones in an order.
    pub fn new(data: &Dataset, seed: u64, control: &Control) -> Result<Self> {
        let has_many_documents = data.n_docs() > MANY;
        let parts = data.n_docs().div_ceil(if has_many_documents { HELD_OUT_OF_MANY } else { MOST_TRIED });
        if parts <= 1 {
            let queries = (0..data.n_queries()).collect();
            return Ok(Self { part: None, queries, has_many_documents, _memory: None });
        }
        let order = &data.fold_keys.order;
        let queries: Vec<usize> = if has_many_documents && !order.is_empty() {
            let part = parts_in_order(order, order, parts);
            let last = part.iter().max().copied().unwrap_or_default();
            (0..data.n_queries()).filter(|query| part[*query] == last).collect()
        } else {
            let part = numbers(data, &vec![true; data.n_queries()], parts, seed);
            (0..data.n_queries()).filter(|query| part[*query] == Some(0)).collect()
        };
        let rows: Vec<usize> = queries.iter().flat_map(|query| data.rows(*query)).collect();
        let share = rows.len() as f64 / data.n_docs() as f64;
        let bytes = (data.bytes() as f64 * share) as u64;
        let what = "the queries on which 'auto' tries candidates";
        let memory = control.reserve(bytes, what, "use one algorithm, such as rank_svm, or fewer rows")?;
        Ok(Self { part: Some(data.with_rows(&rows)), queries, has_many_documents, _memory: Some(memory) })
    }
}
