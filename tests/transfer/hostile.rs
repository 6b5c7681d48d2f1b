//! `agora restore` of forged archives: their checksum is right, but no backup has such content.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use sha2::{Digest, Sha256};
use tar::EntryType;

use crate::place::{Deployment, files};
use crate::process::Home;

/// A file of an archive.
#[derive(Clone)]
pub(crate) struct File {
    name: String,
    bytes: Vec<u8>,
    kind: EntryType,
    /// The size that it claims to have.
    size: u64,
}

impl File {
    pub(crate) fn new(name: &str, bytes: &[u8]) -> Self {
        let size = bytes.len().try_into().unwrap();
        Self { name: name.to_owned(), bytes: bytes.to_owned(), kind: EntryType::Regular, size }
    }
}

/// Makes a backup of a small network; returns its files except the checksum, and the home it is in.
pub(crate) async fn saved() -> (Home, Vec<File>) {
    let home = Home::new();
    let place = Deployment::embedded(&home, "origin");
    place.settle(&home).await;
    place.run(&home, &["backup", "backup.tar"]).expect_success();
    let mut archive = tar::Archive::new(fs::File::open(home.path("backup.tar")).unwrap());
    let mut saved = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
        saved.push(File::new(&entry.path().unwrap().display().to_string(), &bytes));
    }
    assert_eq!(saved.pop().unwrap().name, "sha256");
    (home, saved)
}

/// Writes an archive of these files with the right checksum.
pub(crate) fn forge(home: &Home, forged: &[File]) -> PathBuf {
    let mut tar = Vec::new();
    let append = |tar: &mut Vec<u8>, file: &File| {
        let mut header = tar::Header::new_gnu();
        // Not by the library's function, which refuses such names.
        header.as_mut_bytes()[..file.name.len()].copy_from_slice(file.name.as_bytes());
        header.set_size(file.size);
        header.set_mode(0o600);
        if file.kind != EntryType::Regular {
            header.set_entry_type(file.kind);
        }
        header.set_cksum();
        tar.extend(header.as_bytes());
        tar.extend(&file.bytes);
        tar.resize(tar.len().next_multiple_of(512), 0);
    };
    for file in forged {
        append(&mut tar, file);
    }
    let sum: String = Sha256::digest(&tar).iter().map(|byte| format!("{byte:02x}")).collect();
    append(&mut tar, &File::new("sha256", sum.as_bytes()));
    tar.resize(tar.len() + 1024, 0);
    let path = home.path("forged.tar");
    fs::write(&path, tar).unwrap();
    path
}

/// Adds an image as if its post had been deleted after its files were saved; returns the files, and the key of the image.
pub(crate) fn with_unnamed_image(saved: &[File]) -> (Vec<File>, String) {
    let unnamed = saved.iter().position(|it| it.name == "unnamed-images").unwrap();
    let key = format!("{}.png", "0123456789abcdef".repeat(2));
    let mut changed = saved.to_owned();
    changed[unnamed] = File::new("unnamed-images", format!("{key}\n").as_bytes());
    for file in [format!("images/{key}.thumb.jpg"), format!("images/{key}")] {
        changed.insert(unnamed, File::new(&file, b"pixels"));
    }
    (changed, key)
}

/// A change to the files of an archive.
type Change<'a> = &'a dyn Fn(&mut Vec<File>);

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_archive_is_refused_and_leaves_the_target_empty() {
    let (_origin, saved) = saved().await;
    let at = |saved: &[File], beginning: &str| saved.iter().position(|it| it.name.starts_with(beginning)).unwrap();
    let replace = |saved: &mut Vec<File>, beginning: &str, from: &str, to: &str| {
        let position = at(saved, beginning);
        let file = &mut saved[position];
        let text = String::from_utf8(file.bytes.clone()).unwrap();
        assert!(text.contains(from), "{text}");
        *file = File::new(&file.name, text.replacen(from, to, 1).as_bytes());
    };
    let rename = |saved: &mut Vec<File>, beginning: &str, name: &str| {
        let position = at(saved, beginning);
        saved[position].name = name.to_owned();
    };
    let image = saved[at(&saved, "images/")].name.clone();
    let changes: [(&str, &str, Change<'_>); 20] = [
        ("a path that leads out", "unexpected entry", &|it| rename(it, "images/", "../../escaped")),
        ("an absolute path", "unexpected entry", &|it| rename(it, "images/", "/escaped")),
        ("an image of another name", "unexpected entry", &|it| rename(it, "images/", "images/../../escaped.png")),
        ("a terminal's orders", r"\u{1b}", &|it| rename(it, "images/", "\u{1b}[2Jescaped")),
        ("another table", "unexpected entry", &|it| rename(it, "rows/users", "rows/secrets-000001.jsonl")),
        ("a link", "unexpected entry", &|it| it[2].kind = EntryType::Symlink),
        ("a file of holes", "unexpected entry", &|it| it[2].kind = EntryType::GNUSparse),
        ("a name in an entry of its own", "unexpected entry", &|it| it[2].kind = EntryType::GNULongName),
        ("an endless image", "unexpected entry", &|it| it[2].size = 1 << 31),
        ("endless rows", "unexpected entry", &|it| {
            let rows = at(it, "rows/");
            it[rows].size = 1 << 28;
        }),
        ("no summary", "no summary", &|it| drop(it.pop())),
        ("an image fewer", "lacks some of its images", &|it| it.retain(|file| file.name != image)),
        ("a table fewer", "do not match its summary", &|it| it.retain(|file| !file.name.starts_with("rows/likes"))),
        ("another count", "do not match its summary", &|it| {
            replace(it, "rows/posts", r#""like_count":1"#, r#""like_count":2"#);
        }),
        ("a row twice", "already has such a row", &|it| {
            let rows = it[at(it, "rows/follows")].clone();
            it.insert(at(it, "rows/follows"), rows);
        }),
        ("a row without what it names", "FOREIGN KEY", &|it| it.retain(|file| !file.name.starts_with("rows/users"))),
        ("another column", "unknown field", &|it| replace(it, "rows/users", r#""email":"#, r#""mail":"#)),
        ("a secret that is too short", "secret in the archive is too short", &|it| {
            it[1] = File::new("jwt-secret", b"s")
        }),
        ("another format", "has format 2", &|it| replace(it, "agora-backup", r#""format": 1"#, r#""format": 2"#)),
        ("another schema", "restore it with that version", &|it| {
            replace(it, "agora-backup", r#""schema": "2"#, r#""schema": "3"#)
        }),
    ];
    for (what, words, change) in changes {
        let mut forged = saved.clone();
        change(&mut forged);
        let home = Home::new();
        let file = forge(&home, &forged);
        let place = Deployment::embedded(&home, "place");
        let refused = place.run(&home, &["restore", file.to_str().unwrap()]).expect_refusal(&[words]);
        assert!(!refused.stderr.contains('\u{1b}'), "{what}: {refused:?}");
        assert!(!home.data_dir().join("jwt-secret").exists(), "{what}: the secret is kept");
        assert!(!files(&home.path(".")).iter().any(|file| file.contains("escaped")), "{what}");
        place.expect_empty(&home).await;
    }
    // Without a change, the reassembled archive can be restored.
    let home = Home::new();
    let file = forge(&home, &saved);
    Deployment::embedded(&home, "place").run(&home, &["restore", file.to_str().unwrap()]).expect_success();
    let summary: Value = serde_json::from_slice(&saved.last().unwrap().bytes).unwrap();
    assert_eq!(summary["images"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_deleted_during_the_backup_is_not_left_behind_by_a_restore() {
    let (_origin, saved) = saved().await;
    let at = |beginning: &str| saved.iter().position(|it| it.name.starts_with(beginning)).unwrap();
    let is_image = |it: &File| it.name.starts_with("images/") && it.name.ends_with(".png");
    let (image, unnamed) = (saved.iter().position(is_image).unwrap(), at("unnamed-images"));
    assert!(image < unnamed && unnamed < at("rows/") && saved[unnamed].bytes.is_empty());
    let restored = |files: &[File]| {
        let home = Home::new();
        let place = Deployment::embedded(&home, "place");
        let file = forge(&home, files);
        (place.run(&home, &["restore", file.to_str().unwrap()]), place, home)
    };
    let (with_another, key) = with_unnamed_image(&saved);
    let (output, place, home) = restored(&with_another);
    assert!(output.expect_success().stdout.contains("1 were deleted again"));
    let kept = files(&place.directory);
    let name = saved[image].name.strip_prefix("images/").unwrap();
    let thumbnail = format!("{name}.thumb.jpg");
    assert!(kept.len() == 2 && kept.iter().all(|path| path.ends_with(name) || path.ends_with(&thumbnail)), "{kept:?}");
    let checked = place.run(&home, &["media", "check"]).expect_success().stdout;
    assert!(checked.contains("Orphaned images: 0"), "{checked}");

    // An image that a row references is not deleted even if the archive lists it as unreferenced.
    let mut lying = with_another.clone();
    let both = format!("{key}\n{name}\n");
    lying[unnamed + 2] = File::new("unnamed-images", both.as_bytes());
    restored(&lying).0.expect_refusal(&["lacks some of its images"]);
    lying[unnamed + 2] = File::new("unnamed-images", b"../../agora.db");
    restored(&lying).0.expect_refusal(&["has an invalid image name"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_and_a_compressed_archive_are_refused_with_a_reason() {
    let home = Home::new();
    let place = Deployment::embedded(&home, "place");
    fs::create_dir(home.path("directory")).unwrap();
    place.run(&home, &["restore", "directory"]).expect_refusal(&["directory is not a file"]);
    let mut compressed = vec![0; 4096];
    compressed[..2].copy_from_slice(&[0x1f, 0x8b]);
    fs::write(home.path("backup.tar.gz"), compressed).unwrap();
    place.run(&home, &["restore", "backup.tar.gz"]).expect_refusal(&["gunzip it first"]);
}
