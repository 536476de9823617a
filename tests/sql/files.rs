//! Files that `ltr_letor` refuses, and connections without it (rules 10.7, 10.8, 10.9).

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::support::{database, value};
use rusqlite::Connection;
use sqlite_ltr::{Files, register_with};

/// A file in the folder of temporary files of this build.
fn temporary(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.{}", std::process::id()));
    drop(std::fs::remove_file(&path));
    path
}

fn refusal(connection: &Connection, path: &Path) -> String {
    let sql = "SELECT count(*) FROM ltr_letor(?1)";
    let problem =
        connection.query_row(sql, [path.to_str().unwrap()], |row| row.get::<_, i64>(0)).unwrap_err();
    problem.to_string()
}

#[test]
#[cfg(unix)]
fn pipes_devices_and_directories_are_refused_at_once() {
    let connection = database();
    let pipe = temporary("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let link = temporary("link");
    std::os::unix::fs::symlink(&pipe, &link).unwrap();
    let made = temporary("made");
    std::os::unix::fs::symlink(
        if cfg!(target_os = "linux") { "/proc/self/status" } else { "/dev/null" },
        &made,
    )
    .unwrap();
    let begun = Instant::now();
    for path in [
        &pipe,
        &link,
        Path::new("/dev/zero"),
        Path::new("/dev/null"),
        Path::new("/dev/tty"),
        Path::new("tests"),
        // The system makes these when they are read, and says that they are regular files.
        #[cfg(target_os = "linux")]
        Path::new("/proc/self/environ"),
        #[cfg(target_os = "linux")]
        Path::new("/proc/cpuinfo"),
        #[cfg(target_os = "linux")]
        Path::new("/proc/sys/kernel/hostname"),
        #[cfg(target_os = "linux")]
        Path::new("/sys/kernel/mm/transparent_hugepage/enabled"),
        &made,
    ] {
        let problem = refusal(&connection, path);
        assert!(
            problem.starts_with(&format!("ltr_letor: file '{}': not a regular file", path.display())),
            "{problem}"
        );
    }
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    [pipe, link, made].iter().for_each(|path| std::fs::remove_file(path).unwrap());
}

/// The name of a file can be given to a pipe between the check of the name and the opening.
#[test]
#[cfg(unix)]
fn a_pipe_that_takes_the_name_of_a_file_does_not_stop_the_call() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let connection = database();
    let [pipe, text, name] = ["swapped_pipe", "swapped_text", "swapped"].map(temporary);
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::fs::write(&text, "1 qid:1 1:0.5\n").unwrap();
    std::fs::hard_link(&text, &name).unwrap();
    let done = AtomicBool::new(false);
    let calls = std::thread::scope(|scope| {
        scope.spawn(|| {
            let other = temporary("swapped_other");
            while !done.load(Ordering::Relaxed) {
                for target in [&pipe, &text] {
                    std::fs::hard_link(target, &other).unwrap();
                    std::fs::rename(&other, &name).unwrap();
                    drop(std::fs::remove_file(&other));
                }
            }
        });
        let begun = Instant::now();
        let mut calls = [0, 0];
        while begun.elapsed() < Duration::from_millis(500) {
            let sql = "SELECT count(*) FROM ltr_letor(?1)";
            let rows = connection.query_row(sql, [name.to_str().unwrap()], |row| row.get::<_, i64>(0));
            calls[usize::from(rows.is_err())] += 1;
        }
        done.store(true, Ordering::Relaxed);
        calls
    });
    assert!(calls.iter().all(|calls| *calls > 0), "read {}, refused {}", calls[0], calls[1]);
    [pipe, text, name].iter().for_each(|path| std::fs::remove_file(path).unwrap());
}

#[test]
fn the_text_of_other_files_is_not_quoted() {
    let connection = database();
    let secret = temporary("secret");
    for text in [
        "hunter2",
        "hunter2 qid:1",
        "root:hunter2:0:0:root:/root:/bin/sh",
        "{\"password\": \"hunter2\"}",
        "7 hunter2 1:1",
        "-----BEGIN KEY-----\nhunter2\n",
        "1 qid:1 1:1\nhunter2 2:2\n",
        "\u{0}hunter2\u{0}",
    ] {
        std::fs::write(&secret, text).unwrap();
        let problem = refusal(&connection, &secret);
        let says_why = problem.contains("not LETOR text") || problem.contains("invisible character");
        assert!(says_why && problem.contains(", line "), "{problem}");
        assert!(!problem.contains("hunter2") && !problem.contains("BEGIN"), "{problem}");
    }
    std::fs::remove_file(&secret).unwrap();
}

#[test]
fn a_host_can_leave_out_what_reads_files() {
    let connection = Connection::open_in_memory().unwrap();
    register_with(&connection, Files::Denied).unwrap();
    let problem =
        connection.prepare("SELECT * FROM ltr_letor('tests/data/small.letor')").unwrap_err().to_string();
    assert!(problem.contains("no such table: ltr_letor"), "{problem}");
    let others = "SELECT group_concat(name) FROM (SELECT name FROM pragma_module_list WHERE name LIKE 'ltr!_%' ESCAPE '!' \
                  UNION SELECT name FROM pragma_function_list WHERE name LIKE 'ltr!_%' ESCAPE '!' ORDER BY name)";
    let all: String = value(&database(), others, ());
    let denied: String = value(&connection, others, ());
    assert_eq!(denied, all.replace("ltr_letor,", ""));
    assert_ne!(denied, all);
}
