//! The rules for the structure of the workspace: which crate may depend on which, and what every crate and migration must have.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod imports;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

/// The crates, each with the crates that it depends on.
const DEPENDENCIES: [(&str, &[&str]); 13] = [
    // None: it runs the binary as a process.
    ("agora-bench", &[]),
    ("agora-domain", &[]),
    ("agora-database", &["agora-domain"]),
    ("agora-http", &["agora-domain"]),
    ("agora-mail", &["agora-domain"]),
    ("agora-media", &["agora-domain", "agora-workers"]),
    ("agora-port-contracts", &["agora-domain"]),
    ("agora-security", &["agora-domain", "agora-workers"]),
    // The adapters, for the types of their options.
    ("agora-config", &["agora-database", "agora-domain", "agora-http", "agora-mail", "agora-media"]),
    ("agora-operations", &["agora-config", "agora-database", "agora-domain", "agora-mail", "agora-media"]),
    ("agora-demo", &["agora-config", "agora-database", "agora-domain", "agora-operations", "agora-security"]),
    (
        "agora-server",
        &[
            "agora-config",
            "agora-database",
            "agora-demo",
            "agora-domain",
            "agora-http",
            "agora-mail",
            "agora-media",
            "agora-operations",
            "agora-security",
            "agora-workers",
        ],
    ),
    ("agora-workers", &["agora-domain"]),
];

/// The external crates that the domain may use: language and text, no technology. A new entry must not do input or output,
/// schedule tasks, or determine a format (as tokio, diesel, actix, serde, object_store, reqwest do).
const DOMAIN_MAY_USE: [&str; 11] = [
    "async-trait",
    "bytes",
    "email_address",
    "futures-util",
    "icu_casemap",
    "icu_normalizer",
    "icu_properties",
    // Only with the feature `mocks`, for tests.
    "mockall",
    "thiserror",
    "unicode-segmentation",
    // The type of identifiers.
    "uuid",
];

/// The technologies of single adapters: the crate of the adapter, and the external crates that no other crate may use directly.
const TECHNOLOGIES: [(&str, &[&str]); 5] = [
    ("agora-database", &["diesel", "diesel-async", "diesel_migrations", "libsqlite3-sys", "crossbeam-channel"]),
    ("agora-http", &["actix-multipart", "utoipa", "utoipa-swagger-ui"]),
    ("agora-mail", &["lettre"]),
    ("agora-media", &["object_store", "image", "png", "gif"]),
    ("agora-security", &["bcrypt", "jsonwebtoken"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn metadata() -> Metadata {
    MetadataCommand::new().current_dir(root()).no_deps().exec().unwrap()
}

/// Returns the dependencies of a crate and of its build script, without those of tests.
fn needs(package: &Package) -> BTreeSet<String> {
    let needed = package.dependencies.iter().filter(|dependency| dependency.kind != DependencyKind::Development);
    needed.map(|dependency| dependency.name.clone()).collect()
}

fn package<'a>(metadata: &'a Metadata, name: &str) -> &'a Package {
    metadata.packages.iter().find(|package| package.name.as_str() == name).unwrap()
}

#[test]
fn crates_depend_on_each_other_exactly_as_listed() {
    let metadata = metadata();
    let names: BTreeSet<_> = metadata.packages.iter().map(|package| package.name.to_string()).collect();
    let listed: BTreeSet<_> = DEPENDENCIES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names, listed, "every crate is listed");
    for (name, may_know) in DEPENDENCIES {
        let known: BTreeSet<_> = needs(package(&metadata, name)).intersection(&names).cloned().collect();
        assert_eq!(known, may_know.iter().map(|name| (*name).to_owned()).collect(), "{name}");
    }
}

#[test]
fn the_program_can_be_built_without_the_demo() {
    let metadata = metadata();
    let dependencies = &package(&metadata, "agora-server").dependencies;
    assert!(dependencies.iter().any(|dependency| dependency.name == "agora-demo" && dependency.optional));
}

#[test]
fn the_domain_uses_no_technology() {
    let metadata = metadata();
    let mut used = needs(package(&metadata, "agora-domain"));
    for allowed in DOMAIN_MAY_USE {
        assert!(used.remove(allowed), "{allowed} is no longer used: take it off the list");
    }
    assert!(used.is_empty(), "the domain may not use {used:?}");
    let mocks = package(&metadata, "agora-domain")
        .dependencies
        .iter()
        .find(|dependency| dependency.name == "mockall" && dependency.kind == DependencyKind::Normal);
    assert!(mocks.unwrap().optional, "mocks are for tests alone");
}

#[test]
fn each_technology_is_used_by_one_adapter_only() {
    for package in &metadata().packages {
        for (owner, technologies) in TECHNOLOGIES {
            if package.name.as_str() != owner {
                let used: Vec<_> = needs(package).into_iter().filter(|it| technologies.contains(&&**it)).collect();
                assert!(used.is_empty(), "{used:?} in {} may be used only by {owner}", package.name);
            }
        }
    }
}

/// Returns the lines of a section of a manifest.
fn section(manifest: &Path, name: &str) -> Vec<String> {
    let text = fs::read_to_string(manifest).unwrap();
    let lines = text.lines().map(str::trim).skip_while(|line| *line != format!("[{name}]")).skip(1);
    lines.take_while(|line| !line.starts_with('[')).map(str::to_owned).collect()
}

#[test]
fn cargo_run_in_the_workspace_runs_the_service() {
    let metadata = metadata();
    let mut programs = Vec::new();
    for package in metadata.workspace_default_packages() {
        programs.extend(package.targets.iter().filter(|target| target.is_bin()).map(|target| target.name.clone()));
    }
    assert_eq!(programs, ["agora"]);
}

/// Returns the packages that sections of this kind name.
fn packages(manifest: &Path, section_name: &str) -> BTreeSet<String> {
    let lines = section(manifest, section_name);
    let names = lines.iter().filter_map(|line| line.split_once(" = ")).map(|(name, _)| name.to_owned());
    names.collect()
}

#[test]
fn packages_with_a_reduced_optimization_level_are_optimized_in_releases() {
    let manifest = root().join("Cargo.toml");
    let (quick, released) =
        (packages(&manifest, "profile.release.package"), packages(&manifest, "profile.dist.package"));
    assert!(quick.contains("agora-database"), "{quick:?}");
    let inherited: Vec<_> = quick.difference(&released).collect();
    assert!(inherited.is_empty(), "profile.dist has them as profile.release says: {inherited:?}");
    for line in section(&manifest, "profile.dist.package") {
        assert!(!line.contains("opt-level = 0") && !line.contains("opt-level = 1"), "{line}");
    }
}

/// Checks that the root of every target of a package forbids unsafe code, whatever the manifest says.
fn assert_roots_forbid_unsafe_code(package: &Package) {
    assert!(!package.targets.is_empty(), "{} builds nothing", package.name);
    for target in &package.targets {
        let text = fs::read_to_string(&target.src_path).unwrap();
        assert!(text.lines().any(|line| line == "#![forbid(unsafe_code)]"), "{} allows unsafe code", target.src_path);
    }
}

#[test]
fn no_crate_allows_unsafe_code() {
    let forbidden = section(&root().join("Cargo.toml"), "workspace.lints.rust");
    assert!(forbidden.contains(&"unsafe_code = \"forbid\"".to_owned()), "{forbidden:?}");
    for package in &metadata().packages {
        let lints = section(package.manifest_path.as_std_path(), "lints");
        assert!(lints.contains(&"workspace = true".to_owned()), "{} has lints of its own", package.name);
        assert_roots_forbid_unsafe_code(package);
    }
}

/// The fuzz targets are a separate workspace.
#[test]
fn no_fuzz_target_allows_unsafe_code_or_lacks_seeds() {
    let directory = root().join("fuzz");
    let metadata = MetadataCommand::new().current_dir(&directory).no_deps().exec().unwrap();
    let package = package(&metadata, "agora-fuzz");
    let lints = section(package.manifest_path.as_std_path(), "lints.rust");
    assert!(lints.contains(&"unsafe_code = \"forbid\"".to_owned()), "{lints:?}");
    assert_roots_forbid_unsafe_code(package);

    let table = fs::read_to_string(directory.join("src/lib.rs")).unwrap();
    let mut targets: Vec<_> =
        table.lines().filter_map(|line| Some(line.trim().strip_prefix("(\"")?.split_once('"')?.0)).collect();
    targets.sort_unstable();
    assert_eq!(targets, names(&directory.join("seeds")));
    for target in targets {
        assert!(!names(&directory.join("seeds").join(target)).is_empty(), "{target} has no seeds");
    }
}

/// Returns the names in a directory, sorted.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn every_migration_can_be_reverted_and_exists_for_both_databases() {
    let root = root().join("migrations");
    let mut versions = BTreeSet::new();
    for database in names(&root) {
        let directory = root.join(&database);
        let migrations = names(&directory);
        assert!(!migrations.is_empty(), "{database} has no migrations");
        for migration in &migrations {
            for script in ["up.sql", "down.sql"] {
                let text = fs::read_to_string(directory.join(migration).join(script)).unwrap_or_default();
                assert!(!text.trim().is_empty(), "{database}/{migration}/{script} is missing or empty");
            }
        }
        versions.insert(migrations);
    }
    assert_eq!(versions.len(), 1, "the versions differ: {versions:?}");
}
