//! Unnamed temporary files, for data that does not fit into memory.
//!
//! The folder is chosen as SQLite chooses it for temporary files: the first of `SQLITE_TMPDIR`, `TMPDIR`, `/var/tmp`
//! and the folder of the system in which the process can make a file. The system removes the file when it is closed,
//! and when the process ends.

use std::env;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::base::{Error, Result};

/// Number of names to try.
const ATTEMPTS: usize = 16;

/// A file that is removed when this value is dropped.
pub struct TemporaryFile(File);

impl TemporaryFile {
    /// An empty file that only this process can open.
    ///
    /// # Errors
    /// If the process cannot write to any of the folders.
    pub fn new() -> Result<Self> {
        if !cfg!(any(unix, windows)) {
            return Err(failed("create", &io::Error::from(io::ErrorKind::Unsupported)));
        }
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for folder in folders() {
            for _ in 0..ATTEMPTS {
                match create(&folder.join(name())) {
                    Ok(file) => return Ok(Self(file)),
                    Err(problem) => last = problem,
                }
                if last.kind() != io::ErrorKind::AlreadyExists {
                    break;
                }
            }
        }
        Err(failed("create", &last))
    }

    /// Writes bytes at the offset `start`.
    ///
    /// # Errors
    /// A full disk, for example.
    pub fn write(&self, bytes: &[u8], start: u64) -> Result<()> {
        write_at(&self.0, bytes, start).map_err(|problem| failed("write", &problem))
    }

    /// Reads bytes written earlier.
    ///
    /// # Errors
    /// Bytes that were never written; a disk failure.
    pub fn read(&self, bytes: &mut [u8], start: u64) -> Result<()> {
        read_at(&self.0, bytes, start).map_err(|problem| failed("read", &problem))
    }
}

fn failed(verb: &str, problem: &io::Error) -> Error {
    Error::Host(format!(
        "cannot {verb} a temporary file: {problem}; the variable SQLITE_TMPDIR names its folder, and a larger max_memory makes \
         it unnecessary"
    ))
}

/// The folders in which a file may be, in the order in which they are tried.
fn folders() -> impl Iterator<Item = PathBuf> {
    let given = ["SQLITE_TMPDIR", "TMPDIR"].into_iter().filter_map(env::var_os).map(PathBuf::from);
    given.chain([PathBuf::from("/var/tmp"), env::temp_dir()])
}

/// A name that is very unlikely to exist.
fn name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    format!("sqlite-ltr-{}-{time:x}-{count}", std::process::id())
}

#[cfg(unix)]
fn create(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(path)?;
    std::fs::remove_file(path)?;
    Ok(file)
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], start: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, start)
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], start: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, start)
}

#[cfg(windows)]
fn create(path: &Path) -> io::Result<File> {
    use std::os::windows::fs::OpenOptionsExt;
    /// `FILE_FLAG_DELETE_ON_CLOSE`.
    const DELETE_ON_CLOSE: u32 = 0x0400_0000;
    let mut options = File::options();
    options.read(true).write(true).create_new(true).share_mode(0).custom_flags(DELETE_ON_CLOSE).open(path)
}

#[cfg(windows)]
fn write_at(file: &File, mut bytes: &[u8], mut start: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_write(file, bytes, start)? {
            0 => return Err(io::Error::from(io::ErrorKind::WriteZero)),
            count => (bytes, start) = (&bytes[count..], start + count as u64),
        }
    }
    Ok(())
}

#[cfg(windows)]
fn read_at(file: &File, mut bytes: &mut [u8], mut start: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, start)? {
            0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
            count => (bytes, start) = (&mut bytes[count..], start + count as u64),
        }
    }
    Ok(())
}

#[cfg(not(any(unix, windows)))]
fn create(_: &Path) -> io::Result<File> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

#[cfg(not(any(unix, windows)))]
fn write_at(_: &File, _: &[u8], _: u64) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

#[cfg(not(any(unix, windows)))]
fn read_at(_: &File, _: &mut [u8], _: u64) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_where_they_were_written() {
        let file = TemporaryFile::new().unwrap();
        file.write(b"later", 100).unwrap();
        file.write(b"first", 0).unwrap();
        let mut bytes = [0; 5];
        file.read(&mut bytes, 100).unwrap();
        assert_eq!(&bytes, b"later");
        // Nothing was written after byte 105.
        assert!(file.read(&mut bytes, 101).is_err());
    }
}
