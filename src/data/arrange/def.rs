//! Which document and group a row belongs to, and which lists are allowed.

/// The document and the group of one row, numbered within the query from 0 in the order of their first rows; slots in
/// ascending order.
///
/// With [`ListConstraint::Slots`] a document has one row per slot, otherwise one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowGroup {
    /// Number of the document.
    pub document: u32,
    /// Number of the document's value in the column `diversify_by`, or of the row's slot.
    pub group: u32,
}

/// Which lists of documents are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ListConstraint {
    /// All orders of the documents.
    #[default]
    None,
    /// Few documents of each group, such as a site or topic.
    Diversity,
    /// One document per slot of a page.
    Slots,
}
