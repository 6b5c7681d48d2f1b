//! The time from the start of the service to its first response, and its memory when idle.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::Result;

use crate::options::Options;
use crate::report::Report;
use crate::service::{SeededDatabase, Size};
use crate::supervisor::Supervisor;
use crate::table::{Cell, Table, median};
use crate::usage;

/// The number of starts.
const STARTS: usize = 10;

/// The time after which the service is considered idle.
const IDLE_AFTER: Duration = Duration::from_secs(2);

const SIZE: Size = Size { posts: 1000, users: 100 };

/// Starts the service repeatedly on an existing database.
pub(crate) fn run(supervisor: &Arc<Supervisor>, options: &Options, report: &mut Report) -> Result<()> {
    let columns = ["database", "first answer, ms", "slowest, ms", "idle MiB", "most MiB"];
    let mut table = Table::new("Start", &columns);
    for kind in options.kinds() {
        let place = SeededDatabase::seeded(supervisor, options, kind, SIZE, 4)?;
        let (mut times, mut memory) = (Vec::new(), Vec::new());
        for _ in 0..STARTS {
            let service = place.serve()?;
            times.push(service.started_in.as_secs_f64() * 1e3);
            thread::sleep(IDLE_AFTER);
            memory.push(usage::resident(service.id())? as f64 / f64::from(1 << 20));
        }
        let most = |values: &[f64]| values.iter().copied().max_by(f64::total_cmp);
        let (slowest, largest) = (most(&times), most(&memory));
        let mut row: Vec<Cell> = vec![kind.name().into()];
        row.extend([median(times), slowest, median(memory), largest].map(Cell::from));
        table.row(row);
    }
    table.note(format!("{STARTS} starts; from exec to the first answer with status 200; memory 2 s later"));
    report.add(table)
}
