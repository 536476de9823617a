//! Tables 1, 2, 3 and 5 of Dai & Wang (2019) as Markdown, each cell next to the paper's.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::data::{Example, SCENARIOS, Scenario, Setting};
use crate::experiment::{Form, MEASURES, METHODS, Measures};
use crate::paper::{Block, Cell, TABLE_1, TABLE_2, TABLE_3_DEPENDENT, TABLE_5};

/// Measures of every method in one replication.
pub type Replication = [Measures; 4];

/// All replications of every setting.
pub type Found = BTreeMap<Setting, Vec<Replication>>;

/// The paper prints two decimals.
const ROUNDING: f64 = 0.005;

/// A part of a table: a headline, what is simulated, and the paper's numbers.
pub struct Row {
    headline: String,
    pub setting: Setting,
    paper: Block,
}

/// A table: its number, what it shows, and its parts.
pub struct Table {
    title: &'static str,
    pub rows: Vec<Row>,
}

/// The table of this number, if it is one of errors.
pub fn table(number: &str) -> Option<Table> {
    match number {
        "1" => Some(examples("Table 1. Example 1: linear scores, linear kernel", Example::One, &TABLE_1)),
        "2" => Some(examples("Table 2. Example 2: Gaussian kernel", Example::Two, &TABLE_2)),
        "3" => Some(dependence()),
        "5" => Some(forms()),
        _ => None,
    }
}

fn examples(title: &'static str, example: Example, paper: &[[Block; 3]; 4]) -> Table {
    let row = |scenario: Scenario, gamma: u8| Row {
        headline: format!("{}, gamma 0.{gamma}", scenario.name()),
        setting: Setting::new(example, scenario, gamma),
        paper: paper[scenario as usize][usize::from(gamma)],
    };
    let rows = SCENARIOS.iter().flat_map(|scenario| (0..3).map(|gamma| row(*scenario, gamma)));
    Table { title, rows: rows.collect() }
}

fn dependence() -> Table {
    let row = |dependent: bool, gamma: u8| {
        let paper = if dependent { &TABLE_3_DEPENDENT } else { &TABLE_1[Scenario::FourGroups as usize] };
        let name = if dependent { "dependent" } else { "independent" };
        Row {
            headline: format!("{name}, gamma 0.{gamma}"),
            setting: Setting { dependent, ..Setting::new(Example::One, Scenario::FourGroups, gamma) },
            paper: paper[usize::from(gamma)],
        }
    };
    let rows = [false, true].iter().flat_map(|dependent| (0..3).map(|gamma| row(*dependent, gamma)));
    Table {
        title: "Table 3. Example 1, Scenario III: documents of a query dependent or not",
        rows: rows.collect(),
    }
}

fn forms() -> Table {
    let row = |example: Example, form: Form| Row {
        headline: format!("Example {}, {form:?}", example as usize + 1),
        setting: Setting { form, ..Setting::new(example, Scenario::TwoGroups, 0) },
        paper: TABLE_5[example as usize][form as usize],
    };
    let rows = [Example::One, Example::Two]
        .iter()
        .flat_map(|example| [Form::Scoring, Form::Ranking].map(|form| row(*example, form)));
    Table {
        title: "Table 5. Scenario II, gamma 0: scores of documents or preferences of pairs",
        rows: rows.collect(),
    }
}

/// Mean and standard error of some replications; no standard error of fewer than two.
fn summary(values: &[f64]) -> Cell {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, if values.len() < 2 { 0.0 } else { (squares / (n - 1.0) / n).sqrt() })
}

fn cell(found: &[Replication], method: usize, measure: usize) -> Cell {
    summary(&found.iter().map(|replication| replication[method][measure]).collect::<Vec<_>>())
}

/// True where the difference is more than chance and rounding explain: two standard errors of it and
/// the rounding.
fn differs(ours: Cell, paper: Cell) -> bool {
    (ours.0 - paper.0).abs() > 2.0 * ours.1.hypot(paper.1) + ROUNDING
}

impl Table {
    /// The table as Markdown.
    pub fn text(&self, found: &Found) -> String {
        let mut text = format!("## {}\n\n| | | ", self.title);
        text += &METHODS.map(|method| format!("{} |", method.name())).join(" ");
        text += "\n|---|---|---|---|---|---|\n";
        let mut outside = [0; 4];
        for row in &self.rows {
            for (measure, name) in MEASURES.iter().enumerate() {
                let headline = if measure == 0 { row.headline.as_str() } else { "" };
                let _ = write!(text, "| {headline} | {name} |");
                for (method, outside) in outside.iter_mut().enumerate() {
                    let (ours, paper) =
                        (cell(&found[&row.setting], method, measure), row.paper[measure][method]);
                    let mark = if differs(ours, paper) { " *" } else { "" };
                    *outside += usize::from(!mark.is_empty());
                    let _ = write!(
                        text,
                        " {:.3} ({:.3}) / {:.2} ({:.3}){mark} |",
                        ours.0, ours.1, paper.0, paper.1
                    );
                }
                text += "\n";
            }
        }
        let marked = METHODS.iter().zip(outside).map(|(method, count)| format!("{} {count}", method.name()));
        let marked = marked.collect::<Vec<_>>().join(", ");
        let _ =
            write!(text, "\nMarked cells of {} per method: {marked}.\n", self.rows.len() * MEASURES.len());
        text
    }
}

/// Who has the smaller MRE, by scenario of Table 1 at gamma = 0. Where the paper has a tie, either order
/// agrees.
pub fn order(found: &Found) -> String {
    let mut text =
        "## Order of the methods by MRE, Example 1, gamma 0 (ties of the paper may fall either way)\n\n"
            .to_owned();
    for scenario in SCENARIOS {
        let setting = Setting::new(Example::One, scenario, 0);
        let ours = [0, 1, 2, 3].map(|method| cell(&found[&setting], method, 0).0);
        let paper = TABLE_1[scenario as usize][0][0].map(|cell| cell.0);
        let pairs = (0..4).flat_map(|a| (0..4).map(move |b| (a, b)));
        let turned = pairs.filter(|&(a, b)| paper[a] < paper[b] && ours[a] > ours[b]);
        let turned: Vec<String> =
            turned.map(|(a, b)| format!("not {} before {}", METHODS[a].name(), METHODS[b].name())).collect();
        let verdict = if turned.is_empty() { "the same".to_owned() } else { turned.join(", ") };
        let _ = writeln!(
            text,
            "* {}: paper {}; here {}: {verdict}.",
            scenario.name(),
            chain(paper, 2),
            chain(ours, 3)
        );
    }
    text
}

/// Methods from the least value to the largest.
fn chain(values: [f64; 4], decimals: usize) -> String {
    let mut order = [0, 1, 2, 3];
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let texts = order.map(|method| format!("{} {:.decimals$}", METHODS[method].name(), values[method]));
    texts.join(" <= ")
}
