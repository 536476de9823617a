//! Models as inputs: the header of `src/model/envelope.rs` with the texts and the ranker in it as parts, then the blocks.

use crate::models::parts::{Index, Opened, seal};
use crate::mutated::change::{json_texts, names, whole_bytes};
use crate::pieces;
use sqlite_ltr::internals::model::encode_header;
use xxhash_rust::xxh3::xxh3_64;

/// The model of an input, with right lengths and checksums.
pub fn sealed(input: &[u8]) -> Vec<u8> {
    let mut blocks = pieces::blocks(input, whole_bytes);
    let model = blocks.remove(0);
    let index = blocks.iter().map(|block| (block.len() as u64, xxh3_64(block))).collect();
    let header = encode_header(&Index { index, model }).expect("a header");
    seal(&header, &blocks.concat())
}

/// The input of a model.
///
/// # Panics
/// A model that the input would change.
pub fn input(model: &[u8]) -> Vec<u8> {
    let Opened { parts, blocks } = Opened::new(model);
    // 1. The texts in the ranker.
    let mut texts = json_texts(&parts.ranker);
    texts.extend(names(&parts.ranker).iter().map(|(at, length, _)| (*at, *length)));
    texts.sort_unstable();
    texts.dedup();
    let mut ranker = parts.ranker.clone();
    let mut end = usize::MAX;
    for (at, length) in texts.into_iter().rev() {
        // A name inside of JSON is a part of that.
        if at + length < end {
            let text = parts.ranker[at + 1..=at + length].to_vec();
            let marked = pieces::mark(&parts.ranker[at..=at + length], &text, &text, whole_bytes);
            ranker.splice(at..=at + length, marked);
            end = at;
        }
    }
    // 2. The ranker, and the sections and texts around it.
    let header = encode_header(&parts).expect("a header");
    let mut header = pieces::mark(&header, &parts.ranker, &ranker, whole_bytes);
    for (_, section) in &parts.sections {
        header = pieces::mark(&header, section, section, whole_bytes);
    }
    let card = &parts.card;
    let texts = [&card.settings, &card.summary, &card.algorithm, &parts.form];
    for text in texts.into_iter().chain(&card.features) {
        header = pieces::mark(&header, text.as_bytes(), text.as_bytes(), whole_bytes);
    }
    let input = pieces::input(&[&[header][..], &blocks].concat());
    assert!(sealed(&input) == model, "another model: {}", card.settings);
    input
}
