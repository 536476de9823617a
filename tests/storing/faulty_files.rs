//! A file system for SQLite whose n-th operation fails or ends the process. It never waits for a disk.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use rusqlite::ffi;

/// The name of the file system.
pub const NAME: &CStr = c"faulty";

/// What happens at the n-th operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Fault {
    /// Nothing; operations are counted.
    None,
    /// One I/O error. The operation is not done; half of the bytes of a write are written.
    Once,
    /// I/O errors from then on.
    Sticky,
    /// One lock is held by somebody else, or the disk is full at one write. Other operations are not counted.
    Refused,
    /// One change or unlock is done, and reports an error. Other operations are not counted.
    Done,
    /// The process ends at a change, after half of the bytes of a write. Other operations are not counted.
    Kill,
}

/// What SQLite asks of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Open,
    Access,
    Read,
    Size,
    Write,
    Truncate,
    Sync,
    Delete,
    Lock,
    CheckLock,
    Unlock,
    Map,
    MapLock,
    MapUnlock,
}

static FAULT: AtomicU8 = AtomicU8::new(0);
static LEFT: AtomicI64 = AtomicI64::new(0);

impl Operation {
    fn is_change(self) -> bool {
        matches!(self, Self::Write | Self::Truncate | Self::Sync | Self::Delete)
    }

    /// Whether a planned fault counts this operation.
    fn counts(self, fault: u8) -> bool {
        const REFUSED: u8 = Fault::Refused as u8;
        const DONE: u8 = Fault::Done as u8;
        const KILL: u8 = Fault::Kill as u8;
        match fault {
            REFUSED => matches!(self, Self::Write | Self::Lock | Self::MapLock),
            DONE => self.is_change() || matches!(self, Self::Unlock | Self::MapUnlock),
            KILL => self.is_change(),
            _ => true,
        }
    }

    /// The error, if this operation fails.
    fn failure(self) -> Option<c_int> {
        let fault = FAULT.load(Ordering::SeqCst);
        if fault == Fault::None as u8 || !self.counts(fault) {
            return None;
        }
        let left = LEFT.fetch_sub(1, Ordering::SeqCst);
        let fails = left == 0 || (left < 0 && fault == Fault::Sticky as u8);
        fails.then_some(match self {
            Self::Write if fault == Fault::Refused as u8 => ffi::SQLITE_FULL,
            Self::Lock | Self::MapLock if fault == Fault::Refused as u8 => ffi::SQLITE_BUSY,
            Self::Open => ffi::SQLITE_CANTOPEN,
            Self::Access => ffi::SQLITE_IOERR_ACCESS,
            Self::Read => ffi::SQLITE_IOERR_READ,
            Self::Size => ffi::SQLITE_IOERR_FSTAT,
            Self::Write => ffi::SQLITE_IOERR_WRITE,
            Self::Truncate => ffi::SQLITE_IOERR_TRUNCATE,
            Self::Sync => ffi::SQLITE_IOERR_FSYNC,
            Self::Delete => ffi::SQLITE_IOERR_DELETE,
            Self::Lock => ffi::SQLITE_IOERR_LOCK,
            Self::CheckLock => ffi::SQLITE_IOERR_CHECKRESERVEDLOCK,
            Self::Unlock => ffi::SQLITE_IOERR_UNLOCK,
            Self::Map => ffi::SQLITE_IOERR_SHMMAP,
            Self::MapLock | Self::MapUnlock => ffi::SQLITE_IOERR_SHMLOCK,
        })
    }

    /// Does the operation of the host, or fails as planned.
    fn run(self, host: impl FnOnce() -> c_int) -> c_int {
        let Some(code) = self.failure() else { return host() };
        kill_if_planned();
        if FAULT.load(Ordering::SeqCst) == Fault::Done as u8 {
            host();
        }
        code
    }
}

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
            copy.xAccess = Some(access);
            assert_eq!(ffi::sqlite3_vfs_register(copy, 0), ffi::SQLITE_OK);
            Host { files }
        }
    });
}

/// The fault at the operation with this number, counted from now on.
pub fn plan(fault: Fault, at: usize) {
    LEFT.store(at as i64, Ordering::SeqCst);
    FAULT.store(fault as u8, Ordering::SeqCst);
}

/// Operations until the planned one; below 0 after it.
pub fn left() -> i64 {
    LEFT.load(Ordering::SeqCst)
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
    // SAFETY: the arguments are SQLite's; the host's own function opens the file. A file without methods is not closed.
    unsafe {
        (*file).pMethods = std::ptr::null();
        let code = Operation::Open
            .run(|| (*host).xOpen.map_or(ffi::SQLITE_ERROR, |open| open(host, name, file, flags, out)));
        if code == ffi::SQLITE_OK {
            replace_methods(&mut *file);
        }
        code
    }
}

unsafe extern "C" fn delete(_: *mut ffi::sqlite3_vfs, name: *const c_char, _: c_int) -> c_int {
    let host = HOST.get().map_or(std::ptr::null_mut(), |host| host.files);
    // SAFETY: as in `open`.
    Operation::Delete
        .run(|| unsafe { (*host).xDelete.map_or(ffi::SQLITE_ERROR, |delete| delete(host, name, 0)) })
}

unsafe extern "C" fn access(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    let host = HOST.get().map_or(std::ptr::null_mut(), |host| host.files);
    // SAFETY: as in `open`.
    Operation::Access
        .run(|| unsafe { (*host).xAccess.map_or(ffi::SQLITE_ERROR, |access| access(host, name, flags, out)) })
}

/// Replaces the host's functions with the ones below. Files with locks share one table of functions.
unsafe fn replace_methods(file: &mut ffi::sqlite3_file) {
    // SAFETY: an open file has methods, which live as long as the process.
    let methods = unsafe { *file.pMethods };
    METHODS.get_or_init(|| methods);
    let mut replaced = REPLACED.lock().unwrap_or_else(PoisonError::into_inner);
    let address = file.pMethods as usize;
    if !replaced.iter().any(|(host, _)| *host == address) {
        let copy = ffi::sqlite3_io_methods {
            xRead: Some(read),
            xWrite: Some(write),
            xTruncate: Some(truncate),
            xSync: Some(sync),
            xFileSize: Some(size),
            xLock: Some(lock),
            xUnlock: Some(unlock),
            xCheckReservedLock: Some(check_lock),
            xShmMap: Some(map),
            xShmLock: Some(map_lock),
            ..methods
        };
        replaced.push((address, std::ptr::from_ref(Box::leak(Box::new(copy))) as usize));
    }
    if let Some((_, copy)) = replaced.iter().find(|(host, _)| *host == address) {
        file.pMethods = *copy as *const ffi::sqlite3_io_methods;
    }
}

/// The methods of the first file, a database. Other files need no locks, and share its other functions.
fn methods() -> &'static ffi::sqlite3_io_methods {
    METHODS.get().expect("an open file")
}

/// Calls a method of the host with the arguments of SQLite.
macro_rules! host {
    ($method:ident, $file:expr $(, $argument:expr)*) => {
        // SAFETY: the arguments are SQLite's; the host's own function does the work.
        unsafe { methods().$method.map_or(ffi::SQLITE_ERROR, |method| method($file $(, $argument)*)) }
    };
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    bytes: *mut c_void,
    length: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    Operation::Read.run(|| host!(xRead, file, bytes, length, offset))
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    bytes: *const c_void,
    length: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    let failure = Operation::Write.failure();
    let is_done = failure.is_none() || FAULT.load(Ordering::SeqCst) == Fault::Done as u8;
    let written = if is_done { length } else { length / 2 };
    let code = host!(xWrite, file, bytes, written, offset);
    let Some(failure) = failure else { return code };
    kill_if_planned();
    failure
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: ffi::sqlite3_int64) -> c_int {
    Operation::Truncate.run(|| host!(xTruncate, file, size))
}

unsafe extern "C" fn sync(_: *mut ffi::sqlite3_file, _: c_int) -> c_int {
    Operation::Sync.run(|| ffi::SQLITE_OK)
}

unsafe extern "C" fn size(file: *mut ffi::sqlite3_file, size: *mut ffi::sqlite3_int64) -> c_int {
    Operation::Size.run(|| host!(xFileSize, file, size))
}

unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    Operation::Lock.run(|| host!(xLock, file, level))
}

unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    Operation::Unlock.run(|| host!(xUnlock, file, level))
}

unsafe extern "C" fn check_lock(file: *mut ffi::sqlite3_file, out: *mut c_int) -> c_int {
    Operation::CheckLock.run(|| host!(xCheckReservedLock, file, out))
}

unsafe extern "C" fn map(
    file: *mut ffi::sqlite3_file,
    page: c_int,
    size: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    Operation::Map.run(|| host!(xShmMap, file, page, size, extend, out))
}

unsafe extern "C" fn map_lock(
    file: *mut ffi::sqlite3_file,
    first: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    let unlocks = flags & ffi::SQLITE_SHM_UNLOCK != 0;
    let operation = if unlocks { Operation::MapUnlock } else { Operation::MapLock };
    operation.run(|| host!(xShmLock, file, first, count, flags))
}
