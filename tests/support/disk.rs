//! Small in-memory disks that a test fills up. None outlives the process, however it ends.

use std::fs;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

/// A disk mounted on a directory, in a mount namespace of its own. Only processes that run [`inside`](Self::inside) see it, so
/// mounting needs no privileges.
pub(crate) struct Disk {
    directory: PathBuf,
    /// The process that keeps the namespace alive, until its input ends.
    holder: Child,
    input: Option<ChildStdin>,
    has_users: bool,
}

/// A script that mounts the disk, reports it, and waits for the end of its input.
const HOLD: &str = "mkdir -p \"$1\" && mount -t tmpfs -o \"size=$2,mode=0700\" tmpfs \"$1\" && echo mounted && cat";

const HELP: &str = "a disk of its own needs a mount namespace: allow users to make them (sysctl -w \
    user.max_user_namespaces=10000, and on Debian and Ubuntu kernel.unprivileged_userns_clone=1, \
    kernel.apparmor_restrict_unprivileged_userns=0; in a container, a seccomp profile that permits unshare), or run \
    the tests as root. unshare and nsenter come with: apt-get install util-linux";

impl Disk {
    /// Mounts a disk of this many KiB on a directory, which is created if it is missing.
    pub(crate) fn mount(directory: &Path, kibibytes: usize) -> Self {
        let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
        let own_users = Self::hold(&["--user", "--map-root-user", "--mount"], directory, kibibytes);
        // Root may create mount namespaces even if user namespaces are disabled.
        let as_root = || is_root.then(|| Self::hold(&["--mount"], directory, kibibytes)).flatten();
        own_users.or_else(as_root).expect(HELP)
    }

    fn hold(namespaces: &[&str], directory: &Path, kibibytes: usize) -> Option<Self> {
        let mut command = Command::new("unshare");
        command.args(namespaces).args(["sh", "-c", HOLD, "sh"]).arg(directory).arg(format!("{kibibytes}k"));
        let mut holder = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect(HELP);
        let (input, output) = (holder.stdin.take(), holder.stdout.take().unwrap());
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).unwrap();
        let disk = Self { directory: directory.to_owned(), holder, input, has_users: namespaces.contains(&"--user") };
        (line == "mounted\n").then_some(disk)
    }

    /// Returns the command, with its arguments and variables, to run in the namespace of the disk.
    pub(crate) fn inside(&self, command: &Command) -> Command {
        let mut inside = Command::new("nsenter");
        inside.arg(format!("--target={}", self.holder.id())).arg("--mount");
        if self.has_users {
            inside.args(["--user", "--preserve-credentials"]);
        }
        inside.arg("--").arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => inside.env(name, value),
                None => inside.env_remove(name),
            };
        }
        inside
    }

    /// Returns the path by which the test process can access a file on the disk. `name` is relative to its directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.holder.id()));
        root.join(self.directory.strip_prefix("/").unwrap()).join(name)
    }

    /// Fills the disk up, leaving this many KiB free.
    pub(crate) fn fill(&self, but: u64) {
        let mut filler = OpenOptions::new().create(true).append(true).open(self.path("filler")).unwrap();
        for chunk in [1 << 16, 1 << 12] {
            let full = loop {
                if let Err(error) = filler.write_all(&vec![0xff; chunk]) {
                    break error;
                }
            };
            assert_eq!(full.kind(), ErrorKind::StorageFull, "{full}");
        }
        let size = filler.metadata().unwrap().len();
        filler.set_len(size.saturating_sub(but * 1024)).unwrap();
    }

    /// Frees the space that [`fill`](Self::fill) took.
    pub(crate) fn empty(&self) {
        fs::remove_file(self.path("filler")).unwrap();
    }

    /// Returns the names of the files below a directory on the disk, at any depth.
    pub(crate) fn files(&self, name: &str) -> Vec<String> {
        fn walk(directory: &Path, files: &mut Vec<String>) {
            for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
                match entry.file_type().unwrap().is_dir() {
                    true => walk(&entry.path(), files),
                    false => files.push(entry.file_name().into_string().unwrap()),
                }
            }
        }
        let mut files = Vec::new();
        walk(&self.path(name), &mut files);
        files.retain(|file| file != "filler");
        files.sort();
        files
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(self.input.take());
        // The process ends with its input.
        let _ = self.holder.wait();
    }
}
