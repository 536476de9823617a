//! The inputs of the targets `model` and `buckets`: bytes without the lengths in them, which follow from their contents.
//! So a part whose length a mutation changes is still a part.

/// Begins a part, before which its length is written.
const BEGIN: u8 = 0xfb;
/// Ends it.
const END: u8 = 0xfc;
/// Ends a block.
const NEXT: u8 = 0xfd;
/// The byte before each of these.
const MARK: u8 = 0xf5;

/// How a length is written.
pub type Length = fn(u64) -> Vec<u8>;

/// The blocks of an input. `length` writes lengths.
pub fn blocks(mut input: &[u8], length: Length) -> Vec<Vec<u8>> {
    let mut blocks = Vec::new();
    let mut open = vec![Vec::new()];
    let close = |open: &mut Vec<Vec<u8>>| {
        if open.len() > 1 {
            let part = open.pop().unwrap_or_default();
            let around = open.last_mut().expect("the block");
            around.extend(length(part.len() as u64));
            around.extend(part);
        }
    };
    loop {
        match input {
            [MARK, BEGIN, rest @ ..] => {
                open.push(Vec::new());
                input = rest;
            }
            [MARK, END, rest @ ..] => {
                close(&mut open);
                input = rest;
            }
            [] | [MARK, NEXT, ..] => {
                while open.len() > 1 {
                    close(&mut open);
                }
                blocks.push(std::mem::take(&mut open[0]));
                let Some(rest) = input.get(2..) else { return blocks };
                input = rest;
            }
            [byte, rest @ ..] => {
                open.last_mut().expect("a part").push(*byte);
                input = rest;
            }
        }
    }
}

/// The input with these blocks.
pub fn input(blocks: &[Vec<u8>]) -> Vec<u8> {
    blocks.join(&[MARK, NEXT][..])
}

/// Bytes in which the first occurrence of `part` behind its length is a part of an input. Parts inside of it stay.
pub fn mark(bytes: &[u8], part: &[u8], marked: &[u8], length: Length) -> Vec<u8> {
    let written = [&length(part.len() as u64)[..], part].concat();
    let at = bytes.windows(written.len()).position(|window| window == written);
    let at = at.expect("the part behind its length");
    [&bytes[..at], &[MARK, BEGIN], marked, &[MARK, END], &bytes[at + written.len()..]].concat()
}
