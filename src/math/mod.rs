//! Numerical tools: orders with fixed tie rules, dense linear algebra and assignment.
//!
//! Dense data have one of three layouts:
//!
//! | layout | module | use |
//! |---|---|---|
//! | slices of `f64` or feature values, any length | `dense` | single dot products and distances; no copy of the data |
//! | rows padded to blocks of eight ([`lanes::Lanes`]) | `lanes`, `gram`, `cholesky` | matrices of the pair solvers: no remainder loops |
//! | one lane per document, 32 documents ([`tile::Tile`]) | `tile`, `triangular`, `pivoted` | sums over features or pivots for many documents |
//! | columns in panels of 48 `f32` ([`single::Row`]) | `single`, `single_sums`, `single_factor` | sums over very many documents |
//!
//! In the first three a sum runs lane by lane, eight partial sums are added pairwise, and multiply and add are never fused.
//! The last one fuses each multiply and add, on every machine. So each bit of a result is the same on every machine and for
//! every register width. Processors without fused multiply-add take much longer for the last one.

pub mod assignment;
pub mod cholesky;
pub mod dense;
pub mod eigen;
pub mod gram;
pub mod lanes;
pub mod optim;
pub mod order;
pub mod pivoted;
pub mod random;
pub mod select;
pub mod simd;
pub mod single;
pub mod single_factor;
pub mod single_sums;
pub mod splits;
