//! Every algorithm on MQ2008, and the choice among them by validation.

use std::fmt::Write as _;
use std::path::Path;
use std::rc::Rc;

use crate::Outcome;
use crate::data::Data;
use crate::lab::{CHOICE, Fit, Lab, mean};
use crate::methods;
use crate::text::{cells, table};

/// What the table shows.
const SHOWN: [&str; 6] = ["ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map", "err"];

/// The part.
///
/// # Errors
/// What SQL answers with.
pub fn run(lab: &Lab, data: &Data, _out: &Path) -> Outcome<String> {
    let methods = methods::all();
    lab.expect(methods.len() * data.mq2008.splits.len());
    let mut rows = vec![
        [cells(["algorithm"]), SHOWN.map(str::to_uppercase).to_vec(), LAST.map(str::to_owned).to_vec()]
            .concat(),
    ];
    let mut found: Vec<(String, Vec<Rc<Fit>>)> = Vec::new();
    for method in methods {
        let fits = lab.fits(&method, &data.mq2008)?;
        rows.push(row(&method.label, &fits)?);
        found.push((method.label, fits));
    }
    let chosen = (0..data.mq2008.splits.len()).map(|fold| best(&found, fold));
    let chosen = chosen.collect::<Option<Vec<_>>>().ok_or("no algorithm to choose from")?;
    let fits: Vec<Rc<Fit>> = chosen.iter().map(|(_, fit)| Rc::clone(fit)).collect();
    rows.push(row("chosen by validation per fold", &fits)?);
    let mut text = format!("## Every algorithm on MQ2008: means over folds\n\n{}\n", table(&rows));
    let names: Vec<&str> = chosen.iter().map(|(name, _)| *name).collect();
    let _ = writeln!(
        text,
        "Chosen by fold: {}.\n\n### Test NDCG@10 (validated) by fold\n\n{}",
        names.join("; "),
        folds(&found)?
    );
    let _ = writeln!(text, "{}", perceptrons(&found));
    Ok(text)
}

const LAST: [&str; 2] = ["validated @10", "seconds per fold"];

fn row(label: &str, fits: &[Rc<Fit>]) -> Outcome<Vec<String>> {
    let mut row = vec![label.to_owned()];
    for metric in SHOWN {
        row.push(format!("{:.4}", mean(fits, |fit| fit.mean(metric))?));
    }
    row.push(format!("{:.4}", mean(fits, |fit| Ok(fit.validated))?));
    row.push(format!("{:.1}", mean(fits, |fit| Ok(fit.seconds))?));
    Ok(row)
}

/// The algorithm with the highest validated NDCG@10 in a fold, the first of equal ones.
fn best(found: &[(String, Vec<Rc<Fit>>)], fold: usize) -> Option<(&str, Rc<Fit>)> {
    let of_fold = found.iter().map(|(name, fits)| (name.as_str(), Rc::clone(&fits[fold])));
    of_fold.reduce(|best, next| if next.1.validated > best.1.validated { next } else { best })
}

fn folds(found: &[(String, Vec<Rc<Fit>>)]) -> Outcome<String> {
    let folds = found.first().map_or(0, |(_, fits)| fits.len());
    let mut rows = vec![
        std::iter::once("algorithm \\ fold".to_owned())
            .chain((1..=folds).map(|fold| fold.to_string()))
            .collect::<Vec<_>>(),
    ];
    for (name, fits) in found {
        let mut row = vec![name.clone()];
        for fit in fits {
            row.push(format!("{:.4} ({:.4})", fit.mean(CHOICE)?, fit.validated));
        }
        rows.push(row);
    }
    Ok(table(&rows))
}

/// What validation chose for the perceptron.
fn perceptrons(found: &[(String, Vec<Rc<Fit>>)]) -> String {
    let fits = found.iter().filter(|(name, _)| name == "perceptron").flat_map(|(_, fits)| fits);
    let choice = |fit: &Rc<Fit>| {
        format!("{} epochs, {}", fit.options["epochs"], fit.options["update_on"].as_str().unwrap_or_default())
    };
    format!("Perceptron by fold: {}.", fits.map(choice).collect::<Vec<_>>().join("; "))
}
