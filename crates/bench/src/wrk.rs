//! The load generator wrk, with requests that are built before the load begins.

use std::fmt::Write;
use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::api::Request;
use crate::supervisor::Supervisor;

/// A script for wrk. It builds the requests in the file that the first argument names, sends them in rotation, and prints the
/// result as a line of JSON. The second argument is the average pause of each connection before a request, in milliseconds; the
/// pause is random, so that connections do not send at the same time.
const SCRIPT: &str = r#"
local requests, count, at, threads = {}, 0, 0, 0
function setup(thread)
    thread:set("number", threads)
    threads = threads + 1
end
function init(arguments)
    for line in io.lines(arguments[1]) do
        local method, path, token, body = line:match("^(.-)\t(.-)\t(.-)\t(.*)$")
        local headers = {}
        if token ~= "" then headers["Authorization"] = "Bearer " .. token end
        if body == "" then body = nil else headers["Content-Type"] = "application/json" end
        count = count + 1
        requests[count] = wrk.format(method, path, headers, body)
    end
    at = math.floor(count / (number + 1)) % count
    local pause = tonumber(arguments[2])
    if pause > 0 then
        function delay() return math.random(0, 2 * pause) end
    end
end
function request()
    at = at % count + 1
    return requests[at]
end
function done(summary, latency)
    local errors = summary.errors
    print(string.format(
        '{"requests":%d,"micros":%d,"bytes":%d,"p50":%d,"p99":%d,"max":%d,' ..
        '"connect":%d,"read":%d,"write":%d,"timeout":%d,"status":%d}',
        summary.requests, summary.duration, summary.bytes,
        latency:percentile(50), latency:percentile(99), latency.max,
        errors.connect, errors.read, errors.write, errors.timeout, errors.status))
end
"#;

/// The result of a run of wrk. Times are in microseconds.
#[derive(Debug, Clone, Deserialize, PartialEq, Eq)]
pub(crate) struct LoadResult {
    pub(crate) requests: u64,
    micros: u64,
    bytes: u64,
    pub(crate) p50: u64,
    pub(crate) p99: u64,
    pub(crate) max: u64,
    connect: u64,
    read: u64,
    write: u64,
    timeout: u64,
    status: u64,
}

impl LoadResult {
    /// Requests per second.
    pub(crate) fn rate(&self) -> f64 {
        self.requests as f64 * 1e6 / self.micros.max(1) as f64
    }

    /// Bytes per answer.
    pub(crate) fn size(&self) -> f64 {
        self.bytes as f64 / self.requests.max(1) as f64
    }

    /// Answers that are not 2xx, and requests without one.
    pub(crate) fn errors(&self) -> u64 {
        self.connect + self.read + self.write + self.timeout + self.status
    }

    /// Returns the errors by kind; empty without any.
    pub(crate) fn error_summary(&self) -> String {
        let kinds = [
            ("connect", self.connect),
            ("read", self.read),
            ("write", self.write),
            ("timeout", self.timeout),
            ("status", self.status),
        ];
        let mut text = String::new();
        for (kind, count) in kinds.iter().filter(|(_, count)| *count > 0) {
            let _ = write!(text, " {kind} {count}");
        }
        text
    }
}

/// The load that wrk generates.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) connections: u32,
    pub(crate) threads: u32,
    pub(crate) seconds: u64,
    /// The average pause of each connection between two requests.
    pub(crate) pause: Duration,
}

/// Runs wrk, which sends these requests in rotation.
pub(crate) fn drive(supervisor: &Supervisor, base: &str, requests: &[Request], load: Load) -> Result<LoadResult> {
    ensure!(!requests.is_empty(), "there is nothing to send");
    // wrk requires at least one connection per thread.
    let threads = load.threads.min(load.connections);
    let directory = supervisor.directory();
    let script = directory.join("wrk.lua");
    let list = tempfile::Builder::new().prefix("requests-").tempfile_in(directory)?;
    fs::write(&script, SCRIPT)?;
    let mut text = String::new();
    for Request { method, path, token, body } in requests {
        writeln!(text, "{method}\t{path}\t{token}\t{}", body.as_deref().unwrap_or_default())?;
    }
    fs::write(list.path(), text)?;
    let mut wrk = Command::new("wrk");
    wrk.arg(format!("-t{threads}")).arg(format!("-c{}", load.connections)).arg(format!("-d{}s", load.seconds));
    wrk.args(["--timeout", "30s", "-s"]).arg(script).arg(base).arg("--").arg(list.path());
    wrk.arg(load.pause.as_millis().to_string());
    read(&supervisor.output(&mut wrk)?)
}

fn read(printed: &str) -> Result<LoadResult> {
    let line = printed.lines().find(|line| line.starts_with('{')).with_context(|| format!("wrk: {printed}"))?;
    Ok(serde_json::from_str(line)?)
}

/// Returns the program's version.
pub(crate) fn version() -> String {
    // The exit code is ignored: wrk fails after it has printed its version.
    let printed = Command::new("wrk").arg("-v").output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&printed).split(" Copyright").next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_json_is_found_in_the_output_of_wrk() {
        let printed = "Running 1s test @ http://127.0.0.1:1\n  1 threads and 2 connections\nRequests/sec: 10.00\n\
            {\"requests\":10,\"micros\":2000000,\"bytes\":1000,\"p50\":1,\"p99\":2,\"max\":3,\
            \"connect\":0,\"read\":1,\"write\":0,\"timeout\":0,\"status\":2}\n";
        let result = read(printed).unwrap();
        assert!((result.rate() - 5.0).abs() < 1e-9 && (result.size() - 100.0).abs() < 1e-9);
        assert_eq!((result.errors(), result.error_summary().as_str()), (3, " read 1 status 2"));
        assert!(read("unable to connect").is_err());
    }
}
