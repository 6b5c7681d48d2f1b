//! What the system says of this process, under the names that Prometheus' own libraries use.

use std::fmt;

use agora_domain::clock::Timestamp;
use agora_http::metrics::Page;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

/// The memory, the time and the files of this process.
#[derive(Debug)]
pub(super) struct ProcessMetrics {
    begun: Timestamp,
}

impl ProcessMetrics {
    /// Of a process that began at about this time.
    pub(super) fn new(begun: Timestamp) -> Self {
        Self { begun }
    }
}

impl Collector for ProcessMetrics {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page::new(encoder);
        let begun = self.begun.unix_millis().div_euclid(1000);
        page.gauge("process_start_time_seconds", "When the service was started, in seconds since 1970", begun)?;
        let files = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        if let Some(files) = files.current {
            page.gauge("process_max_fds", "The most files that the process may have open", files)?;
        }
        #[cfg(target_os = "linux")]
        if let Some(figures) = figures() {
            page.counter("process_cpu_seconds", "The processor time that the process has taken", figures.cpu_seconds)?;
            page.gauge("process_resident_memory_bytes", "The memory that the process has", figures.resident)?;
            page.gauge("process_virtual_memory_bytes", "The addresses that the process has", figures.virtual_size)?;
            page.gauge("process_open_fds", "The files that the process has open", figures.files)?;
            page.gauge("process_threads", "The threads of the process", figures.threads)?;
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
struct Figures {
    cpu_seconds: f64,
    resident: u64,
    virtual_size: u64,
    files: usize,
    threads: i64,
}

/// Returns what the system says; nothing where it does not.
#[cfg(target_os = "linux")]
fn figures() -> Option<Figures> {
    let process = procfs::process::Process::myself().ok()?;
    let stat = process.stat().ok()?;
    let cpu_seconds = (stat.utime + stat.stime) as f64 / procfs::ticks_per_second() as f64;
    Some(Figures {
        cpu_seconds,
        resident: stat.rss.saturating_mul(procfs::page_size()),
        virtual_size: stat.vsize,
        files: process.fd_count().ok()?,
        threads: stat.num_threads,
    })
}
