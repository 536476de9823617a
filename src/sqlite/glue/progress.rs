//! The option `progress`: shows on the host's terminal how far a computation is and how long it will take.

use std::cell::Cell;
use std::io::Write;
use std::time::{Duration, Instant};

use crate::base::Control;

/// Time between two outputs.
const PAUSE: Duration = Duration::from_millis(250);

/// Estimates are shown only if the whole work takes longer than this (seconds).
const LONG: f64 = 10.0;

thread_local! {
    /// Steps done and announced of the computation that this thread waits for.
    pub(super) static RUNNING: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// Steps done and announced of the computation that this thread waits for, which a host can read while it is polled.
pub fn running() -> (usize, usize) {
    RUNNING.get()
}

/// The progress of one computation. It keeps rewriting one line on standard error.
pub struct Progress {
    started: Instant,
    /// When the line was last written.
    shown: Option<Instant>,
}

impl Progress {
    /// Progress of a computation that starts now.
    pub fn start() -> Self {
        Self { started: Instant::now(), shown: None }
    }

    /// Writes the line, at most four times a second. Nothing is written before the number of fits is known.
    pub fn show(&mut self, control: &Control) {
        let (done, total) = control.progress();
        if total == 0 || self.shown.unwrap_or(self.started).elapsed() < PAUSE {
            return;
        }
        self.shown = Some(Instant::now());
        let mut terminal = std::io::stderr().lock();
        // A closed terminal must not stop the work. The escape code at the end clears the rest of a longer previous line.
        drop(write!(terminal, "\r{}\x1b[K", line(done, total, self.started.elapsed().as_secs_f64())));
        drop(terminal.flush());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            drop(writeln!(std::io::stderr()));
        }
    }
}

/// The progress line after `seconds` seconds. The estimate assumes that later fits take as long as earlier ones, on
/// average.
fn line(done: usize, total: usize, seconds: f64) -> String {
    let left = seconds / done as f64 * (total - done.min(total)) as f64;
    let estimate = if (1..total).contains(&done) && seconds + left > LONG {
        format!(", about {} left", duration(left))
    } else {
        String::new()
    };
    format!("{done} of {total} fits after {}{estimate}", duration(seconds))
}

/// A duration in a unit that fits.
fn duration(seconds: f64) -> String {
    match seconds {
        _ if seconds < 99.5 => format!("{seconds:.0} s"),
        _ if seconds < 5970.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_appears_after_the_first_fit_of_long_work() {
        assert_eq!(line(0, 40, 12.3), "0 of 40 fits after 12 s");
        assert_eq!(line(4, 8, 2.0), "4 of 8 fits after 2 s");
        assert_eq!(line(4, 40, 2.0), "4 of 40 fits after 2 s, about 18 s left");
        assert_eq!(line(3, 40, 60.0), "3 of 40 fits after 60 s, about 12 min left");
        assert_eq!(line(1, 1000, 30.0), "1 of 1000 fits after 30 s, about 8.3 h left");
        assert_eq!(line(40, 40, 90.0), "40 of 40 fits after 90 s");
    }
}
