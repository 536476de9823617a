//! Evidence from held-out queries: the first lines of its report.

use serde_json::{Value, json};

use super::algorithm::Trained;
use super::baseline;
use super::select::{Selection, SelectionReport};

/// The key of reports.
pub const KEY: &str = "evidence";

/// Facts known at the end of a training, besides the value of its metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// Queries with documents of different relevance, and all queries.
    queries: [u64; 2],
    compared: Option<Compared>,
}

/// A simpler ranking that the model is compared with.
#[derive(Debug, Clone, PartialEq)]
struct Compared {
    /// The ranking, such as ORDER BY "bm25" DESC.
    with: String,
    /// Mean and 95% interval of what the model gains on held-out queries.
    gain: f64,
    interval: [f64; 2],
    /// Whether the model is that ranking. The gain is the best other candidate's.
    is_same: bool,
}

impl Compared {
    /// With the baseline of the option, or else with the best single feature.
    fn of(trained: &Trained) -> Option<Self> {
        if let Some(of) = trained.details.get(baseline::KEY) {
            let number = |value: &Value| value.as_f64();
            return Some(Self {
                with: format!("the baseline \"{}\"", of["column"].as_str()?),
                gain: number(&of["difference"])?,
                interval: [number(&of["interval"][0])?, number(&of["interval"][1])?],
                is_same: of["alone"] == true,
            });
        }
        let best =
            trained.selection.as_ref().and_then(|selection: &Selection| selection.baseline.as_ref())?;
        let gain = best.gain?;
        Some(Self { with: best.order_by.clone(), gain: gain.mean, interval: gain.interval(), is_same: false })
    }

    /// Whether the interval is above 0.
    fn is_shown(&self) -> bool {
        !self.is_same && self.interval[0] > 0.0
    }

    fn text(&self) -> String {
        let Self { with, gain, interval: [low, high], .. } = self;
        let interval = format!("{gain:+.4}, 95% interval {low:+.4} to {high:+.4}");
        match (self.is_same, self.is_shown()) {
            (true, _) => format!(
                "the model is {with}; nothing is shown to be better, the best candidate differs by {interval}"
            ),
            (_, true) => format!("better than {with}: {interval}"),
            _ => format!("not shown to be better than {with}: {interval}"),
        }
    }
}

impl Evidence {
    /// The evidence of a training on `queries` queries, `informative` of them with documents of different relevance.
    pub fn of(informative: usize, queries: usize, trained: &Trained) -> Self {
        Self { queries: [informative as u64, queries as u64], compared: Compared::of(trained) }
    }

    /// A warning if the model of clicks is not shown to be better. Clicks favor the order that was shown, so nothing else can.
    pub fn doubt(&self) -> Option<String> {
        let compared = self.compared.as_ref().filter(|compared| !compared.is_shown())?;
        Some(format!(
            "{}; set the option 'baseline' to the column that ordered the documents for users, so that the model departs from \
             it only where clicks show a gain",
            compared.text()
        ))
    }

    /// The entry in the report. `validation`: results on held-out data.
    pub fn report(&self, validation: Option<&SelectionReport>) -> Value {
        let [informative, queries] = self.queries;
        let (compared, held_out) = (&self.compared, validation.and_then(SelectionReport::held_out_value));
        let interval = held_out.as_ref().and_then(|(_, _, interval)| *interval);
        let mut lines =
            vec![format!("{informative} of {queries} queries have documents of different relevance")];
        lines.extend(held_out.map(|(metric, value, interval)| {
            let interval = interval.map(|[low, high]| format!(", 95% interval {low:.4} to {high:.4}"));
            format!("{metric} {value:.4} on held-out queries{}", interval.unwrap_or_default())
        }));
        lines.extend(compared.as_ref().map(Compared::text));
        json!({
            "informative_queries": informative,
            "interval": interval,
            "compared_with": compared.as_ref().map(|compared| &compared.with),
            "difference": compared.as_ref().map(|compared| compared.gain),
            "difference_interval": compared.as_ref().map(|compared| compared.interval),
            "is_shown": compared.as_ref().map(Compared::is_shown),
            "lines": lines,
        })
    }
}
