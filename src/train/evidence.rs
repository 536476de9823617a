//! Evidence from held-out queries: the first lines of its report.

use serde_json::{Value, json};

use super::algorithm::Trained;
use super::baseline;
use super::select::{FEWEST_SHOWN, Gain, SelectionReport};
use super::single_feature::CURRENT_ORDER;

/// The key of reports.
pub const KEY: &str = "evidence";

/// With fewer informative queries a training should start at a baseline.
pub const FEW_QUERIES: usize = 60;

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
    /// What the model gains on held-out queries.
    gain: Option<Gain>,
    /// Whether the model is that ranking. The gain is the best other candidate's.
    is_same: bool,
    /// Features that follow the clicks on which they are compared.
    follow_clicks: Vec<String>,
    /// Whether the log of these clicks leaves most judgments open: then held-out queries share its order.
    is_undetermined: bool,
}

impl Compared {
    /// With the baseline of the option, or else with the best single feature.
    fn of(trained: &Trained, follow_clicks: &[String], is_undetermined: bool) -> Option<Self> {
        let selection = trained.selection.as_ref()?;
        let (with, gain, is_same) = match (trained.details.get(baseline::KEY), &selection.baseline) {
            (Some(of), _) => {
                let with = format!("the baseline \"{}\"", of["column"].as_str()?);
                (with, selection.gain, of["alone"] == true)
            }
            (None, Some(best)) => (best.order_by.clone(), Some(best.gain?), false),
            (None, None) => return None,
        };
        Some(Self { with, gain, is_same, follow_clicks: follow_clicks.to_vec(), is_undetermined })
    }

    /// Whether the interval is above 0, on determined judgments that no feature follows.
    fn is_shown(&self) -> bool {
        let is_above = self.gain.is_some_and(|gain| gain.interval()[0] > 0.0);
        !self.is_same && is_above && self.follow_clicks.is_empty() && !self.is_undetermined
    }

    fn text(&self) -> String {
        let with = &self.with;
        let difference = self.gain.map_or_else(String::new, |gain| {
            let ([low, high], queries) = (gain.interval(), gain.error.queries);
            let few = if self.is_same && queries < FEWEST_SHOWN {
                format!(" on {queries} held-out queries, which is too few: {FEWEST_SHOWN} can show a gain")
            } else {
                String::new()
            };
            format!(" {:+.4}, 95% interval {low:+.4} to {high:+.4}{few}", gain.mean)
        });
        match (self.is_same, self.is_shown(), &self.follow_clicks[..]) {
            (true, ..) if self.gain.is_none() => {
                format!("the model is {with}; nothing is shown to be better")
            }
            (true, ..) => format!(
                "the model is {with}; nothing is shown to be better, the best candidate differs by{difference}"
            ),
            (_, true, _) => format!("better than {with}:{difference}"),
            (_, _, []) if self.is_undetermined => format!(
                "not shown to be better than {with}:{difference}, but judged by clicks in one order, which favor it"
            ),
            (_, _, []) => format!("not shown to be better than {with}:{difference}"),
            (_, _, names) => format!(
                "not shown to be better than {with}:{difference}, but on clicks that \"{}\" follows",
                names.join("\", \"")
            ),
        }
    }
}

impl Evidence {
    /// The evidence of a training on `queries` queries, `informative` of them with documents of different relevance.
    /// `follow_clicks`: the features that follow the clicks behind the judgments.
    /// `is_undetermined`: whether the log of these clicks leaves most judgments open.
    pub fn of(
        [informative, queries]: [usize; 2],
        trained: &Trained,
        follow_clicks: &[String],
        is_undetermined: bool,
    ) -> Self {
        let compared = Compared::of(trained, follow_clicks, is_undetermined);
        Self { queries: [informative as u64, queries as u64], compared }
    }

    /// Whether so few queries tell documents apart that a training should start at a baseline.
    pub fn is_little(&self) -> bool {
        self.queries[0] < FEW_QUERIES as u64
    }

    /// A warning if the model is not shown to be better. `may_have_baseline`: whether the training accepts one, and has none.
    pub fn doubt(&self, may_have_baseline: bool) -> Option<String> {
        let compared = self.compared.as_ref().filter(|compared| !compared.is_shown())?;
        let way_out = match (may_have_baseline, compared.is_undetermined) {
            (true, _) => CURRENT_ORDER,
            (false, true) => "clicks on lists in another order may show a gain",
            (false, false) => "more judged queries may show a gain",
        };
        Some(format!("{}; {way_out}", compared.text()))
    }

    /// The entry in the report. `validation`: results on held-out data.
    pub fn report(&self, validation: Option<&SelectionReport>) -> Value {
        let [informative, queries] = self.queries;
        let (compared, held_out) = (&self.compared, validation.and_then(SelectionReport::held_out_value));
        let interval = held_out.as_ref().and_then(|(_, _, interval)| *interval);
        let gain = compared.as_ref().and_then(|compared| compared.gain);
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
            "difference": gain.map(|gain| gain.mean),
            "difference_interval": gain.map(Gain::interval),
            "is_shown": compared.as_ref().map(Compared::is_shown),
            "lines": lines,
        })
    }
}
