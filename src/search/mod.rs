//! Search helpers that need no model: click logs, interleaving, text matches.
//!
//! | file | contents |
//! |---|---|
//! | `clicks/` | click models, propensities, judgments |
//! | `interleave` | lists of two rankers, and the test of their clicks |
//! | `text`, `text_query` | features of full-text matches; FTS5 queries |

pub mod clicks;
pub mod interleave;
pub mod text;
mod text_query;
