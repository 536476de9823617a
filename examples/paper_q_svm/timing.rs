//! Table 4 of Dai & Wang (2019): seconds to fit every query at lambda = 1e-8 in Scenario IV of Example 1.
//!
//! The paper does not say whether N counts documents before or after the split, so both readings are timed:
//! N training documents per query, and a fifth of them. A time is for a single run, from documents and
//! query features to all functions.

use std::fmt::Write as _;
use std::time::Instant;

use sqlite_ltr::Result;
use sqlite_ltr::internals::learn::solve::{SolveOptions, Stop};

use crate::data::for_timing;
use crate::experiment::{Experiment, Form, Kernel, METHODS, Method, Query};
use crate::paper::TABLE_4;

const LAMBDA: f64 = 1e-8;
/// Gap of every fit, relative to its objective.
const GAP: f64 = 1e-4;

/// Runs that are timed, for a progress bar.
pub const RUNS: usize = 2 * TABLE_4.len() * METHODS.len();

/// Seconds, and the share of fits that reached the gap.
struct Timing {
    seconds: f64,
    converged: f64,
}

fn time(queries: &[Query], method: Method) -> Result<Timing> {
    let start = Instant::now();
    let experiment = Experiment::new(queries, Kernel::Linear, Form::Scoring)?;
    let options = SolveOptions::new(GAP);
    let reports = experiment.fit_all(method, LAMBDA, &options)?;
    let seconds = start.elapsed().as_secs_f64();
    let converged = reports.iter().filter(|report| report.stop == Stop::Converged).count();
    Ok(Timing { seconds, converged: converged as f64 / reports.len() as f64 })
}

/// The table as Markdown; `step` is called after every run.
///
/// # Errors
/// Numbers that are not finite.
pub fn table(seed: u64, step: &dyn Fn()) -> Result<String> {
    let threads = rayon::current_num_threads();
    let title = format!("Table 4. Seconds with {threads} threads: N training documents per query");
    let mut text = format!("## {title}; N / 5; paper (8 cores)\n\n| n | N | ");
    text += &METHODS.map(|method| format!("{} |", method.name())).join(" ");
    text += "\n|---|---|---|---|---|---|\n";
    let mut least: f64 = 1.0;
    for (n, documents, paper) in TABLE_4 {
        let _ = write!(text, "| {n} | {documents} |");
        let sets = [for_timing(n, documents, seed), for_timing(n, documents / 5, seed)];
        for (method, paper) in METHODS.into_iter().zip(paper) {
            let mut seconds = [0.0; 2];
            for (seconds, queries) in seconds.iter_mut().zip(&sets) {
                let timing = time(queries, method)?;
                *seconds = timing.seconds;
                least = least.min(timing.converged);
                step();
            }
            let _ = write!(text, " {:.3}; {:.3}; {paper:.3} |", seconds[0], seconds[1]);
        }
        text += "\n";
    }
    let _ =
        write!(text, "\nShare of fits that reached the gap of {GAP:e}, at least: {:.1} %.\n", 100.0 * least);
    Ok(text)
}
