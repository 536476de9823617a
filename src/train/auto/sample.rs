//! The rows on which kernels are tried, and of many documents those that are held out from trees.

use super::{MOST_TRIED, TRIED};
use crate::base::control::Control;
use crate::base::error::Result;
use crate::base::memory::Reservation;
use crate::data::Dataset;
use crate::train::select::fold_numbers;

/// More documents are many: trees lead.
const MANY: usize = 100_000;
/// Approximate number of documents that are held out from trees, and on which kernels are tried, if there are many.
const HELD_OUT: usize = 20_000;

/// The rows on which kernels are tried.
pub(super) struct Sample {
    /// A part of the rows, with the numbers of all queries, the others without rows; none if all rows are tried.
    pub part: Option<Dataset>,
    /// The numbers of its queries.
    pub queries: Vec<usize>,
    /// Whether there are many documents in all.
    pub is_of_many: bool,
    _memory: Option<Reservation>,
}

impl Sample {
    /// All queries, or a part with about [`MOST_TRIED`] documents, chosen by ids; of many [`HELD_OUT`].
    pub fn new(data: &Dataset, seed: u64, control: &Control) -> Result<Self> {
        let is_of_many = data.n_docs() > MANY;
        let parts = data.n_docs().div_ceil(if is_of_many { HELD_OUT } else { MOST_TRIED });
        if parts <= 1 {
            let queries = (0..data.n_queries()).collect();
            return Ok(Self { part: None, queries, is_of_many, _memory: None });
        }
        let part = fold_numbers(&data.query_ids, &vec![true; data.n_queries()], parts, seed);
        let queries: Vec<usize> = (0..data.n_queries()).filter(|query| part[*query] == Some(0)).collect();
        let rows: Vec<usize> = queries.iter().flat_map(|query| data.rows(*query)).collect();
        let share = rows.len() as f64 / data.n_docs() as f64;
        let bytes = (data.bytes() as f64 * share) as u64;
        let memory = control.reserve(bytes, TRIED, "use one algorithm, such as rank_svm, or fewer rows")?;
        Ok(Self { part: Some(data.with_rows(&rows)), queries, is_of_many, _memory: Some(memory) })
    }
}
