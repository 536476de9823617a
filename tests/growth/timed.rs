//! The walk by CPU time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::types::Value;

use crate::calls::connect;
use crate::inputs::Input;
use crate::{LONG, Point, SHORT, points, run};

unsafe extern "C" {
    /// Processor time of the process in microseconds, on systems of POSIX.
    safe fn clock() -> std::ffi::c_long;
}

/// The criterion of the walk that counts, with room for what time alone adds, such as misses of caches.
const MOST_GROWTH: f64 = 3.0;
/// Calls that take less grow by less than can be measured: at the square of 64 kB even a nanosecond for 16 bytes is more.
const SHORT_TIME: f64 = 0.02;
/// Measurements until a call counts as one that grows too fast or hears no interrupt.
const TRIES: usize = 6;
/// Longest time after an interrupt.
const LATEST: f64 = 0.1;

fn seconds() -> f64 {
    clock() as f64 / 1e6
}

fn time(connection: &Connection, sql: &str, input: &Value) -> f64 {
    let begun = seconds();
    drop(run(connection, sql, input));
    seconds() - begun
}

/// Interrupts a call after this much CPU time; the time that it takes after that, 0 if it has ended before.
fn delay(connection: &Connection, sql: &str, input: &Value, after: f64) -> f64 {
    let handle = connection.get_interrupt_handle();
    let ended = Arc::new(AtomicBool::new(false));
    let begun = seconds();
    let watch = std::thread::spawn({
        let ended = Arc::clone(&ended);
        move || {
            while !ended.load(Ordering::Relaxed) {
                if seconds() >= begun + after {
                    handle.interrupt();
                    return Some(seconds());
                }
                std::thread::sleep(Duration::from_micros(500));
            }
            None
        }
    });
    drop(run(connection, sql, input));
    let end = seconds();
    ended.store(true, Ordering::Relaxed);
    let interrupted = watch.join().expect("the watch ends");
    interrupted.map_or(0.0, |at| end - at)
}

/// A call at a size and at twice that size.
struct Measured {
    /// Processor time at twice the size.
    twice: f64,
    /// How many times as long it takes at twice the size; 0 if it takes too little time.
    growth: f64,
    /// The longest time after an interrupt.
    latest: f64,
}

impl Measured {
    fn is_wrong(&self) -> bool {
        self.growth > MOST_GROWTH || self.latest > LATEST
    }
}

fn measure(connection: &Connection, point: &Point, size: usize) -> Measured {
    let large = (point.input.make)(2 * size);
    let mut twice = time(connection, &point.sql, &large);
    let (mut growth, mut latest) = (0.0, 0.0);
    if twice > SHORT_TIME {
        let small = (point.input.make)(size);
        let mut once = f64::MAX;
        for _ in 0..TRIES {
            once = once.min(time(connection, &point.sql, &small));
            growth = twice / once;
            if growth <= MOST_GROWTH {
                break;
            }
            twice = twice.min(time(connection, &point.sql, &large));
            if twice <= SHORT_TIME {
                // A pause of the machine made it long.
                growth = 0.0;
                break;
            }
        }
    }
    if twice > LATEST {
        for part in [0.2, 0.6] {
            let delays = (0..TRIES).map(|_| delay(connection, &point.sql, &large, part * twice));
            let mut least = f64::MAX;
            for delay in delays {
                least = least.min(delay);
                if least <= LATEST {
                    break;
                }
            }
            latest = f64::max(latest, least);
        }
    }
    Measured { twice, growth, latest }
}

#[test]
fn calls_take_linear_time_and_hear_interrupts() {
    let is_long = std::env::var_os("LTR_LONG").is_some();
    let size = std::env::var("LTR_SIZE")
        .map_or(if is_long { 512 << 10 } else { 32 << 10 }, |size| size.parse().expect("a size"));
    let connection = connect();
    let points = points(&connection, if is_long { LONG } else { SHORT });
    let (begun, mut problems) = (seconds(), Vec::new());
    for point in &points {
        let measured = measure(&connection, point, size);
        let Measured { twice, growth, latest } = measured;
        let line =
            format!("{twice:.3} s, growth {growth:.2}, {latest:.3} s after an interrupt: {}", point.name);
        if twice > SHORT_TIME {
            println!("{line}");
        }
        if measured.is_wrong() {
            problems.push(line);
        }
    }
    println!("{} points at {} bytes, {:.1} s", points.len(), 2 * size, seconds() - begun);
    assert!(problems.is_empty(), "{} of {} points:\n{}", problems.len(), points.len(), problems.join("\n"));
}

/// The walk finds what it is for: a function of the host that takes the square of its argument and hears no interrupt.
#[test]
fn a_call_that_takes_the_square_is_found() {
    let connection = Connection::open_in_memory().expect("a database");
    let square = |context: &rusqlite::functions::Context<'_>| {
        let text: String = context.get(0)?;
        let sum =
            |byte: u8| text.bytes().map(|other| u64::from(std::hint::black_box(byte ^ other))).sum::<u64>();
        Ok(text.bytes().map(sum).sum::<u64>() as i64)
    };
    connection
        .create_scalar_function("square", 1, rusqlite::functions::FunctionFlags::SQLITE_UTF8, square)
        .expect("a function");
    let input = Input { name: String::new(), make: Box::new(|size| Value::Text("a".repeat(size))) };
    let point = Point { name: String::new(), sql: "SELECT square(?1)".to_owned(), input };
    let measured = measure(&connection, &point, 32 << 10);
    let Measured { growth, latest, .. } = measured;
    assert!(growth > MOST_GROWTH && latest > LATEST && measured.is_wrong(), "{growth}, {latest}");
}
