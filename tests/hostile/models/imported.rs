//! Models of other libraries whose stored trees are forged: each byte of them changed, with right checksums.

use sqlite_ltr::internals::model::{decode_header, encode_header};

use super::categories::Category;
use super::parts::{Index, Parts, WITH_CATEGORIES, seal, seal_as};
use super::{connect, refusal, use_it};

/// Trees with numbers and a category, whose texts are the values of `c`.
const TEXT: &str = include_str!("../../data/imported/small/lightgbm.txt");

/// Changes of a byte that are tried.
const CHANGES: [u8; 5] = [1, 2, 0x40, 0x80, 0xff];

#[test]
fn forged_trees_are_refused_or_used() {
    let connection = connect();
    let bytes = sqlite_ltr::Model::import(TEXT).expect("a model").to_bytes();
    let length = u64::from_le_bytes(bytes[24..32].try_into().expect("eight bytes")) as usize;
    let Index { index, model } = decode_header(&bytes[48..48 + length]).expect("an index");
    assert!(index.is_empty());
    let (parts, categories): (Parts, Vec<Category>) = decode_header(&model).expect("the parts");
    let header = |parts: &Parts| {
        let mut model = encode_header(parts).expect("bytes");
        model.extend(encode_header(&categories).expect("bytes"));
        encode_header(&Index { index: Vec::new(), model }).expect("bytes")
    };
    assert_eq!(
        seal_as(WITH_CATEGORIES, &header(&parts), &[]),
        bytes,
        "the layout in this test is that of the library"
    );
    // Another version, or other features.
    assert!(refusal(&connection, &seal(&header(&parts), &[])).is_some());
    let mut other = parts.clone();
    other.card.features.pop();
    assert!(refusal(&connection, &seal_as(WITH_CATEGORIES, &header(&other), &[])).is_some());
    let mut accepted = 0;
    let step = if crate::is_long() { 1 } else { 11 };
    for at in (0..parts.ranker.len()).step_by(step) {
        for change in CHANGES {
            let mut other = parts.clone();
            other.ranker[at] ^= change;
            let blob = seal_as(WITH_CATEGORIES, &header(&other), &[]);
            if refusal(&connection, &blob).is_none() {
                accepted += 1;
                use_it(&connection, &blob, &format!("byte {at} changed by {change}"));
            }
        }
    }
    assert!(accepted > 0);
}
