//! The judgments of one query and their bytes in a model: labels, document weights if the training had any, row groups if
//! the loss needs them, and the features row by row. Numbers are little-endian.

use std::ops::Range;

use ndarray::s;

use crate::base::{Error, Result, require};
use crate::data::{Matrix, RowGroup, is_weight, shaped};

/// Bytes of a row group: two numbers of 4 bytes.
const ROW_GROUP_BYTES: usize = 8;

/// Labels, row groups and documents of one query.
#[derive(Debug)]
pub(super) struct Judgments {
    pub labels: Vec<f64>,
    /// Empty if all are 1.
    pub doc_weights: Vec<f64>,
    /// Empty if the loss does not use them.
    pub row_groups: Vec<RowGroup>,
    pub features: Matrix,
}

/// The judgments of a query's documents, borrowed.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowJudgments<'a> {
    pub labels: &'a [f64],
    pub doc_weights: &'a [f64],
    pub row_groups: &'a [RowGroup],
}

impl Judgments {
    pub fn judged(&self) -> RowJudgments<'_> {
        RowJudgments { labels: &self.labels, doc_weights: &self.doc_weights, row_groups: &self.row_groups }
    }
}

/// The properties that determine a block's layout besides its number of documents.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockLayout {
    /// Features of a document.
    pub width: usize,
    /// Bytes of a feature: 4 or 8.
    pub element_bytes: u8,
    pub has_row_groups: bool,
    pub has_doc_weights: bool,
}

impl BlockLayout {
    fn row_group_bytes(self) -> usize {
        if self.has_row_groups { ROW_GROUP_BYTES } else { 0 }
    }

    fn doc_weight_bytes(self) -> usize {
        if self.has_doc_weights { 8 } else { 0 }
    }

    /// Size of a block; `None` if it overflows.
    pub fn block_bytes(self, documents: usize) -> Option<usize> {
        let features = self.width.checked_mul(usize::from(self.element_bytes))?;
        features.checked_add(8 + self.doc_weight_bytes() + self.row_group_bytes())?.checked_mul(documents)
    }

    /// Reads a block.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for a wrong size, row groups or weights out of range and numbers that are not finite.
    pub fn read(self, documents: usize, bytes: &[u8]) -> Result<Judgments> {
        if self.block_bytes(documents) != Some(bytes.len()) {
            let problem = format!("block of {} bytes for {documents} documents", bytes.len());
            return Err(Error::Corrupt(problem));
        }
        let (labels, rest) = bytes.split_at(8 * documents);
        let (doc_weights, rest) = rest.split_at(self.doc_weight_bytes() * documents);
        let (row_groups, features) = rest.split_at(self.row_group_bytes() * documents);
        let (labels, doc_weights) = (read_f64(labels), read_f64(doc_weights));
        let row_groups = read_row_groups(row_groups);
        let features = match self.element_bytes {
            4 => Matrix::F32(shaped(documents, self.width, read_f32(features))),
            _ => Matrix::F64(shaped(documents, self.width, read_f64(features))),
        };
        let in_range = |row: &RowGroup| (row.document.max(row.group) as usize) < documents;
        require(
            "block",
            &[
                (row_groups.iter().all(in_range), "row groups of its documents"),
                (
                    doc_weights.iter().all(|weight| is_weight(*weight))
                        && (!self.has_doc_weights || doc_weights.iter().any(|weight| *weight > 0.0)),
                    "weights of documents from 0 to 1e100, one above 0",
                ),
                (labels.iter().all(|label| label.is_finite()) && features.is_finite(), "finite numbers"),
            ],
        )?;
        Ok(Judgments { labels, doc_weights, row_groups, features })
    }

    /// Appends a block of documents, which are rows of a matrix.
    pub fn write(self, judged: RowJudgments<'_>, features: &Matrix, rows: Range<usize>, out: &mut Vec<u8>) {
        write_elements(judged.labels.iter(), f64::to_le_bytes, out);
        if self.has_doc_weights {
            write_elements(judged.doc_weights.iter(), f64::to_le_bytes, out);
        }
        if self.has_row_groups {
            for row_group in judged.row_groups {
                out.extend(row_group.document.to_le_bytes());
                out.extend(row_group.group.to_le_bytes());
            }
        }
        match features {
            Matrix::F32(array) => write_elements(array.slice(s![rows, ..]).iter(), f32::to_le_bytes, out),
            Matrix::F64(array) => write_elements(array.slice(s![rows, ..]).iter(), f64::to_le_bytes, out),
        }
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

/// Appends N bytes of each element.
fn write_elements<'a, T: Copy + 'a, const N: usize>(
    values: impl ExactSizeIterator<Item = &'a T>,
    bytes: impl Fn(T) -> [u8; N],
    out: &mut Vec<u8>,
) {
    let start = out.len();
    out.resize(start + N * values.len(), 0);
    for (chunk, value) in out[start..].as_chunks_mut::<N>().0.iter_mut().zip(values) {
        *chunk = bytes(*value);
    }
}

fn read_f64(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks::<8>().0.iter().map(|chunk| f64::from_le_bytes(*chunk)).collect()
}

fn read_f32(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|chunk| f32::from_le_bytes(*chunk)).collect()
}
