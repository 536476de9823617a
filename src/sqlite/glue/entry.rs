//! The entry points of the loadable extension.
//!
//! Rule 13.8: the host's version is checked first, because rusqlite would abort an older host. Then its function table is
//! compared with the first host's, because rusqlite keeps one table per process, and passing objects of one SQLite library
//! to functions of another corrupts memory.
#![allow(unsafe_code, reason = "the entry points of a shared library are C functions")]

use std::ffi::{c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use rusqlite::{Connection, ffi};

use crate::sqlite::{Files, register_with};

/// The oldest host, 3.38.0, the first version with everything that the functions use.
const OLDEST: c_int = 3_038_000;

/// The SQLite library that this copy of the extension serves: the address of its function table, and its version.
static HOST: OnceLock<(usize, c_int)> = OnceLock::new();

/// Where an entry point stores a message allocated by SQLite.
type Message = *mut *mut c_char;

/// The function table of the host.
type Api = *mut ffi::sqlite3_api_routines;

/// Entry point with the name that every host tries.
///
/// # Safety
/// Called by SQLite with its own arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sqlite3_extension_init(db: *mut ffi::sqlite3, message: Message, api: Api) -> c_int {
    // SAFETY: the same contract.
    unsafe { load(db, message, api, Files::Allowed) }
}

/// Entry point with the name that SQLite derives from the file name.
///
/// # Safety
/// Called by SQLite with its own arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sqlite3_sqliteltr_init(db: *mut ffi::sqlite3, message: Message, api: Api) -> c_int {
    // SAFETY: the same contract.
    unsafe { sqlite3_extension_init(db, message, api) }
}

/// Entry point without the functions that read files (rule 10.9).
///
/// # Safety
/// Called by SQLite with its own arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sqlite3_sqliteltr_nofiles_init(
    db: *mut ffi::sqlite3,
    message: Message,
    api: Api,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { load(db, message, api, Files::Denied) }
}

/// Registers the functions; a panic becomes an error code.
///
/// # Safety
/// The arguments are those that SQLite gives to an entry point.
unsafe fn load(db: *mut ffi::sqlite3, message: Message, api: Api, files: Files) -> c_int {
    // SAFETY: the arguments are SQLite's, as this function's own contract says.
    let load = || unsafe { init(db, message, api, files) };
    catch_unwind(AssertUnwindSafe(load)).unwrap_or(ffi::SQLITE_ERROR)
}

/// # Safety
/// The arguments are those that SQLite gives to an entry point.
unsafe fn init(db: *mut ffi::sqlite3, message: Message, api: Api, files: Files) -> c_int {
    if api.is_null() {
        return ffi::SQLITE_ERROR;
    }
    // SAFETY: `api` is the host's table.
    let version = unsafe { version_of(api) };
    let outcome = match check_host(api as usize, version) {
        // SAFETY: the database is open and calls this entry point; the table is at least as new as the bindings need.
        Ok(()) => unsafe { register_into(db, api, files) },
        refused => refused,
    };
    // With SQLITE_OK, SQLite would allocate a list entry for the library, which fails if memory runs out.
    let Err(problem) = outcome else { return ffi::SQLITE_OK_LOAD_PERMANENTLY };
    // SAFETY: `message` is null or writable, `api` is the host's table.
    unsafe { refuse(&problem, message, api) };
    ffi::SQLITE_ERROR
}

/// Refuses an old host, and a second host in this process.
fn check_host(api: usize, version: c_int) -> Result<(), String> {
    if version < OLDEST {
        return Err(format!("sqlite_ltr needs SQLite 3.38.0 or newer, this is {}", dotted(version)));
    }
    // After an error, SQLite unloads a library, including the code of functions already registered.
    if !pin() {
        return Err("the system could not keep sqlite_ltr in memory; nothing was loaded".to_owned());
    }
    let (first, first_version) = *HOST.get_or_init(|| (api, version));
    if first != api {
        return Err(format!(
            "this process has loaded sqlite_ltr into another SQLite library ({}, this is {}); \
             copy the file to another folder and load the copy",
            dotted(first_version),
            dotted(version)
        ));
    }
    Ok(())
}

/// # Safety
/// The arguments are those that SQLite gives to an entry point; the library stays in memory.
unsafe fn register_into(db: *mut ffi::sqlite3, api: Api, files: Files) -> Result<(), String> {
    // SAFETY: `api` is the host's table, and `db` is open during this call. `from_handle` does not close it.
    let connection = unsafe {
        ffi::rusqlite_extension_init2(api).map_err(|problem| problem.to_string())?;
        Connection::from_handle(db).map_err(|problem| problem.to_string())?
    };
    register_with(&connection, files).map_err(|problem| {
        format!("{problem}; finish the statements of this connection and load sqlite_ltr again; until then, only functions of an earlier load work")
    })
}

/// Keeps this library in memory until the process ends. Functions may stay registered after a failed load, and their
/// threads may still be ending when the last connection closes. Returns false if the system refuses.
#[cfg(unix)]
fn pin() -> bool {
    const RTLD_LAZY: c_int = 1;
    unsafe extern "C" {
        /// Writes a `Dl_info`: four pointers, starting with the file name.
        fn dladdr(address: *const c_void, info: *mut [*const c_char; 4]) -> c_int;
        fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    }
    let mut info = [std::ptr::null(); 4];
    // SAFETY: the declarations match the system's. `dladdr` finds the file of this function, a text of the loader. Opening
    // a loaded file again only increases its count, and it is never closed.
    unsafe {
        dladdr((pin as fn() -> bool) as *const c_void, &raw mut info) != 0
            && !dlopen(info[0], RTLD_LAZY).is_null()
    }
}

#[cfg(windows)]
fn pin() -> bool {
    const PIN_MODULE_OF_ADDRESS: u32 = 1 | 4;
    unsafe extern "system" {
        fn GetModuleHandleExW(flags: u32, address: *const c_void, module: *mut *mut c_void) -> c_int;
    }
    let mut module = std::ptr::null_mut();
    // SAFETY: the declaration matches the system's; with these flags the second argument is an address in the library.
    unsafe {
        GetModuleHandleExW(PIN_MODULE_OF_ADDRESS, (pin as fn() -> bool) as *const c_void, &raw mut module)
            != 0
    }
}

/// # Safety
/// `api` is the table of a host.
unsafe fn version_of(api: Api) -> c_int {
    // SAFETY: the table begins the same in every SQLite version and has this member.
    unsafe { (*api).libversion_number }.map_or(0, |version| {
        // SAFETY: the host's own function, without arguments.
        unsafe { version() }
    })
}

/// 3.38.0 of 3038000.
fn dotted(version: c_int) -> String {
    format!("{}.{}.{}", version / 1_000_000, version / 1000 % 1000, version % 1000)
}

/// Stores a message in memory from the host's own allocator.
///
/// # Safety
/// `message` is null or writable; `api` is the host's table.
unsafe fn refuse(text: &str, message: Message, api: Api) {
    // SAFETY: as above.
    let Some(malloc) = (unsafe { (*api).malloc }) else { return };
    if message.is_null() {
        return;
    }
    // SAFETY: the host's allocator; the copy stays inside that allocation.
    unsafe {
        let memory = malloc(text.len() as c_int + 1).cast::<u8>();
        if !memory.is_null() {
            std::ptr::copy_nonoverlapping(text.as_ptr(), memory, text.len());
            memory.add(text.len()).write(0);
            *message = memory.cast();
        }
    }
}
