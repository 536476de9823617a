//! Trainings: the table of algorithms, their options, the choice of settings on held-out data, and the protocol that
//! all callers follow ([`protocol`]).
//!
//! | file | contents |
//! |---|---|
//! | `algorithm`, `options` | declaration of an algorithm; the table of options |
//! | `grid/`, `boosted_trees/`, `perceptron/`, `cofi_rank/`, `auto/` | trainings |
//! | `select/`, `tuning/` | choices on held-out data; among settings |
//! | `protocol` | check, choose, fit, warn, encode |
//! | `report`, `short_report`, `column_report` | what `ltr_train` returns |
//! | `averaged`, `baseline`, `monotone`, `probability` | averages of functions; options of those names |
//! | `column_rules`, `column_texts` | what becomes of a column; its texts in messages |
//! | `evidence` | the report's `evidence`; warnings about too few queries or a gain that is not shown |
//! | `counters`, `feature_checks`, `role_checks` | warnings about features that follow clicks, values, and relevance like a rank |
//! | `single_feature`, `shared_documents` | warnings about one feature that ranks as well, and documents of several queries |

pub mod algorithm;
pub(crate) mod auto;
pub(crate) mod averaged;
pub(crate) mod baseline;
pub(crate) mod boosted_trees;
pub(crate) mod cofi_rank;
pub(crate) mod column_report;
pub(crate) mod column_rules;
mod column_texts;
mod counters;
pub(crate) mod evidence;
pub(crate) mod feature_checks;
pub(crate) mod grid;
pub mod monotone;
pub mod options;
pub mod perceptron;
pub mod probability;
pub(crate) mod protocol;
pub(crate) mod report;
mod role_checks;
pub mod select;
mod shared_documents;
pub(crate) mod short_report;
pub(crate) mod single_feature;
pub(crate) mod tuning;

use algorithm::AlgorithmDef;

/// Every algorithm.
pub const ALGORITHMS: &[&AlgorithmDef] = &all();

/// Algorithms outside the grid.
const OTHERS: &[&AlgorithmDef] =
    &[&auto::DEF, &boosted_trees::DEF, &boosted_trees::LAMBDAMART, &perceptron::DEF, &cofi_rank::DEF];

const fn all() -> [&'static AlgorithmDef; grid::PRESETS.len() + OTHERS.len()] {
    let mut all = [OTHERS[0]; grid::PRESETS.len() + OTHERS.len()];
    let mut index = 0;
    while index < all.len() {
        all[index] = if index < grid::PRESETS.len() {
            &grid::PRESETS[index]
        } else {
            OTHERS[index - grid::PRESETS.len()]
        };
        index += 1;
    }
    all
}
