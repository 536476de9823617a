//! Plots in SVG (feature `plots`).
//!
//! Each file draws one kind of plot from plain numbers. Every mark has a `<title>` to read and attributes `data-` with the
//! exact numbers. Texts are escaped, so that names of features and queries may hold anything.

mod bars;
mod canvas;
mod curve;
mod frame;
mod page;
mod ridges;
mod scatter;
mod text;

pub use bars::{Bar, Bars};
pub use curve::{Curve, Joined, Series};
pub use frame::Scale;
pub use page::{Align, Page};
pub use ridges::{Group, Ridges};
pub use scatter::Scatter;
pub use text::{counted, decimal, number, shortened};
