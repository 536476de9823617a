//! Plots in SVG (feature `plots`).
//!
//! Each file draws one kind of plot from plain numbers. Every mark has a `<title>` to read and attributes `data-` with the
//! exact numbers. Texts are escaped, so that names of features and queries may hold anything.

mod canvas;
mod charts;
mod frame;
mod page;

pub use canvas::{counted, decimal, number, shortened};
pub use charts::Scatter;
pub use charts::{Bar, Bars};
pub use charts::{Curve, Joined, Series};
pub use charts::{Group, Ridges};
pub use frame::Scale;
pub use page::{Align, Page};
