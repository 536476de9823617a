//! Figures 1, 2 and 4 of Le, Smola, Chapelle & Teo: NDCG@1 to 10 of direct optimization and of its rivals.
//!
//! One model per method, which optimizes NDCG@10: the paper has a model for each k on its first data set and one for
//! NDCG@10 on Ohsumed, whose results were not stable otherwise. It tests by Wilcoxon's signed ranks; here signs of the
//! differences of queries are permuted.

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

/// Five grades and many features, as the web search data of figures 1 and 2.
///
/// # Errors
/// What SQL answers with, or a file that cannot be written.
pub fn web(lab: &Lab, data: &Data, out: &Path) -> Outcome<String> {
    compare(lab, &data.mslr, "Figures 1 and 2", &out.join("figure1.svg"))
}

/// A set of LETOR with three grades and five folds, as Ohsumed of figure 4.
///
/// # Errors
/// As [`web`].
pub fn letor(lab: &Lab, data: &Data, out: &Path) -> Outcome<String> {
    compare(lab, &data.mq2008, "Figure 4", &out.join("figure4.svg"))
}

fn compare(lab: &Lab, set: &Set, figure: &str, path: &Path) -> Outcome<String> {
    let methods = methods::of_the_curves();
    lab.expect(methods.len() * set.splits.len());
    let lines = methods.iter().map(|method| Ok((method.label.clone(), lab.fits(method, set)?)));
    let lines = lines.collect::<Outcome<Vec<Line>>>()?;
    draw(path, &[panel(set, &lines)?])?;
    let title = format!("## {figure} of Le et al., {}: NDCG@k on test queries", set.name);
    Ok(format!("{title}\n\n{}\n{}\nDrawn in {}.\n", means(&lines)?, tests(&lines), path.display()))
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

/// The first two lines, which are direct optimization, against every other one.
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
