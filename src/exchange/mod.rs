//! Models as text: formats of this and of other libraries, read and written.
//!
//! Each format is a file, or a folder if reading and writing take much code.
//!
//! | file | contents |
//! |---|---|
//! | `format` | the formats |
//! | `export`, `import`, `reader` | writes a format; reads any, detected from its first keys |
//! | `json` | this library's format |
//! | `sql/` | scores as SQL expressions |
//! | `lightgbm`, `xgboost/`, `catboost`, `ranklib`, `elasticsearch`, `solr` | formats of other libraries and engines |
//! | `imported_model`, `linear_model`, `nested`, `checked_trees` | models of other libraries; trees as text |
//! | `names`, `term`, `weights`, `text`, `parse` | features; terms of a score; 32-bit weights; writing; parsing |
//! | `advice` | files that are not a model text |

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
