//! The CPU time and memory of processes, from /proc.

use std::path::Path;
use std::time::Duration;
use std::{fs, iter};

use anyhow::{Context, Result};

/// Ticks per second of the times in /proc: 100 on every Linux.
const TICKS: u64 = 100;

/// Parses a line of /proc/PID/stat; returns the CPU ticks of the process and of the children it has waited for.
fn times(stat: &str) -> Option<(u64, u64)> {
    // The name, in parentheses, may itself contain parentheses and spaces.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some((field(14)? + field(15)?, field(16)? + field(17)?))
}

fn stat(process: u32) -> Result<(u64, u64)> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).context("the process has ended")?;
    times(&text).context("/proc/PID/stat is not as expected")
}

fn duration(ticks: u64) -> Duration {
    Duration::from_millis(ticks * 1000 / TICKS)
}

/// Returns the CPU time that a process has used.
pub(crate) fn cpu(process: u32) -> Result<Duration> {
    Ok(duration(stat(process)?.0))
}

/// Returns the CPU time that a process and its children have used, those that have ended included.
pub(crate) fn cpu_of_family(process: u32) -> Result<Duration> {
    let (own, ended) = stat(process)?;
    // A child that ends between the two reads is missed here, but is among `ended` the next time.
    let living: u64 = children(process)?.into_iter().filter_map(|child| stat(child).ok()).map(|(own, _)| own).sum();
    Ok(duration(own + ended + living))
}

fn children(process: u32) -> Result<Vec<u32>> {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children"))?;
    Ok(children.split_whitespace().filter_map(|child| child.parse().ok()).collect())
}

/// Moves a process and its children into a cgroup, which processes that they start later inherit.
pub(crate) fn put_into(group: &Path, process: u32) -> Result<()> {
    for process in iter::once(process).chain(children(process)?) {
        let put = fs::write(group.join("cgroup.procs"), process.to_string());
        put.with_context(|| format!("cannot put a process into {}", group.display()))?;
    }
    Ok(())
}

/// Returns the bytes in the line of /proc/PID/status with this name, such as `VmHWM:     1234 kB`.
fn memory_in(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

fn memory(process: u32, name: &str) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).context("the process has ended")?;
    memory_in(&status, name).context("/proc/PID/status is not as expected")
}

/// Returns the resident memory of a process, in bytes.
pub(crate) fn resident(process: u32) -> Result<u64> {
    memory(process, "VmRSS")
}

/// Returns the peak of the resident memory of a process since [`reset_peak`], in bytes.
pub(crate) fn peak(process: u32) -> Result<u64> {
    memory(process, "VmHWM")
}

/// Resets the peak of the resident memory.
pub(crate) fn reset_peak(process: u32) -> Result<()> {
    fs::write(format!("/proc/{process}/clear_refs"), "5").context("cannot reset the peak of the memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_after_any_process_name() {
        let line = "4711 (a) b (c) S 1 4711 4711 0 -1 4194304 100 0 0 0 12 34 56 78 20 0 5 0 100 1 2";
        assert_eq!(times(line), Some((46, 134)));
        assert_eq!(times("4711 (agora) S 1"), None);
    }

    #[test]
    fn memory_is_in_bytes() {
        let status = "Name:\tagora\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n";
        assert_eq!(memory_in(status, "VmHWM"), Some(2 << 20));
        assert_eq!(memory_in(status, "VmRSS"), Some(1 << 20));
        assert_eq!(memory_in(status, "VmSwap"), None);
    }
}
