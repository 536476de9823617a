//! A file system for SQLite whose n-th change of a file fails or ends the process.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use rusqlite::ffi;

/// The name of the file system.
pub const NAME: &CStr = c"faulty";

/// What happens at the n-th change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Fault {
    /// Nothing; changes are counted.
    None,
    /// One error.
    Once,
    /// Errors from then on.
    Sticky,
    /// The process ends, after half of the bytes of a write.
    Kill,
}

static FAULT: AtomicU8 = AtomicU8::new(0);
static LEFT: AtomicI64 = AtomicI64::new(0);

/// The host's own file system and the methods of its files.
struct Host {
    files: *mut ffi::sqlite3_vfs,
}

// SAFETY: SQLite's table of functions is never changed.
unsafe impl Send for Host {}
// SAFETY: as above.
unsafe impl Sync for Host {}

static HOST: OnceLock<Host> = OnceLock::new();
static METHODS: OnceLock<ffi::sqlite3_io_methods> = OnceLock::new();
/// Addresses of the methods of the host, and of those that replace them.
static REPLACED: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

/// Registers the file system.
pub fn install() {
    HOST.get_or_init(|| {
        // SAFETY: the default file system exists; the copy lives as long as the process.
        unsafe {
            let files = ffi::sqlite3_vfs_find(std::ptr::null());
            let copy = Box::leak(Box::new(*files));
            copy.zName = NAME.as_ptr();
            copy.pNext = std::ptr::null_mut();
            copy.xOpen = Some(open);
            copy.xDelete = Some(delete);
            assert_eq!(ffi::sqlite3_vfs_register(copy, 0), ffi::SQLITE_OK);
            Host { files }
        }
    });
}

/// The fault at the change with this number, counted from now on.
pub fn plan(fault: Fault, at: usize) {
    LEFT.store(at as i64, Ordering::SeqCst);
    FAULT.store(fault as u8, Ordering::SeqCst);
}

/// Changes until the planned one; below 0 after it.
pub fn left() -> i64 {
    LEFT.load(Ordering::SeqCst)
}

/// Whether this change fails.
fn fails() -> bool {
    let fault = FAULT.load(Ordering::SeqCst);
    if fault == Fault::None as u8 {
        return false;
    }
    let left = LEFT.fetch_sub(1, Ordering::SeqCst);
    left == 0 || (left < 0 && fault == Fault::Sticky as u8)
}

fn kill_if_planned() {
    if FAULT.load(Ordering::SeqCst) == Fault::Kill as u8 {
        std::process::abort();
    }
}

unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    let host = HOST.get().map_or(std::ptr::null_mut(), |host| host.files);
    // SAFETY: the arguments are SQLite's; the host's own function opens the file.
    unsafe {
        let code = (*host).xOpen.map_or(ffi::SQLITE_ERROR, |open| open(host, name, file, flags, out));
        if code == ffi::SQLITE_OK {
            replace_methods(&mut *file);
        }
        code
    }
}

unsafe extern "C" fn delete(_: *mut ffi::sqlite3_vfs, name: *const c_char, sync: c_int) -> c_int {
    if fails() {
        kill_if_planned();
        return ffi::SQLITE_IOERR_DELETE;
    }
    let host = HOST.get().map_or(std::ptr::null_mut(), |host| host.files);
    // SAFETY: as in `open`.
    unsafe { (*host).xDelete.map_or(ffi::SQLITE_ERROR, |delete| delete(host, name, sync)) }
}

/// Puts the functions below in place of those of the host, which are the same for all of its files.
unsafe fn replace_methods(file: &mut ffi::sqlite3_file) {
    // SAFETY: an open file has methods, which live as long as the process.
    let methods = unsafe { *file.pMethods };
    METHODS.get_or_init(|| methods);
    let mut replaced = REPLACED.lock().unwrap_or_else(PoisonError::into_inner);
    let address = file.pMethods as usize;
    if !replaced.iter().any(|(host, _)| *host == address) {
        let copy = ffi::sqlite3_io_methods {
            xWrite: Some(write),
            xTruncate: Some(truncate),
            xSync: Some(sync),
            ..methods
        };
        replaced.push((address, std::ptr::from_ref(Box::leak(Box::new(copy))) as usize));
    }
    if let Some((_, copy)) = replaced.iter().find(|(host, _)| *host == address) {
        file.pMethods = *copy as *const ffi::sqlite3_io_methods;
    }
}

fn methods() -> &'static ffi::sqlite3_io_methods {
    METHODS.get().expect("an open file")
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    bytes: *const c_void,
    length: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    let fails = fails();
    let written = if fails { length / 2 } else { length };
    // SAFETY: the arguments are SQLite's; the host's own function writes.
    let code =
        unsafe { methods().xWrite.map_or(ffi::SQLITE_ERROR, |write| write(file, bytes, written, offset)) };
    if fails {
        kill_if_planned();
        return ffi::SQLITE_IOERR_WRITE;
    }
    code
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: ffi::sqlite3_int64) -> c_int {
    if fails() {
        kill_if_planned();
        return ffi::SQLITE_IOERR_TRUNCATE;
    }
    // SAFETY: as in `write`.
    unsafe { methods().xTruncate.map_or(ffi::SQLITE_ERROR, |truncate| truncate(file, size)) }
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    if fails() {
        kill_if_planned();
        return ffi::SQLITE_IOERR_FSYNC;
    }
    // SAFETY: as in `write`.
    unsafe { methods().xSync.map_or(ffi::SQLITE_ERROR, |sync| sync(file, flags)) }
}
