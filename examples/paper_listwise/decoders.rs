//! Figure 3 of Le, Smola, Chapelle & Teo: what the choice of the decoder c does to NDCG@10.
//!
//! The paper shows the largest difference between decoders by the size of the training set, and no numbers.

use std::fmt::Write as _;
use std::path::Path;

use crate::Outcome;
use crate::data::Data;
use crate::lab::{CHOICE, Lab, mean};
use crate::methods::{Method, decoded};
use crate::plot::{Panel, Series, draw};
use crate::text::{cells, table};

/// Exponents of the decoder `power`.
const POWERS: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 3.0];

fn methods(quick: bool) -> Vec<Method> {
    let powers = if quick { &POWERS[1..4] } else { &POWERS[..] };
    let powers = powers.iter().map(|power| decoded(&format!("power {power}"), Some(("power", Some(*power)))));
    let named = ["log", "loglog", "metric"].map(|name| decoded(name, Some((name, None))));
    // The default decoder is left out of the options so that the model of other parts serves here too.
    std::iter::once(decoded("linear", None)).chain(powers).chain(named).collect()
}

/// The part.
///
/// # Errors
/// What SQL answers with, or a file that cannot be written.
pub fn run(lab: &Lab, data: &Data, out: &Path) -> Outcome<String> {
    let methods = methods(lab.quick);
    lab.expect(methods.len() * data.mq2008.splits.len());
    let mut rows = vec![cells(["decoder", "validated", "test", "seconds per fold"])];
    let (mut validated, mut tested) = (Vec::new(), Vec::new());
    for method in &methods {
        let fits = lab.fits(method, &data.mq2008)?;
        let values = [mean(&fits, |fit| Ok(fit.validated))?, mean(&fits, |fit| fit.mean(CHOICE))?];
        let seconds = mean(&fits, |fit| Ok(fit.seconds))?;
        let numbers = [values.map(|value| format!("{value:.4}")).to_vec(), vec![format!("{seconds:.1}")]];
        rows.push(std::iter::once(method.label.clone()).chain(numbers.concat()).collect());
        validated.push(values[0]);
        tested.push(values[1]);
    }
    let spread = |values: &[f64]| {
        let (low, high) = range(values);
        100.0 * (high - low)
    };
    let mut text = "## Figure 3 of Le et al.: NDCG@10 on MQ2008 by the decoder c\n\n".to_owned();
    text += &table(&rows);
    let _ = writeln!(
        text,
        "\nLargest difference, percentage points: validated {:.2}, test {:.2}.",
        spread(&validated),
        spread(&tested)
    );
    let path = out.join("figure3.svg");
    draw(&path, &[panel(&methods, [("validated", validated), ("test", tested)])])?;
    let _ = writeln!(text, "Drawn in {}.", path.display());
    Ok(text)
}

fn range(values: &[f64]) -> (f64, f64) {
    values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)))
}

fn panel(methods: &[Method], series: [(&str, Vec<f64>); 2]) -> Panel {
    let points = |values: Vec<f64>| (1..).map(f64::from).zip(values).collect();
    let series = series.map(|(name, values)| Series { name: name.to_owned(), points: points(values) });
    Panel {
        title: "MQ2008, direct, nonconvex".to_owned(),
        x: "decoder",
        y: "NDCG@10",
        places: methods.iter().map(|method| method.label.replace("power ", "p^-")).collect(),
        series: series.into(),
    }
}
