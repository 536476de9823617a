//! Small numerical tools that every room may use: orders with a written tie rule and dense kernels on slices.

pub mod assignment;
pub mod cholesky;
pub mod dense;
pub mod eigen;
pub mod lanes;
pub mod normal;
pub mod order;
pub mod pivoted;
pub mod random;
pub mod simd;
pub mod tile;
pub mod triangular;
