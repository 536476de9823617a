//! Models as text: formats of this and of other libraries, read and written.
//!
//! Each format is a file, or a folder if reading and writing take much code.

mod advice;
mod catboost;
mod checked_trees;
mod elasticsearch;
mod export;
mod format;
mod import;
mod imported_model;
mod json;
mod lightgbm;
mod linear_model;
mod names;
mod nested;
mod parse;
mod ranklib;
mod reader;
mod solr;
mod sql;
mod term;
mod text;
mod weights;
mod xgboost;

pub use export::export;
pub use format::{Format, IMPORT_FORMATS};
pub use import::{ImportSpec, Imported, import};
pub use imported_model::{Function, ImportedModel, Source};
pub use linear_model::{LinearModel, LinearTerm};
pub use names::SMALLER;
