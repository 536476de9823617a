//! Decoder weights c: a ranking is worth F(pi) = sum_i c_{pi(i)} s_i to scores s, and sorting them maximizes it.
//!
//! They never rise, or the bounds would not hold. Their size is not normalized: c times t is w divided by t.

use crate::base::error::{Error, Result};
use crate::cost::loss::list::measure::Measure;
use crate::cost::loss::list::options::in_range;
use crate::cost::metric::logarithmic;

/// The weight of position p, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Decoder {
    /// The weights of the measure.
    Metric,
    /// max(k + 1 - p, 0) for this k.
    Linear(usize),
    /// p^-d for this d > 0.
    Power(f64),
    /// 1 / log2(p + 1).
    Log,
    /// 1 / log2(log2(p + 1) + 1).
    LogLog,
}

/// Names of the decoders, as the option `decoder` has them. The first is the default: with the weights of the measure F and
/// M have one scale, so that the nonconvex bound is not flat around starts of usual length, and the assignment is a sort.
pub const DECODERS: &[&str] = &["metric", "linear", "power", "log", "loglog"];

/// Depth of `linear` for measures without a cutoff: the first page, as the paper has it. A list is then decoded by its
/// first ten positions even if the measure counts all of them.
const DEPTH: usize = 10;

impl Decoder {
    /// The decoder of this name; `power` is d.
    ///
    /// # Errors
    /// An unknown name.
    pub fn parse(name: &str, measure: Measure, power: f64) -> Result<Self> {
        match name {
            "linear" => Ok(Self::Linear(measure.cutoff().unwrap_or(DEPTH))),
            "power" => Ok(Self::Power(power)),
            "log" => Ok(Self::Log),
            "loglog" => Ok(Self::LogLog),
            "metric" => Ok(Self::Metric),
            _ => Err(Error::unknown("decoder", name, DECODERS.iter().copied())),
        }
    }

    /// Checks the parameter.
    ///
    /// # Errors
    /// Its range.
    pub fn validate(self) -> Result<()> {
        let Self::Power(power) = self else { return Ok(()) };
        in_range(power.is_finite() && power > 0.0, "decoder_power", &power, "a number above 0")
    }

    /// c of the first so many positions.
    pub fn weights(self, measure: Measure, positions: usize) -> Vec<f64> {
        let all = |weight: &dyn Fn(usize) -> f64| (0..positions).map(weight).collect();
        match self {
            Self::Linear(depth) => all(&|position| depth.saturating_sub(position) as f64),
            Self::Power(power) => all(&|position| libm::pow((position + 1) as f64, -power)),
            Self::Log => all(&logarithmic),
            Self::LogLog => all(&|position| 1.0 / libm::log2(libm::log2((position + 2) as f64) + 1.0)),
            Self::Metric => measure.position_weights(positions),
        }
    }
}
