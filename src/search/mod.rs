//! Search helpers that need no model: click logs, interleaving, text matches.

pub mod clicks;
pub mod interleave;
pub mod text;
mod text_query;
