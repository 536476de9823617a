//! Mutations of a model: changed bytes, extreme numbers, spliced and cut parts, changed JSON. Checksums are always right.

use serde_json::{Value, json};
use sqlite_ltr::internals::model::encode_header;
use sqlite_ltr::internals::{cost::loss, learn::kernel, learn::solve};

use crate::models::parts::{Index, Opened, seal};
use xxhash_rust::xxh3::xxh3_64;

/// A small generator of numbers: the same seed gives the same mutation.
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        // One round of splitmix64, so that neighboring seeds differ.
        let mut z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x1234_5678_9abc_def1);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        Self(z ^ (z >> 27))
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }
}

const REALS: &[f64] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    1e308,
    -1e308,
    f64::MAX,
    f64::MIN,
    1e300,
    1e200,
    1e154,
    -1e154,
    1e150,
    -1e150,
    1e149,
    -9e149,
    1e100,
    1e50,
    -1e50,
    1e20,
    1e9,
    -1e9,
    1e-5,
    1e-20,
    1e-100,
    1e-150,
    1e-160,
    1e-300,
    f64::MIN_POSITIVE,
    5e-324,
    -5e-324,
    1e-320,
    9_007_199_254_740_993.0,
    2_147_483_648.0,
    4_294_967_295.0,
];

const WHOLES: &[u64] = &[
    0,
    1,
    2,
    3,
    7,
    250,
    251,
    255,
    256,
    65_535,
    65_536,
    1_000_000,
    1 << 24,
    1 << 26,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    1 << 40,
    1 << 53,
    1 << 62,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];

/// The number as bincode writes it.
pub fn whole_bytes(number: u64) -> Vec<u8> {
    match number {
        0..=250 => vec![number as u8],
        251..=0xffff => [&[251][..], &(number as u16).to_le_bytes()].concat(),
        0x1_0000..=0xffff_ffff => [&[252][..], &(number as u32).to_le_bytes()].concat(),
        _ => [&[253][..], &number.to_le_bytes()].concat(),
    }
}

/// Positions of eight bytes that are probably a number: of common size.
fn likely_reals(bytes: &[u8]) -> Vec<usize> {
    let is_real = |window: &[u8]| {
        let value = f64::from_le_bytes(window.try_into().expect("eight bytes"));
        (1e-6..1e6).contains(&value.abs())
    };
    bytes.windows(8).enumerate().filter(|(_, window)| is_real(window)).map(|(at, _)| at).collect()
}

/// JSON texts in these bytes: the position of the length, and the text.
pub fn json_texts(bytes: &[u8]) -> Vec<(usize, usize)> {
    let text = |(at, length): (usize, &u8)| {
        let length = usize::from(*length);
        let text = bytes.get(at + 1..at + 1 + length)?;
        let begins = text.first() == Some(&b'{') && length < 251;
        (begins && serde_json::from_slice::<Value>(text).is_ok()).then_some((at, length))
    };
    bytes.iter().enumerate().filter_map(text).collect()
}

/// Names of losses, solvers and kernels in these bytes, each after its length: the position of the length, and the class.
pub fn names(bytes: &[u8]) -> Vec<(usize, usize, &'static [&'static str])> {
    let classes = [loss::NAMES, solve::NAMES, kernel::NAMES];
    let name = |at: usize| {
        let length = usize::from(bytes[at]);
        let text = bytes.get(at + 1..at + 1 + length)?;
        let class = classes.into_iter().find(|class| class.iter().any(|name| name.as_bytes() == text));
        class.map(|class| (at, length, class))
    };
    (0..bytes.len()).filter_map(name).collect()
}

/// Parameters of several losses.
const PARAMETERS: &[&str] = &[
    "{}",
    r#"{"bound": "convex"}"#,
    r#"{"bound": "convex", "diversify_by": "site"}"#,
    r#"{"bound": "convex", "measure": "eru", "half_life": 1.5, "decoder": "power", "decoder_power": 3}"#,
    r#"{"bound": "nonconvex", "measure": "dcg", "decoder": "loglog"}"#,
    r#"{"measure": "precision@2"}"#,
    r#"{"margin": 1e9, "measure": "map"}"#,
    r#"{"cost_weights": "rank", "truncation": 2}"#,
];

/// Replaces one number, text or entry inside a JSON value.
fn change_json(value: &mut Value, numbers: &mut Numbers) {
    let inner = match value {
        Value::Object(map) if !map.is_empty() && numbers.below(8) > 0 => {
            let chosen = numbers.below(map.len());
            map.values_mut().nth(chosen)
        }
        Value::Array(list) if !list.is_empty() && numbers.below(8) > 0 => {
            let chosen = numbers.below(list.len());
            list.get_mut(chosen)
        }
        _ => None,
    };
    if let Some(inner) = inner {
        return change_json(inner, numbers);
    }
    if value.is_object() && numbers.below(2) == 0 {
        *value = serde_json::from_str(numbers.one_of(PARAMETERS)).expect("JSON");
        return;
    }
    *value = match numbers.below(10) {
        0 => Value::Null,
        1 => json!([]),
        2 => json!({}),
        3 => json!(true),
        4 => json!(numbers.one_of(&[
            "",
            "x",
            "ndcg@1",
            "ndcg@18446744073709551615",
            "dcg",
            "eru",
            "map",
            "power",
            "linear",
            "precision@3"
        ])),
        5 => json!(numbers.one_of(WHOLES)),
        6 => json!([[[1, 2], 3], "a"]),
        // NaN and infinities become null.
        _ => json!(numbers.one_of(REALS)),
    };
}

/// Changes some bytes in one of many ways.
fn change_bytes(bytes: &mut Vec<u8>, others: &[&[u8]], numbers: &mut Numbers) {
    if bytes.is_empty() {
        return bytes.push(numbers.below(256) as u8);
    }
    let at = numbers.below(bytes.len());
    match numbers.below(17) {
        16 => {
            let found = names(bytes);
            if found.is_empty() {
                return bytes.truncate(at);
            }
            let (at, length, class) = numbers.one_of(&found);
            let name = numbers.one_of(class);
            bytes.splice(
                at..=at + length,
                [whole_bytes(name.len() as u64), name.as_bytes().to_vec()].concat(),
            );
        }
        0 => bytes[at] ^= 1 << numbers.below(8),
        1 => bytes[at] = numbers.below(256) as u8,
        2 => bytes[at] = numbers.one_of(&[0, 1, 2, 3, 250, 251, 252, 253, 254, 255]),
        3 => bytes.truncate(at),
        4 => bytes.insert(at, numbers.below(256) as u8),
        5 => drop(bytes.remove(at)),
        // An extreme number in the variable-length form of lengths and integers.
        6 => drop(bytes.splice(at..=at, whole_bytes(numbers.one_of(WHOLES)))),
        // A block moved, doubled or cut out.
        7 => {
            let end = (at + 1 + numbers.below(64)).min(bytes.len());
            let piece = bytes[at..end].to_vec();
            let target = numbers.below(bytes.len());
            if numbers.below(2) == 0 {
                bytes.splice(target..target, piece);
            } else {
                bytes.drain(at..end);
            }
        }
        // A piece of another model.
        8 => {
            let other = others[numbers.below(others.len())];
            if !other.is_empty() {
                let from = numbers.below(other.len());
                let end = (from + 1 + numbers.below(256)).min(other.len());
                let until = (at + end - from).min(bytes.len());
                bytes.splice(at..until, other[from..end].iter().copied());
            }
        }
        9 | 10 => {
            let texts = json_texts(bytes);
            if texts.is_empty() {
                bytes[at] = 255;
                return;
            }
            let (at, length) = numbers.one_of(&texts);
            let text = &bytes[at + 1..=at + length];
            let mut value: Value = serde_json::from_slice(text).expect("JSON");
            change_json(&mut value, numbers);
            let text = value.to_string();
            bytes.splice(at..=at + length, [whole_bytes(text.len() as u64), text.into_bytes()].concat());
        }
        // A real number, where one probably is.
        kind => {
            let likely = likely_reals(bytes);
            let at = if likely.is_empty() || kind == 15 { at } else { numbers.one_of(&likely) };
            let end = (at + 8).min(bytes.len());
            bytes.splice(at..end, numbers.one_of(REALS).to_le_bytes());
        }
    }
}

/// A mutation of a model with right checksums.
pub fn mutated(opened: &Opened, all: &[Opened], numbers: &mut Numbers) -> Vec<u8> {
    let mut changed = opened.clone();
    let other = &all[numbers.below(all.len())];
    let mut raw: Option<Vec<u8>> = None;
    for _ in 0..=numbers.below(3) {
        let block = numbers.below(changed.blocks.len());
        match numbers.below(16) {
            0 => {
                let mut card = serde_json::to_value(&changed.parts.card.settings).expect("a text");
                let mut settings: Value =
                    serde_json::from_str(card.as_str().unwrap_or("{}")).unwrap_or(json!({}));
                change_json(&mut settings, numbers);
                card = Value::String(settings.to_string());
                card.as_str().unwrap_or_default().clone_into(&mut changed.parts.card.settings);
            }
            1 => {
                let text = if numbers.below(2) == 0 {
                    &mut changed.parts.card.summary
                } else {
                    &mut changed.parts.card.settings
                };
                let mut value: Value = serde_json::from_str(text).unwrap_or(json!({}));
                change_json(&mut value, numbers);
                *text = value.to_string();
            }
            2 => {
                let what = numbers.below(3);
                if what == 0 || changed.parts.card.means.is_empty() {
                    changed.parts.card.means.push(numbers.one_of(REALS));
                } else if what == 1 {
                    changed.parts.card.means[0] = numbers.one_of(REALS);
                } else {
                    changed.parts.card.log.push((numbers.one_of(REALS), numbers.one_of(REALS)));
                }
            }
            3 => match numbers.below(5) {
                0 => changed.parts.scaling = other.parts.scaling.clone(),
                1 => changed.parts.ranker.clone_from(&other.parts.ranker),
                2 => changed.parts.form.clone_from(&other.parts.form),
                3 => changed.parts.card = other.parts.card.clone(),
                _ => changed.blocks.clone_from(&other.blocks),
            },
            4 | 5 if !changed.blocks.is_empty() => match numbers.below(4) {
                0 => drop(changed.blocks.remove(block)),
                1 => changed.blocks.push(changed.blocks[block].clone()),
                2 if !other.blocks.is_empty() => {
                    changed.blocks[block].clone_from(&other.blocks[numbers.below(other.blocks.len())]);
                }
                _ => change_bytes(&mut changed.blocks[block], &[&other.parts.ranker], numbers),
            },
            6 | 7 if !changed.blocks.is_empty() => {
                change_bytes(&mut changed.blocks[block], &[&other.parts.ranker], numbers);
            }
            // Anything of card, scaling and ranker together.
            8 | 9 => {
                let mut bytes = raw.take().unwrap_or_else(|| encode_header(&changed.parts).expect("bytes"));
                change_bytes(&mut bytes, &[&other.parts.ranker], numbers);
                raw = Some(bytes);
            }
            _ => {
                change_bytes(
                    &mut changed.parts.ranker,
                    &[&other.parts.ranker, &opened.parts.ranker],
                    numbers,
                );
            }
        }
    }
    let model = raw.unwrap_or_else(|| encode_header(&changed.parts).expect("bytes"));
    let mut index: Vec<(u64, u64)> =
        changed.blocks.iter().map(|block| (block.len() as u64, xxh3_64(block))).collect();
    if numbers.below(64) == 0 && !index.is_empty() {
        let entry = numbers.below(index.len());
        index[entry].0 = numbers.one_of(WHOLES);
    }
    let mut header = encode_header(&Index { index, model }).expect("bytes");
    if numbers.below(32) == 0 {
        change_bytes(&mut header, &[&other.parts.ranker], numbers);
    }
    seal(&header, &changed.blocks.concat())
}
