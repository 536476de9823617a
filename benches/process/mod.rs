//! What the running benchmark has used.
#![allow(dead_code, reason = "each benchmark uses some of these functions")]

/// Largest resident set of this process in bytes, if the system reports it.
pub fn largest_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(1024.0 * line.split_whitespace().nth(1)?.parse::<f64>().ok()?)
}

/// Processor seconds of this process, if the system reports them.
pub fn processor() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let mut fields = stat.rsplit(')').next()?.split_whitespace().skip(11);
    let [user, system]: [f64; 2] = [fields.next()?.parse().ok()?, fields.next()?.parse().ok()?];
    Some((user + system) / 100.0)
}
