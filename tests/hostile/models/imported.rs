//! Models of other libraries whose stored trees are forged: each byte of them changed, with right checksums.

use super::parts::Opened;
use super::{connect, refusal, use_it};

/// Trees with numbers and a category, whose texts are the values of `c`.
const TEXT: &str = include_str!("../../data/imported/small/lightgbm.txt");

/// Changes of a byte that are tried.
const CHANGES: [u8; 5] = [1, 2, 0x40, 0x80, 0xff];

#[test]
fn forged_trees_are_refused_or_used() {
    let connection = connect();
    let bytes = sqlite_ltr::Model::import(TEXT).expect("a model").to_bytes();
    let opened = Opened::new(&bytes);
    assert_eq!(opened.seal(), bytes, "this test and the library use the same layout");
    // Other features, or no categories.
    let mut other = opened.clone();
    other.parts.card.features.pop();
    assert!(refusal(&connection, &other.seal()).is_some());
    let mut other = opened.clone();
    other.parts.sections.clear();
    assert!(refusal(&connection, &other.seal()).is_some());
    let mut accepted = 0;
    let step = if crate::is_long() { 1 } else { 11 };
    for at in (0..opened.parts.ranker.len()).step_by(step) {
        for change in CHANGES {
            let mut other = opened.clone();
            other.parts.ranker[at] ^= change;
            let blob = other.seal();
            if refusal(&connection, &blob).is_none() {
                accepted += 1;
                use_it(&connection, &blob, &format!("byte {at} changed by {change}"));
            }
        }
    }
    assert!(accepted > 0);
}
