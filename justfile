# Everyday commands. Each is what it says, so that just itself is not needed.

# Serve, with data in ./data
run:
    cargo run --release

# Every test
test:
    scripts/test

# What CI checks besides the tests
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --locked -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
    cargo deny --offline check bans licenses sources

# The hot path beside a bare handler, as a ratio (needs wrk)
measure:
    scripts/measure
