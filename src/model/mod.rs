//! A model: a fitted ranker and everything needed to use it, as one BLOB.
//!
//! The BLOB contains nothing volatile (no name, time or number of threads): equal rows and options give equal bytes.
//! Bytes from a file are untrusted: `envelope` verifies checksums, and the decoders check every value and the
//! consistency between values:
//!
//! | part | checks besides the range of each number |
//! |---|---|
//! | `envelope` | version; blocks fill the bytes after the header |
//! | `sections` | known, ascending, not empty |
//! | `Model` | names differ; scaling, means and ranker have the features of the names; blocks only where a ranker has them |
//! | `Scaling`, `Quantiles` | values of quantiles ascend, scores do not fall |
//! | `Fingerprint` | edges ascend within the range; no bin is empty; bins and missing values are all rows; design effects and degrees of freedom are possible for these counts; it has the query features of the ranker |
//! | `Space`, `SumSpace`, `Function` | width of the scaled features; a weight per dimension; shared documents exist in an earlier member |
//! | `FeatureMap`, `PairMap`, `Basis` | size of the factor, its positive diagonal; pivots are documents of the basis |
//! | `Forest`, `QueryTrees` | full trees; thresholds ascend; splits use them; a value per leaf |
//! | `GeneralTrees` | nodes are trees, with finite thresholds and values whose sum is finite; a feature for each column; a code for each value of a category |
//! | `Interactions` | linear functions of documents and of the numbers among the query features; weights for each feature |
//! | `QueryFeatureRule`, `QueryDistance` | an encoding and a comparison per query feature, at its own numbers of a row; categories and items ascend |
//! | `QueryDependent` | a weight, a size and features per query, ids ascend; functions for all or none; a block for each query with documents, of its size; the choices of the fit are possible in a training; a prior with interactions has its query features and weights |
//! | `Online` | sums, number of updates and number of rounds agree with the record; means follow from the feature sums; a weight per feature or support document |
//! | `Factored`, `Implicit` | ids ascend; factors and a bias per id; rated items ascend in each user; biases of pairs are fractions of users |
//! | packs, answers, states (`src/buckets/`) | queries and keys ascend; a pack for each bucket with rows, and for no other; a question for each open task; counts of the first round fit each other and the bins |
//!
//! `tests/hostile/` changes each of these numbers.
//!
//! | file | contents |
//! |---|---|
//! | `model`, `card`, `sections` | a model; its description; optional parts |
//! | `envelope`, `codec` | the bytes; headers |
//! | `ranker` | the forms of a fitted ranker |
//! | `linear`, `interactions`, `query_dependent`, `query_trees`, `online`, `general`, `factored`, `implicit` | the forms |
//! | `query_aware` | what forms with query features share |
//! | `linear_prior`, `probability`, `candidate_view` | a model as prior; grade probabilities and their knots; the view of candidates |

mod candidate_view;
mod card;
mod codec;
mod envelope;
mod factored;
mod general;
mod implicit;
mod interactions;
mod linear;
mod linear_prior;
#[allow(clippy::module_inception, reason = "the file of the type Model")]
mod model;
mod online;
mod probability;
mod query_aware;
mod query_dependent;
mod query_trees;
mod ranker;
mod sections;

pub use candidate_view::CandidateView;
pub use card::{Card, IMPORTED};
pub use codec::{Block, Encoded, TrainingColumns, byte_string, decode_header, encode_header};
pub use envelope::{KEY_END, Key, header_end, read_key};
pub use factored::{Candidates, Factored, FoldIn, MAX_STEPS, RatingTransform, User};
pub use general::{GeneralTrees, TreeInput};
pub use implicit::{Implicit, MAX_COUNT_WEIGHT, MAX_NEGATIVES};
pub use interactions::Interactions;
pub use linear::Linear;
pub use linear_prior::LinearPrior;
pub use model::{ENCODING, Model, SMALLER_MODEL, no_features};
pub use online::{MAX_BUDGET, Online, OnlineRules, OnlineState, RoundRecord};
pub use probability::{MOST_KNOTS, Probability};
pub use query_aware::QueryAware;
pub use query_dependent::{LocalFit, QueryDependent, TrainingQueries};
pub use query_trees::{Ensemble, QuerySum, QueryTrees, fill};
pub use ranker::{Capabilities, Ranker};
