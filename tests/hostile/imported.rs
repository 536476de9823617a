//! Texts of other libraries that are changed at random are refused, or give models with finite scores that leave again.
//!
//! By default 300 changes of each text, with `LTR_LONG=1` 10,000. None takes more than [`MOST_SECONDS`] of CPU time, and all
//! together stay below [`MOST_MEMORY`].

use std::path::PathBuf;

use sqlite_ltr::Model;

/// Most CPU time of a text that is read, scored, written and read again.
const MOST_SECONDS: f64 = 1.0;
/// Most resident memory of the process, in kB.
const MOST_MEMORY: u64 = 600_000;

/// The texts: small models, and two of real size.
const ALL: [&str; 13] = [
    "../lightgbm.txt",
    "../xgboost.json",
    "lightgbm.txt",
    "lightgbm.json",
    "xgboost.json",
    "xgboost_dart.json",
    "xgboost_dump.json",
    "catboost.json",
    "catboost_lossguide.json",
    "ranklib.txt",
    "solr.json",
    "plugin.json",
    "linear.json",
];

const TOKENS: [&str; 22] = [
    "-1",
    "0",
    "1e999",
    "NaN",
    "inf",
    "4294967296",
    "-9223372036854775808",
    "[",
    "]",
    "{",
    "}",
    "\"",
    ",",
    "null",
    "=",
    "\n",
    " ",
    "{},",
    "999999",
    "<split>",
    "true",
    "\"a\":1,",
];

/// Longest text that a part is repeated to.
const LONGEST: usize = 20_000;

/// Changes a text at random.
fn mutate(text: &[u8], random: &mut impl FnMut(usize) -> usize) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..=random(3) {
        let at = random(text.len().max(1)).min(text.len());
        match random(8) {
            0 => text.truncate(at),
            1 => {
                drop(text.splice(at..(at + random(9)).min(text.len()), TOKENS[random(TOKENS.len())].bytes()));
            }
            2 => {
                let copy = text[at..(at + random(200)).min(text.len())].to_vec();
                let to = random(text.len().max(1)).min(text.len());
                drop(text.splice(to..to, copy));
            }
            // Repeated parts: what grows faster than the text takes long here.
            6 if random(4) == 0 => {
                let part = text[at..(at + 1 + random(60)).min(text.len())].to_vec();
                let count = random(LONGEST / part.len().max(1));
                drop(text.splice(at..at, part.repeat(count)));
            }
            7 if random(4) == 0 => {
                let part = TOKENS[random(TOKENS.len())];
                drop(text.splice(at..at, part.repeat(random(LONGEST / part.len())).bytes()));
            }
            3 => drop(text.drain(at..(at + random(40)).min(text.len()))),
            _ => {
                // A digit becomes another.
                if let Some(digit) = text[at..].iter_mut().find(|byte| byte.is_ascii_digit()) {
                    *digit = b'0' + random(10) as u8;
                }
            }
        }
    }
    text
}

/// What must hold for a text that is read.
fn check(model: &Model, text: &[u8]) {
    let shown = || String::from_utf8_lossy(text);
    let info = model.info();
    let width = info.features.len();
    if width >= 1000 {
        return;
    }
    for first in 0..4 {
        let values = [0.0, -1.0, 1e30, -1e30, 2.0, 1e-36, 0.5];
        let row: Vec<f64> = (0..width).map(|number| values[(number + first) % values.len()]).collect();
        // Weighted sums can be too large, which is an error.
        match model.score(&row, None) {
            Ok(score) => assert!(score.is_finite(), "{}", shown()),
            Err(error) => {
                assert!(
                    info.linear && error.to_string().contains("range of numbers"),
                    "{error}: {}",
                    shown()
                );
            }
        }
    }
    for format in ["json", "sql", "xgboost", "elasticsearch", "solr"] {
        let Ok(written) = model.export(format) else { continue };
        if format != "sql" {
            let again = Model::import(&written);
            // Trees without splits name no feature in some formats.
            let is_known =
                again.as_ref().err().is_some_and(|error| error.to_string().contains("has no features"));
            assert!(again.is_ok() || is_known, "{format}: {again:?}\n{written}\n{}", shown());
        }
    }
    assert_eq!(Model::from_bytes(&model.to_bytes()).expect("its own bytes").to_bytes(), model.to_bytes());
}

/// Whether a text is read. Refused texts have a specific error.
fn is_accepted(text: &[u8]) -> bool {
    match Model::import(text) {
        Ok(model) => {
            check(&model, text);
            true
        }
        Err(error) => {
            let error = error.to_string();
            assert!(!error.contains("internal error"), "{error}: {}", String::from_utf8_lossy(text));
            false
        }
    }
}

fn text_of(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/imported/small");
    std::fs::read(folder.join(name)).expect("a text")
}

unsafe extern "C" {
    /// Processor time of the process in microseconds, on systems of POSIX.
    safe fn clock() -> std::ffi::c_long;
}

/// The peak of the resident memory of this process in kB; 0 if the system does not report it.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[test]
fn changed_texts_are_refused_or_score_finite() {
    let count = if super::is_long() { 10_000 } else { 300 };
    let mut state = 88_172_645_463_325_252_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for name in ALL {
        let text = text_of(name);
        let (mut accepted, mut slowest) = (0, 0.0_f64);
        for _ in 0..count {
            let changed = mutate(&text, &mut random);
            let begun = clock();
            accepted += usize::from(is_accepted(&changed));
            let seconds = (clock() - begun) as f64 / 1e6;
            slowest = slowest.max(seconds);
            // Other tests of this process run at the same time, so only a text that takes long alone is wrong.
            if super::is_long() && seconds > MOST_SECONDS {
                let begun = clock();
                is_accepted(&changed);
                let again = (clock() - begun) as f64 / 1e6;
                assert!(again <= MOST_SECONDS, "{again} s: {}", String::from_utf8_lossy(&changed));
            }
        }
        println!("{name}: {accepted} of {count} are read, the slowest takes {slowest:.3} s");
        assert!(accepted > 0, "{name}");
    }
    println!("peak of memory: {} MB", peak_memory() / 1000);
    assert!(!super::is_long() || peak_memory() <= MOST_MEMORY, "{} kB", peak_memory());
}

#[test]
fn every_number_of_a_text_may_be_any_other() {
    let others = ["-1", "4294967296", "-9223372036854775808", "1e308", "NaN"];
    for name in ALL {
        let text = text_of(name);
        let is_number = |at: usize| text.get(at).is_some_and(|byte| b"0123456789+-.e".contains(byte));
        let starts = |at: usize| b"0123456789-".contains(&text[at]);
        let firsts = (0..text.len()).filter(|at| starts(*at) && (*at == 0 || !is_number(at - 1)));
        for first in firsts {
            let end = (first..text.len()).find(|at| !is_number(*at)).unwrap_or(text.len());
            for other in others {
                is_accepted(&[&text[..first], other.as_bytes(), &text[end..]].concat());
            }
        }
    }
}
