//! What is known of a row besides its label and features: which document of the query it is about, and its group.

/// Numbers of a document and of its group inside their query, from 0 in the order of their first rows.
///
/// A document has several rows in data of documents at slots, and one elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Number of the document.
    pub document: u32,
    /// Number of its block, or of the slot that the row is about.
    pub group: u32,
}

/// What the groups of documents are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Grouping {
    /// There are none.
    #[default]
    None,
    /// Blocks, such as sites or topics, of which few documents may be shown.
    Blocks,
    /// Slots of a page, each of which gets one document.
    Slots,
}
