//! Chaudhuri & Tewari (2014), section 5.1: the sum of losses 1 - NDCG@10 of the perceptron, query by query as they come,
//! against what the theory promises.
//!
//! The bounds hold for every comparator u; the report of a training has them at a multiple of the averaged weights. The
//! paper proves them and measures nothing.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::Outcome;
use crate::data::{Data, all_of_mq2008};
use crate::lab::Lab;
use crate::plot::{Panel, Series, draw};
use crate::text::{cells, table};

/// Prefixes of the stream.
const PREFIXES: u32 = 10;
const QUICK_PREFIXES: u32 = 4;

/// The first queries of the stream, each with its documents as they came.
const PREFIX: &str = "SELECT s.* FROM stream s JOIN stream_queries q USING (query_id) WHERE q.number <= ?1 \
                      ORDER BY s.rowid";

/// What is drawn: a name and where the report has it.
const LINES: [(&str, &str); 3] = [
    ("cumulative loss", "/cumulative_loss"),
    ("bound (15)", "/bounds/regret/value"),
    ("bound of Theorem 5", "/bounds/theorem_5/value"),
];

/// How to read the table.
const NOTE: &str = "A query without a relevant document loses nothing. A loss is at most 1, so that the number of updates bounds \
                    the sum too;\na bound above it says nothing about these data.";

/// The part.
///
/// # Errors
/// What SQL answers with, or a file that cannot be written.
pub fn run(lab: &Lab, _data: &Data, out: &Path) -> Outcome<String> {
    let queries = stream(lab)?;
    let prefixes = if lab.quick { QUICK_PREFIXES } else { PREFIXES };
    lab.expect(prefixes as usize);
    let mut rows = vec![cells(["queries", "updates", LINES[0].0, "per query", LINES[1].0, LINES[2].0])];
    let mut series = LINES.map(|(name, _)| Series { name: name.to_owned(), points: Vec::new() });
    for prefix in 1..=prefixes {
        let length = queries * prefix / prefixes;
        lab.begin(format!("MQ2008: perceptron on {length} queries"));
        let options =
            json!({ "measure": "ndcg@10", "update_on": "misorder", "name": "stream", "params": [length] });
        let report = lab.train("perceptron", PREFIX, &options)?;
        let values = LINES.map(|(_, path)| report.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN));
        for (series, value) in series.iter_mut().zip(values) {
            series.points.push((f64::from(length), value.log10()));
        }
        let [loss, regret, theorem] = values;
        let (rate, updates) = (loss / f64::from(length), report["updates"].to_string());
        let numbers = [length.to_string(), updates, format!("{loss:.2}"), format!("{rate:.4}")];
        rows.push([&numbers[..], &[format!("{regret:.1}"), format!("{theorem:.0}")]].concat());
        lab.step();
    }
    let path = out.join("cumulative.svg");
    let title = "MQ2008, perceptron, one pass".to_owned();
    draw(
        &path,
        &[Panel { title, x: "queries", y: "log10 of the sum", places: Vec::new(), series: series.into() }],
    )?;
    let mut text =
        "## Chaudhuri & Tewari: cumulative loss 1 - NDCG@10 of the perceptron on MQ2008\n\n".to_owned();
    let _ = writeln!(text, "{}\n{NOTE}\nDrawn in {}.", table(&rows), path.display());
    Ok(text)
}

/// Makes the tables of the stream; the number of its queries.
fn stream(lab: &Lab) -> Outcome<u32> {
    lab.connection.execute_batch(&format!(
        "CREATE TABLE stream AS {};
         CREATE TABLE stream_queries (number INTEGER PRIMARY KEY, query_id);
         INSERT INTO stream_queries (query_id) SELECT query_id FROM stream GROUP BY query_id ORDER BY min(rowid);",
        all_of_mq2008()
    ))?;
    Ok(lab.connection.query_row("SELECT count(*) FROM stream_queries", [], |row| row.get(0))?)
}
