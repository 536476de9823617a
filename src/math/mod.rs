//! Numerical tools: sorting with fixed tie rules, dense linear algebra and assignment.
//!
//! Dense data have one of four layouts:
//!
//! | layout | module | use |
//! |---|---|---|
//! | slices of `f64` or feature values, any length | `dense` | single dot products and distances; no copy of the data |
//! | rows padded to blocks of eight ([`lanes::Lanes`]) | `lanes`, `gram`, `cholesky` | matrices of the pair solvers: no remainder loops |
//! | one lane per document, 32 documents ([`lanes::Tile`]) | `lanes`, `pivoted` | sums over features or pivots for many documents |
//! | columns in panels of 48 `f32` ([`single::Row`]) | `single`, `single_sums`, `single_factor` | sums over very many documents |
//!
//! The first three sum lane by lane, add the eight partial sums pairwise, and never fuse multiply and add. The last one
//! always fuses them. So results are the same to the bit on every machine and for every register width. Processors without
//! fused multiply-add take much longer for the last one.
//!
//! | file | contents |
//! |---|---|
//! | `order`, `radix_sort`, `select` | sorting and ties; many numbers; order statistics |
//! | `dense`, `lanes`, `gram`, `simd` | dense loops; blocks of eight; matrix products; widest registers |
//! | `cholesky`, `pivoted`, `eigen`, `positive_part` | factors; eigenpairs; indefinite matrices |
//! | `single`, `single_sums`, `single_factor` | single precision |
//! | `assignment/`, `splits` | assignment problems; pairs of different grades |
//! | `optim/` | optimization |
//! | `normal`, `random` | normal quantiles; random numbers |

pub mod assignment;
pub mod cholesky;
pub mod dense;
pub mod eigen;
pub mod gram;
pub mod lanes;
pub mod normal;
pub mod optim;
pub mod order;
pub mod pivoted;
pub mod positive_part;
pub mod radix_sort;
pub mod random;
pub mod select;
pub mod simd;
pub mod single;
pub mod single_factor;
pub mod single_sums;
pub mod splits;

pub use assignment::{BlockRanking, Ranking, maximize, sort_documents};
pub use cholesky::{Factor, factor_and_solve};
pub use dense::{BOUNDED, Element, LARGEST, are_bounded, distance, dot, dot_by, is_positive};
pub use eigen::Eigen;
pub use lanes::{LANES, Lanes, TILE, Tile, tiles_for};
pub use optim::cutting_planes::l1::sum_of_absolutes;
pub use optim::cutting_planes::{Bundle, Planes};
pub use optim::objective::{axpy, difference, moved, norm};
pub use optim::{
    Best, Method, Objective, Point, Ridge, Solution, SolveReport, Step, Stop, StopRule, iterate, lbfgs,
    newton_cg, projected_gradient, several_starts, solve_path,
};
#[cfg(test)]
pub use order::all_orders;
pub use order::{
    COMPARISON, compare, descending, descending_then, ends_of_runs, keep_smallest, median, pairs,
    sort_ascending, sort_indices, sort_items, tied_pairs,
};
pub use pivoted::Gram;
pub use positive_part::positive_part;
pub use radix_sort::sort_singles;
pub use random::Random;
pub use select::{candidates, single_above, single_at_least};
pub(crate) use simd::simd;
pub use simd::{BYTES, Baseline, PART, Registers, SimdTask, dispatch};
pub use single::{PANEL, Row, SingleProducts, add_differences, add_product, decay, panels_for, rows_times};
pub use single_factor::solve_last_column;
pub use single_sums::{Panels, SingleSums};
pub use splits::MERGE_COST;
