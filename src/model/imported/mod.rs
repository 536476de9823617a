//! Models of other libraries: what they have in common, and a reader for each format.

mod advice;
mod catboost;
mod engines;
mod format;
mod lightgbm;
mod linear;
mod model;
mod names;
mod parse;
mod ranklib;
mod read;
mod xgboost;
mod xgboost_dump;

pub(crate) use engines::SOLR_SLACK;
pub use format::Format;
pub use linear::{LinearModel, Term};
pub use model::{Feature, Function, ImportedModel, Source};
pub use names::SMALLER;
pub use parse::parsed_bytes;
pub use read::{Reader, text_of, unknown};
