//! Cutting planes with a line search (Teo et al. 2010; Le, Smola, Chapelle & Teo, algorithm 3), for convex risks R >= 0.
//!
//! A subgradient g of R at v gives a plane below R: R(w) >= g.w + o with o = R(v) - g.v. The plane 0 is below R too.
//! With u = w - w0 and offsets o + g.w0 the minimum of the model
//!
//! ```text
//! min_u  max_i (g_i.u + o_i) + lambda |u|^2
//!     =  max over the simplex  o.a - |G'a|^2 / (4 lambda),     u = -G'a / (2 lambda)
//! ```
//!
//! is a lower bound of min P for every a (`planes`). The least P found minus the largest bound is the certified gap.
//!
//! **Line search** (Franc & Sonnenburg 2009, OCAS). The minimum w' of the model may be far from any good point. The
//! next best point minimizes P between the best point and w' (`RiskLine`). The next plane touches R a tenth of the way from
//! there to w'. Planes do not depend on lambda and are kept along a path of lambdas.

pub mod ball;
mod bundle;
pub mod l1;
mod planes;

pub(super) use bundle::RiskLine;
pub use bundle::{Bundle, Sample, minimize_path};
pub use planes::{Model, Planes};
