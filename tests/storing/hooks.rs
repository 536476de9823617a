//! Authorizers and progress handlers of a host, for one connection.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::{Connection, ffi};

/// What a hook does when it fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Deny,
    Ignore,
    /// The progress handler asks to stop, once.
    StopOnce,
    /// The progress handler asks to stop, from then on.
    Stop,
    /// `sqlite3_interrupt`.
    Interrupt,
}

/// Fires at the n-th event. Progress is counted from the first savepoint on, operation by operation.
pub struct Hooks {
    pub action: Action,
    pub at: usize,
    events: Cell<usize>,
    /// Whether progress is counted.
    pub armed: Arc<AtomicBool>,
    handle: *mut ffi::sqlite3,
    /// Whether the event was reached.
    pub fired: Cell<bool>,
    /// The name of the event that was changed.
    pub event: Cell<String>,
}

impl Hooks {
    /// Installs the hooks while `body` runs.
    pub fn run<T>(
        connection: &Connection,
        action: Action,
        at: usize,
        body: impl FnOnce(&Self) -> T,
    ) -> (T, bool, String) {
        // SAFETY: a live connection.
        let handle = unsafe { connection.handle() };
        let (events, armed, fired) = (Cell::new(0), Arc::new(AtomicBool::new(false)), Cell::new(false));
        let hooks = Box::new(Self { action, at, events, armed, handle, fired, event: Cell::default() });
        let data = (&raw const *hooks).cast_mut().cast::<c_void>();
        // SAFETY: a live connection; the hooks go before their data do.
        unsafe {
            ffi::sqlite3_set_authorizer(handle, Some(authorize), data);
            ffi::sqlite3_progress_handler(handle, 1, Some(progress), data);
        }
        let outcome = body(&hooks);
        // SAFETY: as above.
        unsafe {
            ffi::sqlite3_set_authorizer(handle, None, std::ptr::null_mut());
            ffi::sqlite3_progress_handler(handle, 0, None, std::ptr::null_mut());
        }
        (outcome, hooks.fired.get(), hooks.event.take())
    }

    /// Whether this is the event at which the hook fires.
    fn now(&self) -> bool {
        let event = self.events.replace(self.events.get() + 1);
        let now = event == self.at || (self.action == Action::Stop && event > self.at);
        self.fired.set(self.fired.get() || now);
        now
    }
}

unsafe extern "C" fn authorize(
    data: *mut c_void,
    code: c_int,
    first: *const c_char,
    second: *const c_char,
    _: *const c_char,
    _: *const c_char,
) -> c_int {
    // SAFETY: the hooks outlive their installation.
    let hooks = unsafe { &*data.cast::<Hooks>() };
    if code == ffi::SQLITE_SAVEPOINT {
        hooks.armed.store(true, Ordering::Relaxed);
    }
    let answer = match hooks.action {
        Action::Deny => ffi::SQLITE_DENY,
        Action::Ignore => ffi::SQLITE_IGNORE,
        _ => return ffi::SQLITE_OK,
    };
    if !hooks.now() {
        return ffi::SQLITE_OK;
    }
    let text = |text: *const c_char| {
        // SAFETY: null or text of SQLite.
        let text = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) });
        text.map_or_else(String::new, |text| text.to_string_lossy().into_owned())
    };
    hooks.event.set(format!("{code} {} {}", text(first), text(second)));
    answer
}

unsafe extern "C" fn progress(data: *mut c_void) -> c_int {
    // SAFETY: the hooks outlive their installation.
    let hooks = unsafe { &*data.cast::<Hooks>() };
    let progress = matches!(hooks.action, Action::StopOnce | Action::Stop | Action::Interrupt);
    if !progress || !hooks.armed.load(Ordering::Relaxed) || !hooks.now() {
        return 0;
    }
    if hooks.action == Action::Interrupt {
        // SAFETY: the connection is live, as it calls this handler.
        unsafe { ffi::sqlite3_interrupt(hooks.handle) };
        return 0;
    }
    1
}
