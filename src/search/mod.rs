//! Helpers of search without a model: click logs, interleaving, text matches.

#[cfg_attr(not(feature = "sqlite"), allow(dead_code, unused_imports))]
pub mod clicks;
#[cfg_attr(not(feature = "sqlite"), allow(dead_code, unused_imports))]
pub mod interleave;
#[cfg_attr(not(feature = "sqlite"), allow(dead_code, unused_imports))]
pub mod text;
