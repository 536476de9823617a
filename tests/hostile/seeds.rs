//! The seeds of fuzzing reach what is behind their seals: the library accepts every model among them, and most texts to import.
//! After a change of the bytes of models, `fuzz/run` says how to write new ones.

use std::path::PathBuf;

#[allow(dead_code, reason = "the target of fuzzing uses the rest")]
#[path = "../../fuzz/src/model.rs"]
mod model;

use crate::mutated::models::connect;

/// The name and the bytes of each seed of a target.
fn seeds(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = format!("{}/fuzz/seeds/{target}", env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.map(|file| (file.clone(), std::fs::read(file).unwrap())).collect()
}

#[test]
fn seeds_of_fuzzing_are_models() {
    let connection = connect();
    let (models, texts) = (seeds("model"), seeds("import"));
    assert!(models.len() > 50 && texts.len() > 10, "{} models, {} texts", models.len(), texts.len());
    for (file, seed) in models {
        // The first byte chooses a call.
        let info = connection.query_row("SELECT ltr_info(?1)", [model::sealed(&seed[1..])], |_| Ok(()));
        assert!(info.is_ok(), "{}: {info:?}", file.display());
    }
    // Some texts are meant to be refused.
    let mut accepted = 0;
    for (file, seed) in texts {
        let text = String::from_utf8_lossy(&seed).into_owned();
        let import = connection.query_row("SELECT ltr_import(?1)", [text], |_| Ok(()));
        let is_refused = |problem: &rusqlite::Error| problem.to_string().contains("ltr_import: ");
        assert!(import.as_ref().err().is_none_or(is_refused), "{}: {import:?}", file.display());
        accepted += usize::from(import.is_ok());
    }
    assert!(accepted > 20, "{accepted}");
}
