//! `ltr_letor(path [, options])`: rows `query_id, doc_id, relevance, features, comment` of a LETOR / SVMlight file.
//!
//! Rules (docs/reference/rules.md, 10):
//! * 10.4: The BLOB of a line has `feature_count` features, by default up to the highest feature in the file.
//! * 10.5: `doc_id` is the comment's `docid`, otherwise the number of the line in its query.
//! * 10.6: The file is read line by line. Errors name file and line.
//! * 10.7: Only regular files outside /proc and /sys are read.
//! * 10.8: Errors quote a line only if it begins like LETOR text.
//! * 10.10: `first_feature`, missing values, encodings, and which `#` begins a comment.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::BufReader;

use crate::base::{Error, Result, checkpoint};
use crate::data::Id;
use crate::data::letor::{Line, lines};
use crate::sqlite::glue::{Call, Output, OutputRows, TableFunction, row, text_argument};
use crate::train::options::{self, Use};

pub const LETOR: TableFunction = TableFunction {
    reads_files: true,
    ..TableFunction::new(
        "ltr_letor",
        "query_id, doc_id, relevance, features, comment",
        "path [, options]",
        letor,
    )
};

fn letor(call: &Call<'_>) -> Result<OutputRows> {
    let path = text_argument("argument 'path'", call.argument(0))?;
    let (options, _) = call.options(1, Use::Letor)?;
    let first = options::count(&options, "first_feature");
    let width = if let Some(width) = options.count("feature_count") { width } else { width(&path, first)? };
    if width == 0 {
        return Err(Error::Data(format!(
            "file '{path}' has no features; a judgment list can be read with the option {{\"feature_count\": 1}}: join its \
             query_id, relevance and comment with a table of features"
        )));
    }
    let mut sizes: HashMap<Id, i64> = HashMap::new();
    let named = path.clone();
    let rows = open(&path, first)?.map(move |line| {
        let (number, line) = line.map_err(|error| in_file(&named, &error))?;
        if line.width() > width {
            let highest = line.width() - 1 + first;
            let problem = format!(
                "file '{named}', line {number}: feature {highest}, but option 'feature_count' is {width}"
            );
            return Err(Error::Data(problem));
        }
        let size = sizes.entry(line.query.clone()).or_insert(0);
        *size += 1;
        Ok(row(line, *size, width))
    });
    Ok(Box::new(rows))
}

fn in_file(path: &str, error: &Error) -> Error {
    Error::Data(format!("file '{path}', {error}"))
}

fn open(path: &str, first_feature: usize) -> Result<impl Iterator<Item = Result<(usize, Line)>> + use<>> {
    let file = open_regular(path).map_err(|problem| Error::Host(format!("file '{path}': {problem}")))?;
    Ok(lines(BufReader::new(file), first_feature))
}

/// Directories whose files the system generates on reading. They look like regular files.
const MADE_BY_THE_SYSTEM: [&str; 2] = ["/proc", "/sys"];

/// Opens a regular file. Opening a pipe could block forever, and opening a device can have side effects.
fn open_regular(path: &str) -> std::io::Result<File> {
    let regular = |is_regular: bool| {
        let refusal = "not a regular file; ltr_letor does not read directories, pipes, devices, or files in /proc and /sys";
        if is_regular { Ok(()) } else { Err(std::io::Error::other(refusal)) }
    };
    // 1. Check by name, before opening.
    regular(std::fs::metadata(path)?.is_file())?;
    let path = std::fs::canonicalize(path)?;
    regular(!MADE_BY_THE_SYSTEM.iter().any(|root| path.starts_with(root)))?;
    // 2. Check the open file: the name may now refer to another file.
    let file = without_waiting().read(true).open(path)?;
    regular(file.metadata()?.is_file())?;
    Ok(file)
}

/// Options with which `open` does not wait for the writer of a pipe. They make no difference for regular files.
fn without_waiting() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "other systems have no such flag"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, O_NONBLOCK);
    options
}

/// The flag `O_NONBLOCK` of `open`: on Linux, otherwise on macOS and the BSDs.
#[cfg(unix)]
const O_NONBLOCK: i32 = if cfg!(any(target_os = "linux", target_os = "android")) { 0x800 } else { 0x4 };

/// The first pass. No statement is running that the host could interrupt, so every line is a checkpoint.
fn width(path: &str, first_feature: usize) -> Result<usize> {
    open(path, first_feature)?.try_fold(0, |width: usize, line| {
        checkpoint();
        let (_, line) = line.map_err(|error| in_file(path, &error))?;
        Ok(width.max(line.width()))
    })
}

fn row(line: Line, number: i64, width: usize) -> Vec<Output> {
    let features: Vec<u8> = line.dense(width).iter().flat_map(|value| value.to_le_bytes()).collect();
    row![line.query, line.doc.unwrap_or(Id::Integer(number)), line.relevance, features, line.comment]
}
