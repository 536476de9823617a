//! Figures 1, 2 and 4 of Le, Smola, Chapelle & Teo: NDCG@1 to 10 of direct optimisation and of its rivals.
//!
//! One model per method, which optimises NDCG@10: the paper has a model for each k on its first data set and one for
//! NDCG@10 on Ohsumed, whose results were not stable otherwise. It tests by Wilcoxon's signed ranks; here signs of the
//! differences of queries are permuted.

use std::fmt::Write as _;
use std::path::Path;
use std::rc::Rc;

use crate::Outcome;
use crate::data::{Data, Set};
use crate::lab::{CHOICE, Fit, Lab, mean};
use crate::methods;
use crate::permutation::p_value;
use crate::plot::{Panel, Series, draw};
use crate::text::{cells, table};

/// Largest cutoff of NDCG.
const LARGEST: usize = 10;

/// The fits of one method on every fold.
type Line = (String, Vec<Rc<Fit>>);

/// The part.
///
/// # Errors
/// What SQL answers with, or a file that cannot be written.
pub fn run(lab: &Lab, data: &Data, out: &Path) -> Outcome<String> {
    let methods = methods::of_the_curves();
    let sets = [&data.mq2008, &data.mslr];
    lab.expect(methods.len() * sets.iter().map(|set| set.splits.len()).sum::<usize>());
    let mut text = "## Figures 1, 2 and 4 of Le et al.: NDCG@k on test queries\n".to_owned();
    let mut panels = Vec::new();
    for set in sets {
        let lines = methods.iter().map(|method| Ok((method.label.clone(), lab.fits(method, set)?)));
        let lines = lines.collect::<Outcome<Vec<Line>>>()?;
        panels.push(panel(set, &lines)?);
        let _ = write!(text, "\n### {}\n\n{}\n{}", set.name, means(&lines)?, tests(&lines));
    }
    let path = out.join("figure1.svg");
    draw(&path, &panels)?;
    let _ = writeln!(text, "\nDrawn in {}.", path.display());
    Ok(text)
}

fn curve(fits: &[Rc<Fit>]) -> Outcome<Vec<f64>> {
    (1..=LARGEST).map(|k| mean(fits, |fit| fit.mean(&format!("ndcg@{k}")))).collect()
}

fn panel(set: &Set, lines: &[Line]) -> Outcome<Panel> {
    let series = lines.iter().map(|(name, fits)| {
        let points = curve(fits)?.into_iter().enumerate().map(|(place, value)| (place as f64 + 1.0, value));
        Ok(Series { name: name.clone(), points: points.collect() })
    });
    Ok(Panel {
        title: set.name.to_owned(),
        x: "k",
        y: "NDCG@k",
        places: (1..=LARGEST).map(|k| k.to_string()).collect(),
        series: series.collect::<Outcome<_>>()?,
    })
}

fn means(lines: &[Line]) -> Outcome<String> {
    let mut header = vec!["method \\ k".to_owned()];
    header.extend((1..=LARGEST).map(|k| k.to_string()));
    header.extend(cells(["validated @10", "seconds per fold"]));
    let mut rows = vec![header];
    for (name, fits) in lines {
        let mut row = vec![name.clone()];
        row.extend(curve(fits)?.into_iter().map(|value| format!("{value:.4}")));
        row.push(format!("{:.4}", mean(fits, |fit| Ok(fit.validated))?));
        row.push(format!("{:.1}", mean(fits, |fit| Ok(fit.seconds))?));
        rows.push(row);
    }
    Ok(table(&rows))
}

/// The first two lines, which are direct optimisation, against every other one.
fn tests(lines: &[Line]) -> String {
    let mut rows = vec![cells(["at NDCG@10", "against", "mean difference", "p", "queries"])];
    for (place, (name, fits)) in lines.iter().take(2).enumerate() {
        for (other, others) in &lines[place + 1..] {
            let differences: Vec<f64> = fits.iter().zip(others).flat_map(|(a, b)| apart(a, b)).collect();
            let mean = differences.iter().sum::<f64>() / differences.len() as f64;
            let numbers = [
                format!("{mean:+.4}"),
                format!("{:.4}", p_value(&differences)),
                differences.len().to_string(),
            ];
            rows.push([name.clone(), other.clone()].into_iter().chain(numbers).collect());
        }
    }
    let title = format!("Paired permutation test of {CHOICE} over all test queries, two-sided:");
    format!("{title}\n\n{}", table(&rows))
}

fn apart(a: &Fit, b: &Fit) -> Vec<f64> {
    a.queries.iter().zip(&b.queries).map(|(a, b)| a - b).collect()
}
