//! The walk by counted instructions: this program runs under valgrind's callgrind, which counts what happens between the
//! start and the end of [`ltr_counted`] and writes it to a file.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::calls::connect;
use crate::{LONG, points, run};

/// Largest growth when an argument is twice as long. Sorting has 2.2, and tables of hashes that grow have a little more.
const MOST_GROWTH: f64 = 2.4;
/// Bytes of the smaller input.
const SIZE: usize = 16 << 10;
/// Instructions for a byte below which a call is not counted at half the size: what grows with the square takes more.
const FEW: u64 = 8;

/// Most counts of a call that grows too fast: valgrind also counts other threads, and what the first call of a function prepares.
const COUNTS: usize = 4;

/// The variable with the points that a child counts, as `part/parts`, and the folder of valgrind's files.
const PART: &str = "LTR_GROWTH_PART";
const FOLDER: &str = "LTR_GROWTH_FOLDER";

/// What is counted. Valgrind finds it by this name.
#[unsafe(no_mangle)]
#[allow(clippy::no_mangle_with_rust_abi, reason = "called in this file alone")]
#[inline(never)]
fn ltr_counted(call: &mut dyn FnMut()) {
    call();
}

/// Counts calls. Valgrind numbers its files.
struct Counter {
    folder: PathBuf,
    counted: usize,
}

impl Counter {
    fn count(&mut self, mut call: impl FnMut()) -> u64 {
        self.counted += 1;
        ltr_counted(&mut call);
        let file = self.folder.join(format!("count.{}", self.counted));
        let text = std::fs::read_to_string(&file).expect("a file of valgrind");
        drop(std::fs::remove_file(file));
        let sum = text.lines().find_map(|line| line.strip_prefix("summary: ")).expect("a sum");
        sum.parse().expect("a number")
    }
}

/// What a child does: it counts one part of the points, and prints those that grow.
fn count_here(part: &str, folder: &Path) {
    let (part, parts) = part.split_once('/').expect("part/parts");
    let (part, parts): (usize, usize) = (part.parse().expect("a number"), parts.parse().expect("a number"));
    let connection = connect();
    let mut counter = Counter { folder: folder.to_owned(), counted: 0 };
    for point in points(&connection, LONG).iter().skip(part).step_by(parts) {
        let mut count = |size: usize| {
            let input = (point.input.make)(size);
            counter.count(|| drop(run(&connection, &point.sql, &input)))
        };
        let mut pair = || {
            let twice = count(2 * SIZE);
            (if twice < FEW * 2 * SIZE as u64 { twice } else { count(SIZE) }, twice)
        };
        let grows = |(once, twice): &(u64, u64)| *twice as f64 > MOST_GROWTH * *once as f64;
        let (mut once, mut twice) = pair();
        for _ in 1..COUNTS {
            if grows(&(once, twice)) {
                (once, twice) = pair();
            }
        }
        println!("\nCOUNTED {once} {twice} {}", point.name.escape_debug());
    }
}

#[test]
fn calls_take_a_linear_number_of_instructions() {
    // 1. A child counts.
    if let (Ok(part), Some(folder)) = (std::env::var(PART), std::env::var_os(FOLDER)) {
        return count_here(&part, Path::new(&folder));
    }
    if std::env::var_os("LTR_LONG").is_none() {
        return;
    }
    // 2. A child for each core.
    let parts = std::thread::available_parallelism().map_or(1, usize::from);
    let children: Vec<_> = (0..parts)
        .map(|part| {
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("growth-{part}"));
            drop(std::fs::remove_dir_all(&folder));
            std::fs::create_dir_all(&folder).expect("a folder");
            Command::new("valgrind")
                .args([
                    "--quiet",
                    "--tool=callgrind",
                    "--zero-before=ltr_counted",
                    "--dump-after=ltr_counted",
                ])
                .arg(format!("--callgrind-out-file={}", folder.join("count").display()))
                .arg(std::env::current_exe().expect("this program"))
                .args(["counted::calls_take_a_linear_number_of_instructions", "--exact", "--nocapture"])
                .env(PART, format!("{part}/{parts}"))
                .env(FOLDER, &folder)
                .stdout(std::process::Stdio::piped())
                .spawn()
                .expect("valgrind is installed")
        })
        .collect();
    let outputs: Vec<_> =
        children.into_iter().map(|child| child.wait_with_output().expect("an output")).collect();
    // 3. The points that grow most.
    let mut found: Vec<(f64, String)> = Vec::new();
    for output in &outputs {
        assert!(output.status.success(), "a child failed: {}", String::from_utf8_lossy(&output.stdout));
        for line in
            String::from_utf8_lossy(&output.stdout).lines().filter_map(|line| line.strip_prefix("COUNTED "))
        {
            let mut parts = line.splitn(3, ' ');
            let mut number = || parts.next().and_then(|text| text.parse::<f64>().ok()).expect("a number");
            let (once, twice) = (number(), number());
            found.push((twice / once, format!("{once} -> {twice}: {}", parts.next().unwrap_or_default())));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (growth, line) in found.iter().take(40) {
        println!("{growth:.2} {line}");
    }
    println!("{} points", found.len());
    let too_fast: Vec<String> = found
        .iter()
        .filter(|point| point.0 > MOST_GROWTH)
        .map(|(growth, line)| format!("{growth:.2} {line}"))
        .collect();
    assert!(too_fast.is_empty(), "{} of {} points:\n{}", too_fast.len(), found.len(), too_fast.join("\n"));
}
