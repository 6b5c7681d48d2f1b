# Everyday commands. Each is what it says, so that just itself is not needed.

# Serve, with data in ./data
run:
    cargo run --release

# Before each commit: form, lints, and the tests that take little time
quick:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --locked -- -D warnings
    cargo test --workspace --lib --locked
    cargo test --workspace --test architecture --test http --locked

# Every test
test:
    scripts/test

# The program as it is released, and its checksum
release *ARGUMENTS:
    scripts/release {{ARGUMENTS}}

# Form, lints, documentation and dependencies, as CI checks them
check:
    .ci/run checks

# Known weaknesses of dependencies: fetches the database of RustSec from GitHub
advisories:
    cargo deny fetch db
    cargo deny --offline check advisories
    cargo deny --offline --manifest-path fuzz/Cargo.toml check advisories

# Everything that parses foreign bytes, with made-up ones; `just fuzz --help` lists what else there is
fuzz *ARGUMENTS:
    scripts/fuzz {{ARGUMENTS}}

# Renew docs/openapi.json and examples/http/agora.http
openapi:
    AGORA_RENEW_OPENAPI=1 cargo test --package agora-http --test openapi

# Renew web/dist, the pages that come with the service
web:
    scripts/web

# Renew docs/screenshots, pictures of those pages
screenshots:
    scripts/screenshots

# Renew the tables of docs/configuration.md
settings:
    AGORA_RENEW_SETTINGS=1 cargo test --package agora-config --test document

# The hot paths on both databases, beside what limits them; `just bench --help` lists what else there is
bench *ARGUMENTS:
    scripts/bench {{ARGUMENTS}}

# What the worst case of each endpoint costs others
fairness *ARGUMENTS:
    scripts/fairness {{ARGUMENTS}}

# Nodes on a PostgreSQL cluster that fails over by itself, while parts of it fail; as root
cluster *ARGUMENTS:
    scripts/cluster {{ARGUMENTS}}

# The small parts: tokens, cursors, rendering
micro:
    cargo bench --package agora-security --bench tokens
    cargo bench --package agora-http --features bench --bench rendering
