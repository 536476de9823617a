//! What three papers on listwise ranking measured, on public data, through SQL alone:
//!
//! ```text
//! cargo run --release --example paper_listwise -- [--only figure1,figure3,figure4,table1,cumulative,algorithms]
//!                                                 [--quick] [--out target/paper_listwise] [--help]
//! ```
//!
//! Tables go to the terminal as Markdown, figures to the folder `--out` as SVG. [`HELP`] says what the parts are. The data
//! are found through `LTR_DATA` (default `../shared/data`); neither they nor the papers' data are part of the project.
//!
//! * `data`: tables of the data sets, and which of them train, validate and test
//! * `lab`: trains and measures in SQL, each model once
//! * `methods`: what is trained, with which options
//! * `curves`, `decoders`, `kernels`, `cumulative`, `algorithms`: the parts
//! * `permutation`, `plot`, `text`: a paired test, line plots, tables
#![allow(clippy::print_stdout, reason = "an example talks to the person who runs it")]

mod algorithms;
mod cumulative;
mod curves;
mod data;
mod decoders;
mod kernels;
mod lab;
mod methods;
mod permutation;
mod plot;
mod text;

use std::error::Error;
use std::path::PathBuf;

use data::Data;
use lab::Lab;

/// What any part of the example may answer with.
type Outcome<T> = Result<T, Box<dyn Error>>;

const HELP: &str = "\
paper_listwise: what papers on listwise ranking measured, on MQ2008 and a sample of MSLR-WEB10K, in SQL.

    cargo run --release --example paper_listwise -- [options]

    --only PARTS   parts to run, separated by commas; all unless given:
                     figure1     Le et al., figures 1 and 2, on the MSLR sample: NDCG@1 to 10 of direct optimization, the
                                 ranking SVM, regression and SmoothGrad, and a paired permutation test at NDCG@10
                     figure4     Le et al., figure 4: the same on MQ2008
                     figure3     Le et al., figure 3: choice of the decoder c
                     table1      Olinto & Fokoue, table 1: cost-sensitive ListMLE with kernels and truncations
                     cumulative  Chaudhuri & Tewari, section 5.1: loss of the perceptron and its bounds
                     algorithms  every algorithm on MQ2008, and the choice among them by validation
    --quick        fewer folds, candidates for lambda, landmarks and truncations
    --out FOLDER   where figures go; target/paper_listwise unless given
    --help         this text

The data are read from the folder LTR_DATA (default ../shared/data): mq2008/S1.txt to S5.txt (LETOR 4.0) and
mslr-sample/train.txt, vali.txt, test.txt. Without them nothing is measured. The papers' own data cannot be had or are
much larger, so that orders and sizes of differences can be compared, but not numbers.

Lambda is chosen on the validation part by NDCG@10, for direct optimization and SmoothGrad among a few values only. A
query without a relevant document counts 0. Numbers on MQ2008 are means over five folds, and its features are not
scaled; the features of MSLR are (\"scale\": \"both\").
All parts take some tens of minutes on two cores; --quick takes a few.";

/// A part: its name and what makes its text.
type Part = (&'static str, fn(&Lab, &Data, &std::path::Path) -> Outcome<String>);

const PARTS: [Part; 6] = [
    ("algorithms", algorithms::run),
    ("figure4", curves::letor),
    ("figure1", curves::web),
    ("figure3", decoders::run),
    ("table1", kernels::run),
    ("cumulative", cumulative::run),
];

/// What the caller asks for.
struct Request {
    parts: Vec<Part>,
    quick: bool,
    out: PathBuf,
    help: bool,
}

impl Request {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Outcome<Self> {
        let out = PathBuf::from("target/paper_listwise");
        let mut request = Self { parts: PARTS.to_vec(), quick: false, out, help: false };
        while let Some(name) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{name} needs a value"));
            match name.as_str() {
                "--only" => request.parts = parts(&value()?)?,
                "--out" => request.out = PathBuf::from(value()?),
                "--quick" => request.quick = true,
                "--help" | "-h" => request.help = true,
                _ => return Err(format!("unknown argument {name}; --help lists the known ones").into()),
            }
        }
        Ok(request)
    }
}

/// The parts of these names, in the order of [`PARTS`].
fn parts(names: &str) -> Outcome<Vec<Part>> {
    let names: Vec<&str> = names.split(',').collect();
    let known = PARTS.map(|(name, _)| name);
    if let Some(name) = names.iter().find(|name| !known.contains(name)) {
        return Err(format!("unknown part {name}; known: {}", known.join(", ")).into());
    }
    Ok(PARTS.into_iter().filter(|(name, _)| names.contains(name)).collect())
}

fn main() -> Outcome<()> {
    let request = Request::parse(std::env::args().skip(1))?;
    if request.help {
        println!("{HELP}");
        return Ok(());
    }
    let folder = std::env::var_os("LTR_DATA").map_or_else(|| PathBuf::from("../shared/data"), PathBuf::from);
    let absent = data::absent(&folder);
    if !absent.is_empty() {
        println!("THE DATA ARE NOT THERE: NOTHING IS MEASURED.");
        println!("Missing in {}: {}. Set LTR_DATA; --help says more.", folder.display(), absent.join(", "));
        return Ok(());
    }
    std::fs::create_dir_all(&request.out)?;
    let lab = Lab::new(request.quick)?;
    let data = Data::load(&lab, &folder)?;
    for (name, run) in request.parts {
        let text = run(&lab, &data, &request.out).map_err(|error| format!("{name}: {error}"))?;
        lab.pause(|| println!("{text}"));
    }
    lab.finish();
    Ok(())
}
