//! Plots in SVG (feature `plots`).
//!
//! Each file draws one kind of plot from plain numbers. Every mark has a `<title>` to read and attributes `data-` with the
//! exact numbers. Texts are escaped, so feature and query names may contain anything.
//!
//! | file | contents |
//! |---|---|
//! | `charts` | bars, points, ridges, curves |
//! | `frame`, `canvas` | title and axes; SVG and its text |
//! | `page` | an HTML page |

mod canvas;
mod charts;
mod frame;
mod page;

pub use canvas::{counted, decimal, number, shortened};
pub use charts::{Bar, Bars, Curve, Group, Joined, Ridges, Scatter, Series};
pub use frame::Scale;
pub use page::{Align, Page};
