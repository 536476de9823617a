//! Models of each format that is read: `tests/data/models/FORMAT/`, with their scores. Every model still gives
//! them to the last bit.
//!
//! Models that are not stored yet, of a new format, algorithm or option, are written by
//!
//! ```text
//! LTR_WRITE_MODELS=1 cargo test --test hostile stored
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlite_ltr::internals::learn::kernel;
use sqlite_ltr::internals::train::ALGORITHMS;
use xxhash_rust::xxh3::xxh3_64;

use super::models::{SLOTS, Sample, VECTORS, WITH_BRAND, WITH_SHOPS, WITHOUT_MOOD, connect, samples};

/// What the models rank: training queries, with and without query features; a new query; slots; ratings.
const SOURCES: &[(&str, &str)] = &[
    ("judged", "SELECT * FROM judged"),
    ("without_mood", WITHOUT_MOOD),
    (
        "new",
        "SELECT 77 AS query_id, doc_id, b AS a, a AS b, 0.4 AS q_mood, 'a' AS q_site, '[2, 4, 1]' AS q_wish FROM judged \
         WHERE query_id = 2",
    ),
    ("with_brand", WITH_BRAND),
    ("with_shops", WITH_SHOPS),
    ("vectors", VECTORS),
    ("slots", SLOTS),
    ("ratings", "ratings"),
];

/// The scores of a model by the names of the sources that it ranks.
type Scores = BTreeMap<String, Vec<f64>>;

/// What `scores.json` has of a file.
#[derive(Serialize, Deserialize)]
struct Stored {
    /// Algorithm and options.
    model: String,
    scores: Scores,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/models")
}

/// The format version of a model.
fn format(model: &[u8]) -> u16 {
    u16::from_le_bytes([model[8], model[9]])
}

/// The scores of a model on each source that it can rank, in the order of the rows.
fn scores(connection: &Connection, model: &[u8]) -> Scores {
    let sql = "SELECT score FROM ltr_rank(?1, ?2, '{\"threads\": 1}') ORDER BY query_id, doc_id, score";
    let mut statement = connection.prepare(sql).expect(sql);
    let mut of_source = |source: &str| -> rusqlite::Result<Vec<f64>> {
        statement.query_map((model, source), |row| row.get(0))?.collect()
    };
    let found =
        SOURCES.iter().filter_map(|(name, source)| Some(((*name).to_owned(), of_source(source).ok()?)));
    found.filter(|(_, scores)| !scores.is_empty()).collect()
}

/// The scores of the models in a folder, by their files; none without a folder.
fn stored(folder: &Path) -> BTreeMap<String, Stored> {
    let text = fs::read_to_string(folder.join("scores.json")).unwrap_or_else(|_| "{}".to_owned());
    serde_json::from_str(&text).expect("scores as JSON")
}

/// Writes models that are not stored yet, one folder for each format. Stored models never change.
fn write(connection: &Connection) {
    let mut of_format: BTreeMap<u16, Vec<Sample>> = BTreeMap::new();
    for sample in samples(connection) {
        of_format.entry(format(&sample.bytes)).or_default().push(sample);
    }
    of_format.into_iter().for_each(|(version, samples)| write_format(connection, version, samples));
}

fn write_format(connection: &Connection, version: u16, samples: Vec<Sample>) {
    let folder = folder().join(version.to_string());
    fs::create_dir_all(&folder).expect("a folder");
    let mut all = stored(&folder);
    for sample in samples {
        let algorithm = sample.name.split(' ').next().expect("a name");
        let file = format!("{algorithm}_{:04x}.bin", xxh3_64(sample.name.as_bytes()) as u16);
        all.entry(file).or_insert_with_key(|file| {
            fs::write(folder.join(file), &sample.bytes).expect("a model");
            Stored { scores: scores(connection, &sample.bytes), model: sample.name }
        });
    }
    let line = |(file, stored): (&String, &Stored)| {
        format!("{file:?}: {}", serde_json::to_string(stored).expect("JSON"))
    };
    let lines: Vec<String> = all.iter().map(line).collect();
    fs::write(folder.join("scores.json"), format!("{{\n{}\n}}\n", lines.join(",\n"))).expect("the scores");
}

/// Whether two scores are equal. Bits are promised for one class of processors (docs/adr/0004-determinism.md), and not for
/// kernels, and fits at query time with a loss of exponentials: a faster exponential or distance of a later version may
/// change the last digits.
fn is_same(found: f64, stored: f64, of_exponentials: bool) -> bool {
    if cfg!(target_arch = "x86_64") && !of_exponentials {
        found.to_bits() == stored.to_bits()
    } else {
        (found - stored).abs() <= 1e-6 * stored.abs().max(1.0)
    }
}

#[test]
fn stored_models_give_the_same_scores() {
    let connection = connect();
    if env::var_os("LTR_WRITE_MODELS").is_some() {
        write(&connection);
    }
    let mut formats: Vec<u16> = fs::read_dir(folder())
        .expect("stored models")
        .map(|entry| {
            entry.expect("an entry").file_name().to_string_lossy().parse().expect("a format version")
        })
        .collect();
    formats.sort_unstable();
    assert_eq!(formats.first(), Some(&8), "8 is the oldest format that is read");
    let (mut algorithms, mut kernels) = (String::new(), String::new());
    for version in formats {
        let folder = folder().join(version.to_string());
        let stored = stored(&folder);
        let files = fs::read_dir(&folder).expect("models").count();
        assert_eq!(files, stored.len() + 1, "format {version}: scores of every model");
        for (file, Stored { model: name, scores: expected }) in &stored {
            let case = format!("format {version}, {file}, {name}");
            let model = fs::read(folder.join(file)).expect("a model");
            assert_eq!(format(&model), version, "{case}");
            let actual = scores(&connection, &model);
            assert!(
                !actual.is_empty() && actual.keys().eq(expected.keys()),
                "{case}: other sources are ranked"
            );
            let info: String =
                connection.query_row("SELECT ltr_info(?1)", [&model], |row| row.get(0)).expect("info");
            let info: Value = serde_json::from_str(&info).expect("JSON");
            let kernel = &info["settings"]["kernel"];
            let is_fitted =
                info["settings"]["loss"] == "logistic" && info["settings"]["fit_at"] == "query_time";
            let of_exponentials = name.starts_with("auto")
                || is_fitted
                || info["settings"]["interaction"] == "gaussian"
                || !kernel.is_null() && kernel != "linear";
            for (source, expected) in expected {
                let actual = &actual[source];
                let same = actual.len() == expected.len()
                    && actual
                        .iter()
                        .zip(expected)
                        .all(|(actual, stored)| is_same(*actual, *stored, of_exponentials));
                assert!(same, "{case}, {source}: {actual:?}, stored {expected:?}");
            }
            algorithms += &info["algorithm"].to_string();
            kernels += &info["settings"]["kernel"].to_string();
        }
    }
    for algorithm in ALGORITHMS {
        assert!(algorithms.contains(&format!("\"{}\"", algorithm.name)), "no stored {}", algorithm.name);
    }
    for name in kernel::NAMES.iter().filter(|name| **name != "linear") {
        assert!(kernels.contains(&format!("\"{name}\"")), "no stored model of the kernel {name}");
    }
}
