//! The import of a hundred thousand products.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use crate::large::measured;
use crate::place::Deployment;
use crate::process::{Home, Process, run};

const MIB: u64 = 1 << 20;

/// Returns the line of a product, as JSON and as CSV.
fn lines(n: usize) -> [String; 2] {
    let (description, images) = ("Words and more words about it. ".repeat(n % 8), n % 3);
    let image = |n: usize| format!("https://shop.example.org/{n}.png");
    let urls: Vec<String> = (0..images).map(image).collect();
    let urls = serde_json::to_string(&urls).unwrap();
    let variants = format!(r#"[{{"color":"red","size":"M","stock":{}}}]"#, n % 7);
    let stock = n % 7;
    let json = format!(
        r#"{{"sku":"SKU-{n:06}","name":"Product {n}","description":"{description}","price":{n}.5,"category":"C{}","stock":{stock},"variants":{variants},"images":{urls}}}"#,
        n % 50
    );
    let quoted = |json: &str| format!("\"{}\"", json.replace('"', "\"\""));
    let (variants, urls) = (quoted(&variants), quoted(&urls));
    let csv = format!("SKU-{n:06},Product {n},{description},{n}.5,C{},{stock},{variants},{urls}", n % 50);
    [json, csv]
}

/// Writes files with that many products, as JSON lines and as CSV; returns their paths.
fn files(home: &Home, name: &str, count: usize) -> [String; 2] {
    let mut texts = [String::new(), "sku,name,description,price,category,stock,variants,images\n".to_owned()];
    for n in 0..count {
        for (text, line) in texts.iter_mut().zip(lines(n)) {
            writeln!(text, "{line}").unwrap();
        }
    }
    let mut endings = ["jsonl", "csv"].into_iter();
    texts.map(|text| {
        let file = home.path(&format!("{name}.{}", endings.next().unwrap()));
        fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    })
}

/// Returns a deployment with a new database of each kind.
fn places(home: &Home) -> [Deployment; 2] {
    let places = [Deployment::embedded(home, "embedded"), Deployment::scaled(home, "scaled")];
    for place in &places {
        run(place.command(home, &["migrate", "run"]), "").expect_success();
    }
    places
}

fn export(home: &Home, place: &Deployment) -> String {
    run(place.command(home, &["products", "export"]), "").expect_success().stdout
}

#[test]
fn with_a_bad_row_after_a_hundred_thousand_good_ones_nothing_is_imported() {
    let home = Home::new();
    let [file, _] = files(&home, "catalog", 100_000);
    let text = fs::read_to_string(&file).unwrap();
    let (good, rest) = text.split_at(text.rfind("{\"sku\":\"SKU-099998\"").unwrap());
    fs::write(&file, format!("{good}{}", rest.replacen("SKU-099998\",", "SKU-099998\",\"weight\":1,", 1))).unwrap();
    for place in places(&home) {
        let (refused, memory) = measured(place.command(&home, &["products", "import", &file]));
        refused.expect_refusal(&[
            "1 bad row; nothing was changed",
            "row 99999 (line 99999, SKU \"SKU-099998\"): unknown field `weight`",
        ]);
        assert!(memory < 200 * MIB, "{memory} bytes");
        assert_eq!(export(&home, &place), "");
    }
}

#[test]
fn many_products_are_created_and_updated_in_constant_memory() {
    const MANY: usize = 10_000;
    let home = Home::new();
    let few = files(&home, "few", 1_000);
    let many = files(&home, "many", MANY);
    for (place, n) in places(&home).into_iter().zip([0, 1]) {
        let import = |file: &str| place.command(&home, &["products", "import", file]);
        let succeeded = |command: Command| {
            let (finished, memory) = measured(command);
            (finished.expect_success().stdout, memory)
        };
        let (_, memory_for_few) = succeeded(import(&few[n]));
        let (output, memory) = succeeded(import(&many[n]));
        assert_eq!(output, "Imported 10000 products: 9000 created, 0 updated, 1000 unchanged.\n");
        // Memory may grow by the SKU of each row, which is remembered.
        assert!(memory < memory_for_few + 24 * MIB, "{memory} bytes, and {memory_for_few} for a few products");
        // The same products in the other format.
        let (output, _) = succeeded(import(&many[1 - n]));
        assert_eq!(output, "Imported 10000 products: 0 created, 0 updated, 10000 unchanged.\n");

        let (_, memory) = succeeded(place.command(&home, &["products", "export", &format!("{n}.csv")]));
        assert!(memory < memory_for_few + 24 * MIB, "{memory} bytes, and {memory_for_few} for a few products");
        let prices: String = (0..MANY).map(|n| format!("{{\"sku\":\"sku-{n:06}\",\"price\":1}}\n")).collect();
        fs::write(home.path("prices.jsonl"), prices).unwrap();
        let (output, _) = succeeded(import("prices.jsonl"));
        assert_eq!(output, "Imported 10000 products: 0 created, 10000 updated, 0 unchanged.\n");
    }
    // The exports of both databases are the same.
    assert!(fs::read(home.path("0.csv")).unwrap() == fs::read(home.path("1.csv")).unwrap(), "the exports differ");
}

#[test]
fn an_import_that_is_interrupted_while_it_writes_changes_nothing() {
    let home = Home::new();
    let [file, _] = files(&home, "catalog", 20_000);
    for place in places(&home) {
        for signal in ["KILL", "TERM"] {
            let mut command = place.command(&home, &["products", "import", &file]);
            command.env("AGORA_LOG", "info");
            let mut process = Process::spawn(command, "");
            process.error_line("write (KiB) done=");
            process.signal(signal);
            let ended = process.finish();
            assert_ne!(ended.code, Some(0), "{ended:?}");
            assert_eq!(export(&home, &place), "", "{signal}");
        }
    }
}
