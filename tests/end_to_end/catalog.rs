//! Import and export of the catalog, while a service runs.

use std::fs;

use serde_json::{Value, json};

use crate::client::{Client, list, text};
use crate::process::{Finished, Home, run};
use crate::world::World;

/// Returns a home with an empty database.
fn home() -> Home {
    let home = Home::new();
    run(home.agora(&["migrate", "run"]), "").expect_success();
    home
}

fn import(home: &Home, format: &str, file: &str) -> Finished {
    run(home.agora(&["products", "import", "-", "--format", format]), file)
}

fn export(home: &Home, format: &str) -> String {
    run(home.agora(&["products", "export", "--format", format]), "").expect_success().stdout
}

/// Returns the catalog as clients see it, without ids and times.
async fn catalog(api: &Client) -> Vec<Value> {
    let answer = api.fetch("/api/products/findAll").await.expect(200).json();
    let mut products = list(&answer["products"]).to_vec();
    for product in &mut products {
        for field in ["id", "createdAt", "updatedAt"] {
            product.as_object_mut().unwrap().remove(field).unwrap();
        }
    }
    products
}

/// Returns the SKU and the time of the last change of each product.
async fn versions(api: &Client) -> Vec<(String, String)> {
    let answer = api.fetch("/api/products/findAll").await.expect(200).json();
    list(&answer["products"]).iter().map(|product| (text(&product["sku"]), text(&product["updatedAt"]))).collect()
}

const TWO: &str = r#"{"sku":"T-1","name":"T-shirt","price":19.99,"category":"Clothes","variants":[{"color":"red","size":"M","stock":3}],"images":["https://shop.example.org/t.png"]}
{"sku":"Mug","name":"Mug, \"big\"","description":"For\ntea","price":5,"category":"Kitchen","stock":7}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn an_import_creates_and_updates_products_while_the_service_runs() {
    let home = Home::new();
    let service = home.start_with_root();
    let output = import(&home, "jsonl", TWO).expect_success().stdout;
    assert_eq!(output, "Imported 2 products: 2 created, 0 updated, 0 unchanged.\n");
    let shirt = json!({
        "sku": "T-1", "name": "T-shirt", "description": "", "price": 19.99, "category": "Clothes", "stock": 3,
        "variants": [{ "color": "red", "size": "M", "stock": 3 }], "images": ["https://shop.example.org/t.png"],
    });
    let mug = json!({
        "sku": "Mug", "name": "Mug, \"big\"", "description": "For\ntea", "price": 5.00, "category": "Kitchen",
        "stock": 7, "variants": [], "images": [],
    });
    assert_eq!(catalog(&service.api).await, [shirt.clone(), mug.clone()]);
    let before = versions(&service.api).await;

    // Only given fields change; the SKU matches in any letter case; a product without a difference keeps its time of change.
    let output = import(&home, "csv", "price,sku,stock\n6.5,mUG,\n19.99,T-1,3\n1,New,0\n")
        .expect_refusal(&["row 3 (line 4, SKU \"New\"): "]);
    for missing in ["Name is required", "Category is required"] {
        assert!(output.stderr.contains(missing), "{output:?}");
    }
    assert_eq!(versions(&service.api).await, before);
    let output = import(&home, "csv", "price,sku,stock\n6.5,Mug,\n19.99,T-1,3\n").expect_success().stdout;
    assert_eq!(output, "Imported 2 products: 0 created, 1 updated, 1 unchanged.\n");
    let mut cheaper = mug;
    cheaper["price"] = json!(6.5);
    assert_eq!(catalog(&service.api).await, [shirt, cheaper]);
    let after = versions(&service.api).await;
    assert!(after[0] == before[0] && after[1].1 > before[1].1, "{before:?} {after:?}");
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_reports_the_changes_and_makes_none() {
    let home = home();
    import(&home, "jsonl", TWO).expect_success();
    let before = export(&home, "jsonl");
    let file = home.path("catalog.json");
    fs::write(&file, r#"[{"sku":"T-1","name":"Shirt"},{"sku":"Mug"}]"#).unwrap();
    let dry = run(home.agora(&["products", "import", "--dry-run", file.to_str().unwrap()]), "").expect_success();
    assert_eq!(dry.stdout, "A dry run of 2 products: 0 created, 1 updated, 1 unchanged. Nothing was changed.\n");
    assert_eq!(export(&home, "jsonl"), before);
    run(home.agora(&["products", "import", file.to_str().unwrap()]), "").expect_success();
    assert_ne!(export(&home, "jsonl"), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_bad_row_nothing_is_changed_and_every_bad_row_is_reported() {
    let home = home();
    import(&home, "jsonl", TWO).expect_success();
    let before = export(&home, "jsonl");
    let good = |n: usize| format!(r#"{{"sku":"N-{n}","name":"New","price":1,"category":"C","stock":1}}"#);
    let mut rows: Vec<String> = (1..=1_000).map(good).collect();
    rows[998] = r#"{"sku":"T-1","stock":4}"#.to_owned();
    rows[499] = good(7).to_lowercase();
    let refused = import(&home, "jsonl", &rows.join("\n")).expect_refusal(&[
        "2 bad rows; nothing was changed",
        "row 500 (line 500, SKU \"n-7\"): sku: SKU n-7 is in row 7 (line 7) already",
        "row 999 (line 999, SKU \"T-1\"): stock: Stock must be the sum of the variants' stock, 3",
    ]);
    assert!(!refused.stderr.contains("more"), "{refused:?}");
    assert_eq!(export(&home, "jsonl"), before);

    // Rows on one line are distinguished by number, and rows with invalid other fields are reported with their SKU.
    import(&home, "json", r#"[{"sku":"T-1"},{"sku":"AB-3","price":-1,"name":"x"},{"sku":"AB-4","colour":1},[]]"#)
        .expect_refusal(&[
            "row 2 (line 1, SKU \"AB-3\"): ",
            "row 3 (line 1, SKU \"AB-4\"): unknown field `colour`",
            "row 4 (line 1): it is not a JSON object",
        ]);

    // Control characters, which could be escape sequences for the terminal, are replaced.
    let odd =
        import(&home, "jsonl", "{\"sku\":\"\\u001b[2J\"}\n{\"sku\":\"\\u001b[2J\"}").expect_refusal(&["\u{fffd}[2J"]);
    assert!(!odd.stderr.contains('\u{1b}'), "{odd:?}");

    let many: String = (0..1_000).map(|n| format!("{{\"sku\":\"S-{n}\"}}\n")).collect();
    let refused = import(&home, "jsonl", &many).expect_refusal(&[
        "1000 bad rows",
        "row 1 (line 1, SKU \"S-0\"): ",
        "row 20 (line 20, ",
        "980 more",
    ]);
    assert!(!refused.stderr.contains("row 21 ("), "{refused:?}");
    assert_eq!(export(&home, "jsonl"), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn importing_an_export_changes_nothing_and_recreates_the_catalog_in_another_database() {
    let home = Home::new();
    let service = home.start_with_root();
    World::make(&service.api).await;
    let odd = r#"{"sku":"'; DROP TABLE x; --","name":"=1+1,\t\"q\" 'é' 👍","description":"a\r\nb\nc,\"d\"\\","price":0.05,"category":"ß","stock":2147483647,"images":["https://e.org/?a=%20,b\"c"]}"#;
    import(&home, "jsonl", &format!("{odd}\n{TWO}").replace("T-1", "T-2")).expect_success();
    let (seen, before) = (catalog(&service.api).await, versions(&service.api).await);
    assert_eq!(seen.len(), 4);
    for format in ["json", "jsonl", "csv"] {
        let file = home.path(&format!("export.{format}"));
        let path = file.to_str().unwrap();
        let output = run(home.agora(&["products", "export", path]), "").expect_success().stdout;
        assert_eq!(output, format!("Exported 4 products to {path}.\n"));
        assert_eq!(fs::read_to_string(&file).unwrap(), export(&home, format), "the same as on standard output");
        let output = run(home.agora(&["products", "import", path]), "").expect_success().stdout;
        assert_eq!(output, "Imported 4 products: 0 created, 0 updated, 4 unchanged.\n", "{format}");
        assert_eq!(versions(&service.api).await, before, "{format}");
        run(home.agora(&["products", "export", path]), "").expect_refusal(&[path, "already exists"]);

        let elsewhere = self::home();
        run(elsewhere.agora(&["products", "import", path]), "").expect_success();
        let copy = elsewhere.start();
        assert_eq!(catalog(&copy.api).await, seen, "{format}");
        copy.stop();
    }
    service.stop();
}

#[test]
fn one_product_is_reported_in_the_singular_and_a_dangling_symlink_is_not_overwritten() {
    let home = home();
    let one = TWO.lines().next().unwrap();
    let dry = run(home.agora(&["products", "import", "-", "--format", "jsonl", "--dry-run"]), one).expect_success();
    assert!(dry.stdout.starts_with("A dry run of 1 product: "), "{dry:?}");
    let output = import(&home, "jsonl", one).expect_success().stdout;
    assert_eq!(output, "Imported 1 product: 1 created, 0 updated, 0 unchanged.\n");
    let export = || run(home.agora(&["products", "export", "out.csv"]), "");
    std::os::unix::fs::symlink("nowhere", home.path("out.csv")).unwrap();
    let refused = export().expect_refusal(&[]);
    assert_eq!(refused.stderr, "agora: out.csv already exists\n");
    fs::remove_file(home.path("out.csv")).unwrap();
    assert_eq!(export().expect_success().stdout, "Exported 1 product to out.csv.\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_message_about_what_cannot_be_read_names_it() {
    let home = home();
    let refused = |file: &str, words: &[&str]| {
        let file = home.path(file);
        run(home.agora(&["products", "import", file.to_str().unwrap()]), "").expect_refusal(words);
    };
    refused("missing.csv", &["missing.csv", "No such file"]);
    fs::create_dir(home.path("directory.json")).unwrap();
    refused("directory.json", &["directory.json is a directory"]);
    import(&home, "csv", "sku,colour\nA,red\n").expect_refusal(&["unknown columns \"colour\""]);
    import(&home, "json", "").expect_refusal(&["the file is empty"]);
    let elsewhere = Home::new();
    let mut command = elsewhere.agora(&["products", "import", "-", "--format", "csv"]);
    command.env("AGORA_DATABASE_URL", format!("sqlite:{}", elsewhere.path("none.db").display()));
    run(command, "sku\nA\n").expect_refusal(&["the database", "none.db does not exist"]);
}
