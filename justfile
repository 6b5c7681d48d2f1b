# Everyday commands. Each recipe is a plain shell command, so you can also run it without just.

# Run the service with data in ./data
run:
    cargo run --release

# Run before each commit: format, lints and the fast tests
quick:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --locked -- -D warnings
    cargo test --workspace --lib --locked
    cargo test --workspace --test architecture --test http --locked

# Run all tests
test:
    scripts/test

# Build the release binary and print its checksum
release *ARGUMENTS:
    scripts/release {{ARGUMENTS}}

# Check format, lints, documentation and dependencies, as CI does
check:
    .ci/run checks

# Check dependencies for known vulnerabilities; fetches the RustSec database from GitHub
advisories:
    cargo deny fetch db
    cargo deny --offline check advisories
    cargo deny --offline --manifest-path fuzz/Cargo.toml check advisories

# Fuzz every parser of untrusted bytes; `just fuzz --help` lists the options
fuzz *ARGUMENTS:
    scripts/fuzz {{ARGUMENTS}}

# Renew docs/openapi.json and examples/http/agora.http
openapi:
    AGORA_RENEW_OPENAPI=1 cargo test --package agora-http --test openapi

# Renew web/dist, the web pages of the service
web:
    scripts/web

# Renew docs/screenshots, the screenshots of those pages
screenshots:
    scripts/screenshots

# Renew the tables of docs/configuration.md
settings:
    AGORA_RENEW_SETTINGS=1 cargo test --package agora-config --test document

# Benchmark the hot paths on both databases against their upper limits; `just bench --help` lists the other parts
bench *ARGUMENTS:
    scripts/bench {{ARGUMENTS}}

# Measure how much the worst case of each endpoint slows down other clients
fairness *ARGUMENTS:
    scripts/fairness {{ARGUMENTS}}

# Run nodes on a PostgreSQL cluster with automatic failover while parts of it fail; needs root
cluster *ARGUMENTS:
    scripts/cluster {{ARGUMENTS}}

# Run the micro-benchmarks: tokens, cursors, rendering
micro:
    cargo bench --package agora-security --bench tokens
    cargo bench --package agora-http --features bench --bench rendering
