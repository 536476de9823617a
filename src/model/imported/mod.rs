//! Models of other libraries: what they have in common, and a reader for each format.

mod advice;
mod catboost;
mod engines;
mod format;
mod lightgbm;
mod parse;
mod ranklib;
mod read;
mod source;
mod xgboost;

pub(crate) use engines::SOLR_SLACK;
pub use format::Format;
pub use parse::parsed_bytes;
pub use read::{Reader, text_of, unknown};
pub use source::{Feature, Function, ImportedModel, LinearModel, SMALLER, Source, Term};
