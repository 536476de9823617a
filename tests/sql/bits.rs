//! The models and scores of `tests/hosts/bits.sql` have the hashes of `tests/data/bits.txt`, here and on each platform
//! (`tests/hosts/platform.py`). `LTR_BLESS=1 cargo test --test sql bits` writes the file.

use std::fmt::Write as _;

use rusqlite::types::ValueRef;
use sqlite_ltr::internals::learn::kernel;
use sqlite_ltr::internals::train::ALGORITHMS;

use crate::support::{database, value};

/// FNV-1a of types and values, as in `tests/hosts/host.c`.
fn add(hash: u64, value: ValueRef<'_>) -> u64 {
    let (kind, bytes) = match value {
        ValueRef::Integer(number) => (1, number.to_le_bytes().to_vec()),
        ValueRef::Real(number) => (2, number.to_le_bytes().to_vec()),
        ValueRef::Text(bytes) => (3, bytes.to_vec()),
        ValueRef::Blob(bytes) => (4, bytes.to_vec()),
        ValueRef::Null => (5, Vec::new()),
    };
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.into_iter().fold(step(hash, kind), step)
}

#[test]
fn models_and_scores_have_the_pinned_bits() {
    let connection = database();
    let mut found = String::new();
    for sql in include_str!("../hosts/bits.sql").lines().filter(|line| !line.starts_with("--")) {
        let mut statement = connection.prepare(sql).unwrap();
        if statement.column_count() == 0 {
            statement.execute([]).unwrap();
            continue;
        }
        let (name, columns) = (statement.column_name(0).unwrap().to_owned(), statement.column_count());
        let (mut hash, mut count) = (0xcbf2_9ce4_8422_2325, 0);
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            hash = (0..columns).fold(hash, |hash, column| add(hash, row.get_ref(column).unwrap()));
            count += 1;
        }
        writeln!(found, "{name}|{count}|{hash:016x}").unwrap();
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/bits.txt");
    if std::env::var_os("LTR_BLESS").is_some() {
        std::fs::write(file, &found).unwrap();
    }
    for (line, pinned) in found.lines().zip(std::fs::read_to_string(file).unwrap().lines()) {
        assert_eq!(line, pinned);
    }
    // Each algorithm, kernel and scaling occurs.
    let scales: String = value(&connection, "SELECT range FROM ltr_options WHERE name = 'scale'", []);
    let scales = scales.split('"').skip(1).step_by(2).map(|scale| format!("scale {scale}"));
    let kernels = kernel::NAMES.iter().map(|kernel| format!("kernel {kernel}"));
    for name in ALGORITHMS.iter().map(|algorithm| algorithm.name.to_owned()).chain(kernels).chain(scales) {
        assert!(found.contains(&format!("model of {name}|")), "tests/hosts/bits.sql has no model of {name}");
    }
}
