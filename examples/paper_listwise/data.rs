//! Tables of the data sets, and which of them train, validate and test.

use std::path::Path;

use serde_json::{Value, json};

use crate::Outcome;
use crate::lab::Lab;

/// Parts of MQ2008, and folds.
const PARTS: usize = 5;
/// Folds with `--quick`.
const QUICK_FOLDS: usize = 2;

/// What trains, validates and tests, as sources.
pub struct Split {
    pub train: String,
    pub validation: String,
    pub test: String,
}

/// A data set.
pub struct Set {
    pub name: &'static str,
    /// Scaling of its features.
    pub scale: Value,
    /// Highest grade, for ERR.
    pub max_grade: u8,
    pub splits: Vec<Split>,
}

/// Both data sets.
pub struct Data {
    pub mq2008: Set,
    pub mslr: Set,
}

/// MSLR's tables and files.
const MSLR: [(&str, &str); 3] =
    [("mslr_train", "train.txt"), ("mslr_validation", "vali.txt"), ("mslr_test", "test.txt")];

/// Files that are not in the folder.
pub fn absent(folder: &Path) -> Vec<String> {
    let mq2008 = (1..=PARTS).map(|part| format!("mq2008/S{part}.txt"));
    let mslr = MSLR.iter().map(|(_, file)| format!("mslr-sample/{file}"));
    mq2008.chain(mslr).filter(|file| !folder.join(file).is_file()).collect()
}

impl Data {
    /// Reads all files into tables.
    ///
    /// # Errors
    /// A file that is not in LETOR format.
    pub fn load(lab: &Lab, folder: &Path) -> Outcome<Self> {
        for part in 1..=PARTS {
            table(lab, &format!("s{part}"), &folder.join(format!("mq2008/S{part}.txt")), 46)?;
        }
        for (name, file) in MSLR {
            table(lab, name, &folder.join("mslr-sample").join(file), 136)?;
        }
        let [train, validation, test] = MSLR.map(|(name, _)| name.to_owned());
        let folds = if lab.quick { QUICK_FOLDS } else { PARTS };
        Ok(Self {
            mq2008: Set {
                name: "MQ2008",
                scale: json!("none"),
                max_grade: 2,
                splits: (0..folds).map(fold).collect(),
            },
            mslr: Set {
                name: "MSLR sample",
                scale: json!("quantile_minmax"),
                max_grade: 4,
                splits: vec![Split { train, validation, test }],
            },
        })
    }
}

fn table(lab: &Lab, name: &str, path: &Path, features: usize) -> Outcome<()> {
    let columns = "query_id, doc_id, relevance, features";
    let letor = format!("SELECT {columns} FROM ltr_letor(?1, '{{\"feature_count\": {features}}}')");
    lab.connection.execute(&format!("CREATE TABLE {name} AS {letor}"), [path.display().to_string()])?;
    Ok(())
}

/// Fold f trains on parts f, f + 1, f + 2, validates on f + 3 and tests on f + 4 (cyclic).
fn fold(fold: usize) -> Split {
    let part = |number: usize| format!("s{}", (fold + number) % PARTS + 1);
    let train: Vec<String> = (0..3).map(|number| format!("SELECT * FROM {}", part(number))).collect();
    Split { train: train.join(" UNION ALL "), validation: part(3), test: part(4) }
}

/// All parts of MQ2008, one behind the other.
pub fn all_of_mq2008() -> String {
    let parts: Vec<String> = (1..=PARTS).map(|part| format!("SELECT * FROM s{part}")).collect();
    parts.join(" UNION ALL ")
}
