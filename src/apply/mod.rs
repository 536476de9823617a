//! Using a model on data: scores, metrics of scores, paired tests of metrics, contributions and importance of features,
//! and comparison of later data with the training data.
//!
//! | file | contents |
//! |---|---|
//! | `function` | the function of a query, and its weights |
//! | `score`, `point` | scores of whole queries; of single documents and pairs |
//! | `ranked_rows`, `mmr` | rows that a ranking shows, order of ties; diversity by vectors |
//! | `recommend` | users and items, and the default `k`; their scores are in `model/factored` |
//! | `measure`, `unjudged` | metrics of scored queries; rankings with unjudged documents |
//! | `paired`, `importance` | paired tests; permutation importance |
//! | `contributions/` | Shapley values of features |
//! | `calibration`, `probability` | mean grades by score; reliability of probabilities |
//! | `monitor` | later data compared with the training data |

mod calibration;
mod contributions;
mod function;
mod importance;
mod measure;
mod mmr;
mod monitor;
pub mod paired;
mod point;
mod probability;
mod ranked_rows;
mod recommend;
mod score;
mod unjudged;

pub use calibration::{CalibrationBin, calibration};
pub use contributions::{
    Contribution, DocumentOf, ExplainedRows, Explanation, Sampling, explain, explain_document,
};
pub use function::{FeatureWeight, Fit, FitCache, function_for, function_weights};
pub use importance::{ImportanceSpec, importance};
pub use measure::{Evaluation, METRIC_COST, evaluate, without_relevant};
pub use mmr::{UnitVectors, mmr};
pub use monitor::{Finding, Status, drift, feature_findings};
pub use paired::{Comparison, PairedTest, TestKind, holm, t_quantile, two_sided_t};
pub use point::{PairScorer, PointScorer};
pub use probability::Reliability;
pub use ranked_rows::{constrained_scores, selected_rows};
pub use recommend::{DEFAULT_K, candidate_items, new_users, user_of_ratings};
pub use score::{RowScorer, Scored, ScoringJob, Step, check_scores, unknown_values};
pub use unjudged::{Depths, JudgedLists};
