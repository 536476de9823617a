//! Assignment with maximum profit: each row gets a different column.
//!
//! ```text
//! max_pi sum_p E[p, pi(p)],   k rows, l >= k columns
//! ```
//!
//! [`maximize`] takes any matrix. [`Ranking`] takes the matrix of loss-augmented ranking, E_pj = c_p s_j - a_p b_j for
//! positions p and documents j (Le, Smola, Chapelle, Teo, equation 28). There a, b and c are given before the scores s,
//! and E has rank two, so faster exact methods exist:
//!
//! | method | condition | cost |
//! |---|---|---|
//! | `sorted` | c = a | O(l + k log k) |
//! | `levels` | b has L different values | O(l + k^2 (k + L)) |
//! | `line` | a = 0, or c = 0, after the first h positions | O(l log l + h^2 l) |
//! | `dense` | none | O(k^2 l) |
//!
//! Positions without a weight are omitted. No method is known that is nearly linear for all a, b and c.
//!
//! | file | contents |
//! |---|---|
//! | `ranking`, `profits` | the fastest exact method; profits at positions |
//! | `dense`, `levels`, `line` | the methods |
//! | `paths`, `tournament` | their shortest paths; best documents of each level |
//! | `blocks` | at most one document of each block |
//! | `workspace` | buffers |

mod blocks;
mod dense;
mod levels;
mod line;
mod paths;
mod profits;
mod ranking;
mod tournament;
mod workspace;

pub use blocks::{BlockRanking, maximize_in_blocks};
pub use dense::maximize;
pub use line::{best, sort_documents};
pub use ranking::Ranking;
pub use workspace::Workspace;
