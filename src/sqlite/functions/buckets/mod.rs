//! Training in buckets: `ltr_bucket`, `ltr_pack`, `ltr_begin`, `ltr_partial`, `ltr_merge`, `ltr_step` and `ltr_finish`.
//!
//! Rules (docs/reference/rules.md, 15):
//! * 15.1: The bucket of a query is a hash of its id. A pack has the rows of one bucket, in canonical order.
//! * 15.2: Sums over buckets follow the binary tree of bucket numbers. Order, grouping and repetition of merges do not
//!   change a bit.
//! * 15.3: The first round finds the buckets with rows. Later a missing bucket is an error; so are in each round a bucket that
//!   appears twice, answers from a different round or training, and damaged bytes.
//! * 15.4: These functions, `ltr_fit` with packs, and `ltr_fit` with rows and the option `buckets` return the same model.
//! * 15.8: `boosted_trees` trains on packs in one process (`ltr_train`, `ltr_fit`), with the same trees as from rows;
//!   `ltr_begin` refuses it.
//!
//! | file | contents |
//! |---|---|
//! | `calls` | `ltr_bucket`, `ltr_begin`, `ltr_partial`, `ltr_step`, `ltr_finish` |
//! | `aggregates` | `ltr_pack`, `ltr_merge` |
//! | `train` | `ltr_train` and `ltr_fit` on packs, or with the option `buckets` |
//! | `arguments` | shared arguments and options |

mod aggregates;
mod arguments;
mod calls;
mod train;

pub use aggregates::register;
pub(super) use calls::info;
pub use calls::{BEGIN, BUCKET, FINISH, PARTIAL, STEP};
pub(super) use train::train;
