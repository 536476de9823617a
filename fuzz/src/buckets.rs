//! BLOBs of training in buckets as inputs: the bodies of `src/buckets/bytes.rs`, with the first texts of a state as parts.

use crate::pieces;

/// A length as bincode writes it.
fn count_bytes(number: u64) -> Vec<u8> {
    match number {
        0..251 => vec![number as u8],
        251..65_536 => [&[251][..], &(number as u16).to_le_bytes()].concat(),
        _ => [&[252][..], &(number as u32).to_le_bytes()].concat(),
    }
}

/// The body of an input.
pub fn body(input: &[u8]) -> Vec<u8> {
    pieces::blocks(input, count_bytes).concat()
}

/// The input of a body; `None` if the body has the bytes of a mark. A state begins with the name of an algorithm and with
/// options.
pub fn input(bytes: &[u8]) -> Option<Vec<u8>> {
    let name = bytes.get(1..1 + usize::from(bytes[0])).unwrap_or_default();
    let options = bytes.get(1 + name.len()..).and_then(|rest| rest.get(1..1 + usize::from(rest[0])));
    let mut input = bytes.to_vec();
    if let (true, Some(options)) = (name.is_ascii() && name.len() > 4, options) {
        input = pieces::mark(&input, options, options, count_bytes);
        input = pieces::mark(&input, name, name, count_bytes);
    }
    (body(&input) == bytes).then_some(input)
}
