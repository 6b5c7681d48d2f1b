//! Metrics of the process, and of how busy the parts of the service are. They are read when Prometheus scrapes them.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use agora_database::Replica;
use agora_domain::clock::Timestamp;
use agora_http::metrics::Page;
use agora_operations::mailer::MailRecord;
use agora_operations::sweep::SweepRecord;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use rustix::process::{Resource, getrlimit};

use crate::adapters::Adapters;

/// Collects the metrics from the parts of the service.
pub(crate) struct ServiceMetrics {
    /// When the service was started.
    pub(crate) begun: Timestamp,
    pub(crate) adapters: Adapters,
    pub(crate) sweep: Arc<SweepRecord>,
    /// The counters of the mailer, if mail is configured.
    pub(crate) mail: Option<Arc<MailRecord>>,
}

impl fmt::Debug for ServiceMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceMetrics").finish_non_exhaustive()
    }
}

impl Collector for ServiceMetrics {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page::new(encoder);
        self.process(&mut page)?;
        self.database(&mut page)?;
        self.hashing(&mut page)?;
        self.checks(&mut page)?;
        page.gauge("agora_sessions_cached", "Cached sessions", self.adapters.sessions.cached_sessions())?;
        self.streams(&mut page)?;
        self.sweep(&mut page)?;
        self.mail(&mut page)?;
        self.disks(&mut page)
    }
}

impl ServiceMetrics {
    /// Metrics of this process, under the names that Prometheus' own client libraries use.
    fn process(&self, page: &mut Page<'_>) -> fmt::Result {
        let begun = self.begun.unix_seconds();
        page.gauge("process_start_time_seconds", "When the service was started, in seconds since 1970", begun)?;
        if let Some(files) = getrlimit(Resource::Nofile).current {
            page.gauge("process_max_fds", "The limit on open files", files)?;
        }
        #[cfg(target_os = "linux")]
        if let Ok(process) = procfs::process::Process::myself()
            && let (Ok(stat), Ok(files)) = (process.stat(), process.fd_count())
        {
            let cpu_seconds = (stat.utime + stat.stime) as f64 / procfs::ticks_per_second() as f64;
            let resident = stat.rss.saturating_mul(procfs::page_size());
            page.counter("process_cpu_seconds", "The CPU time of the process", cpu_seconds)?;
            page.gauge("process_resident_memory_bytes", "The resident memory of the process", resident)?;
            page.gauge("process_virtual_memory_bytes", "The virtual memory of the process", stat.vsize)?;
            page.gauge("process_open_fds", "The open files of the process", files)?;
            page.gauge("process_threads", "The threads of the process", stat.num_threads)?;
        }
        Ok(())
    }

    fn database(&self, page: &mut Page<'_>) -> fmt::Result {
        let figures = self.adapters.database.figures();
        let lanes = |figure: fn(&agora_database::Lane) -> usize| {
            figures.lanes.iter().map(move |lane| (lane.name, figure(lane))).collect::<Vec<_>>()
        };
        for (name, help, values) in [
            ("agora_database_connections", "Open connections to the database", lanes(|lane| lane.open)),
            ("agora_database_connections_max", "The limit on connections to the database", lanes(|lane| lane.size)),
            ("agora_database_calls_running", "Database calls in progress", lanes(|lane| lane.busy)),
            ("agora_database_calls_waiting", "Queued database calls", lanes(|lane| lane.waiting)),
        ] {
            page.gauges(name, help, "lane", values)?;
        }
        let age = self.adapters.replica.as_ref().and_then(Replica::age);
        let (used, help) = ("agora_database_replica_used", "Whether lists are read from a replica");
        page.gauge(used, help, u32::from(age.is_some()))?;
        let help = "The maximum age of the data that the replica shows, in seconds";
        page.gauge("agora_database_replica_age_seconds", help, age.unwrap_or_default().as_secs_f64())?;
        let Some(groups) = figures.write_groups else { return Ok(()) };
        page.counter("agora_database_write_groups", "Commits of SQLite's writer", groups.groups)?;
        page.counter("agora_database_grouped_writes", "Writes that SQLite's writer committed", groups.writes)
    }

    fn hashing(&self, page: &mut Page<'_>) -> fmt::Result {
        let figures = self.adapters.passwords.figures();
        page.gauge("agora_password_hashes_running", "Password hashes in progress", figures.running)?;
        page.gauge("agora_password_hashes_waiting", "Queued password hashes", figures.waiting)?;
        page.gauge("agora_password_hashes_waiting_max", "The limit on queued password hashes", figures.most_waiting)?;
        page.counter("agora_password_hashes", "Password hashes computed", figures.done)?;
        let help = "Password hashes refused because of a full queue or one client's share of it";
        page.counter("agora_password_hashes_refused", help, figures.refused)
    }

    fn checks(&self, page: &mut Page<'_>) -> fmt::Result {
        let figures = self.adapters.cleaner.figures();
        page.gauge("agora_image_checks_running", "Images being checked", figures.running)?;
        page.gauge("agora_image_checks_waiting", "Images queued to be checked", figures.waiting)?;
        page.gauge("agora_image_check_memory_bytes", "Estimated memory of the images being checked", figures.memory)?;
        page.gauge("agora_image_check_memory_bytes_max", "The limit on that memory", figures.most_memory)?;
        let help = "Images refused because of a full queue or one client's share of it";
        page.counter("agora_image_checks_refused", help, figures.refused)
    }

    fn streams(&self, page: &mut Page<'_>) -> fmt::Result {
        let figures = self.adapters.live.figures();
        page.gauge("agora_event_streams", "Open event streams", figures.open)?;
        page.counter("agora_events_sent", "Events passed to streams", figures.deliveries)?;
        page.counter("agora_event_resets", "Streams that missed events and got a reset", figures.resets)?;
        let ended = figures.ended.iter().map(|(reason, count)| (reason.as_str(), *count));
        page.counters("agora_event_streams_ended", "Event streams that the service ended", "reason", ended)
    }

    fn sweep(&self, page: &mut Page<'_>) -> fmt::Result {
        page.gauge(
            "agora_sweep_last_success_timestamp_seconds",
            "The last successful sweep of this process, in seconds since 1970; 0 if none",
            self.sweep.last_success_seconds(),
        )?;
        page.counter("agora_sweep_failures", "Sweeps that failed, at least in part", self.sweep.failures())?;
        page.counters("agora_sweep_deleted", "Rows and images that sweeps deleted", "kind", self.sweep.deleted())
    }

    fn mail(&self, page: &mut Page<'_>) -> fmt::Result {
        let Some(mail) = &self.mail else { return Ok(()) };
        page.counter("agora_mails_sent", "Mails that the server accepted from this node", mail.sent())?;
        page.counter("agora_mail_failures", "Attempts to send a mail that failed", mail.failed())?;
        page.counter("agora_mails_dead", "Mails that this node gave up", mail.dead())
    }

    fn disks(&self, page: &mut Page<'_>) -> fmt::Result {
        let database = self.adapters.database.file().and_then(|file| file.parent().map(PathBuf::from));
        let images = self.adapters.store.directory().map(PathBuf::from);
        let places = [("data", Some(self.adapters.data_dir.clone())), ("database", database), ("images", images)];
        let known = places.into_iter().filter_map(|(place, path)| {
            let space = rustix::fs::statvfs(&path?).ok()?;
            let bytes = |blocks: u64| blocks.saturating_mul(space.f_frsize);
            Some((place, bytes(space.f_bavail), bytes(space.f_blocks)))
        });
        let known: Vec<_> = known.collect();
        let free = known.iter().map(|(place, free, _)| (*place, *free));
        page.gauges("agora_disk_free_bytes", "The free space on the disk of a place", "place", free)?;
        let all = known.iter().map(|(place, _, all)| (*place, *all));
        page.gauges("agora_disk_size_bytes", "The size of the disk of a place", "place", all)
    }
}
