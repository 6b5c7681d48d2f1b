//! `/api/products`: the catalog.

use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};
use url::Url;

use crate::support::{Response, Server, User};

const PRODUCTS: &str = "/api/products";
const FIND_ALL: &str = "/api/products/findAll";
const UNKNOWN: &str = "018f0000-0000-7000-8000-000000000000";

fn path_of(product: &Value) -> String {
    format!("{PRODUCTS}/{}", product["id"].as_str().unwrap())
}

/// Returns the fields of an ordinary product, overridden with these. A field that is null is left out.
fn product(fields: &Value) -> Value {
    let mut body = json!({ "sku": "MUG-1", "name": "Mug", "price": 19.9, "category": "Kitchen", "stock": 3 });
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    body.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    body
}

async fn create(server: &Server, admin: &User, fields: Value) -> Response {
    server.call_json(admin, Method::POST, PRODUCTS, product(&fields)).await
}

/// Creates a product whose price is this JSON literal.
async fn create_priced(server: &Server, admin: &User, sku: &str, literal: &str) -> Response {
    let body = format!(r#"{{"sku":"{sku}","name":"Mug","category":"Kitchen","stock":3,"price":{literal}}}"#);
    let request = server.request(Method::POST, PRODUCTS).bearer_auth(&admin.token);
    server.send(request.header(CONTENT_TYPE, "application/json").body(body)).await
}

/// Returns the names of the products in a response.
fn names(answer: &Response) -> Vec<String> {
    let products = answer.json()["products"].as_array().expect("products").clone();
    products.iter().map(|product| product["name"].as_str().unwrap().to_owned()).collect()
}

/// Returns the prices in a response as JSON literals.
fn price_literals(answer: &Response) -> Vec<&str> {
    let body = std::str::from_utf8(&answer.body).unwrap();
    body.split("\"price\":").skip(1).map(|rest| rest.split([',', '}']).next().unwrap()).collect()
}

fn keys(object: &Value) -> Vec<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_catalog_has_its_own_message() {
    let server = Server::start().await;
    let request = server.request(Method::GET, FIND_ALL).header(CONTENT_TYPE, "application/json");
    let answer = server.send(request).await.expect(200);
    assert_eq!(answer.json(), json!({ "message": "No products found", "products": [] }));
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_may_list_whole_products_oldest_first() {
    let server = Server::start().await;
    let root = server.root().await;
    let variants = json!([{ "color": "red", "size": "S", "stock": 1 }, { "color": "blue", "size": "XL", "stock": 4 }]);
    let images = json!(["https://img.example.org/b.png", "http://img.example.org/a.png?w=1"]);
    let shirt = json!({
        "sku": "Shirt-1", "name": " Shirt ", "description": " Of linen.\nWhite. ", "price": 35, "category": "Clothes",
        "stock": 5, "variants": variants, "images": images,
    });
    server.product(&root, shirt).await;
    server.product(&root, json!({})).await;
    server.product(&root, json!({ "sku": "A-1", "name": "Apron" })).await;

    let answer = server.fetch(FIND_ALL).await.expect(200);
    assert_eq!(answer.json()["message"], "Products retrieved successfully");
    assert_eq!(keys(&answer.json()), ["message", "products"]);
    assert_eq!(names(&answer), ["Shirt", "Mug", "Apron"]);
    let products = answer.json()["products"].clone();
    for (field, expected) in [
        ("sku", json!("Shirt-1")),
        ("description", json!("Of linen.\nWhite.")),
        ("price", json!(35.0)),
        ("category", json!("Clothes")),
        ("stock", json!(5)),
        ("variants", variants),
        ("images", images),
    ] {
        assert_eq!(products[0][field], expected, "{field}");
    }
    // Fields that were not given are empty rather than absent.
    let mug = &products[1];
    assert_eq!((&mug["description"], &mug["variants"], &mug["images"]), (&json!(""), &json!([]), &json!([])));
    assert!(mug["id"].is_string() && mug["stock"] == 3, "{mug}");
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_may_read_a_product() {
    let server = Server::start().await;
    let mug = server.product(&server.root().await, json!({})).await;
    let answer = server.fetch(&path_of(&mug)).await.expect(200).json();
    assert_eq!(keys(&answer), ["message", "product"]);
    assert!(answer["message"].is_string());
    assert_eq!(answer["product"], mug);
    assert_eq!(answer["product"], server.fetch(FIND_ALL).await.json()["products"][0]);
    server.fetch(&format!("{PRODUCTS}/{UNKNOWN}")).await.expect_error(404, "Product not found");
    let answer = server.fetch(&format!("{PRODUCTS}/mug")).await.expect(400).json();
    assert!(answer["message"].as_str().unwrap().starts_with("id "), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_create_change_and_delete_products() {
    let server = Server::start().await;
    let root = server.root().await;
    let created = create(&server, &root, json!({})).await.expect(201).json();
    assert_eq!(keys(&created), ["message", "product"]);
    assert_eq!(created["message"], "Product created successfully");
    let path = path_of(&created["product"]);

    let updated = server.call_json(&root, Method::PUT, &path, json!({ "name": "Cup" })).await.expect(200).json();
    assert_eq!(keys(&updated), ["message", "product"]);
    assert_eq!(updated["message"], "Product updated successfully");
    assert_eq!(updated["product"]["name"], "Cup");
    assert_eq!(server.fetch(&path).await.json()["product"], updated["product"]);

    let deleted = server.call(&root, Method::DELETE, &path).await.expect(200);
    assert_eq!(deleted.json(), json!({ "message": "Product deleted successfully", "data": null }));
    server.fetch(&path).await.expect(404);
    server.call(&root, Method::DELETE, &path).await.expect_error(404, "Product not found");
    // An unknown product is reported before an invalid body.
    for body in [json!({ "name": "Cup" }), json!({ "name": "" })] {
        server.call_json(&root, Method::PUT, &path, body).await.expect_error(404, "Product not found");
    }
    create(&server, &root, json!({})).await.expect(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_price_is_exact_to_the_cent() {
    let server = Server::start().await;
    let root = server.root().await;
    for (i, (literal, shown)) in [
        ("19.9", "19.90"),
        ("19.90", "19.90"),
        ("20", "20.00"),
        ("0", "0.00"),
        ("0.01", "0.01"),
        ("0.1", "0.10"),
        ("1.1", "1.10"),
        ("4.35", "4.35"),
        ("90071992547.41", "90071992547.41"),
        ("999999999999.99", "999999999999.99"),
    ]
    .into_iter()
    .enumerate()
    {
        let answer = create_priced(&server, &root, &format!("S-{i}"), literal).await.expect(201);
        let path = path_of(&answer.json()["product"]);
        for answer in [answer, server.fetch(&path).await] {
            assert_eq!(price_literals(&answer), [shown], "{literal}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_prices_are_refused() {
    let server = Server::start().await;
    let root = server.root().await;
    let mug = server.product(&root, json!({})).await;
    for literal in [
        "\"19.90\"",
        "\"\"",
        "1e3",
        "1.5E1",
        "19.999",
        "0.001",
        "-0.01",
        "-1",
        "1000000000000",
        "999999999999.999",
        "99999999999999999999999999",
        "true",
        "[1]",
        "{}",
    ] {
        create_priced(&server, &root, "S-1", literal).await.expect_invalid(&["price"]);
        let change = server.request(Method::PUT, &path_of(&mug)).bearer_auth(&root.token);
        let change = change.header(CONTENT_TYPE, "application/json").body(format!("{{\"price\":{literal}}}"));
        server.send(change).await.expect_invalid(&["price"]);
    }
    assert_eq!(server.fetch(FIND_ALL).await.json()["products"], json!([mug]));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_required_field_that_is_missing_is_named_at_once() {
    let server = Server::start().await;
    let root = server.root().await;
    let required = ["category", "name", "price", "sku", "stock"];
    server.call_json(&root, Method::POST, PRODUCTS, json!({})).await.expect_invalid(&required);
    let nulls = json!({ "sku": null, "name": null, "price": null, "category": null, "stock": null });
    server.call_json(&root, Method::POST, PRODUCTS, nulls).await.expect_invalid(&required);
    for field in required {
        create(&server, &root, json!({ field: null })).await.expect_invalid(&[field]);
    }
    for field in ["sku", "name", "category"] {
        create(&server, &root, json!({ field: " \t" })).await.expect_invalid(&[field]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_invalid_field_is_named_at_once() {
    let server = Server::start().await;
    let root = server.root().await;
    let wrong_types = json!({
        "sku": 1, "name": [], "description": false, "price": "19.90", "category": {}, "stock": 1.5,
        "variants": "red", "images": [1],
    });
    let all = ["category", "description", "images", "name", "price", "sku", "stock", "variants"];
    server.call_json(&root, Method::POST, PRODUCTS, wrong_types.clone()).await.expect_invalid(&all);
    let mug = server.product(&root, json!({})).await;
    server.call_json(&root, Method::PUT, &path_of(&mug), wrong_types).await.expect_invalid(&all);
    for (field, value) in [
        ("stock", json!(-1)),
        ("stock", json!("3")),
        ("variants", json!([{ "color": "red", "size": "S", "stock": -1 }])),
        ("variants", json!([{ "color": "red", "size": "S" }])),
        ("variants", json!([{ "color": 1, "size": "S", "stock": 1 }])),
        ("variants", json!({ "color": "red" })),
        ("images", json!(["no address"])),
        ("images", json!(["https://img.example.org/a.png", "javascript:alert(1)"])),
        ("images", json!("https://img.example.org/a.png")),
        ("sku", json!("a\0b")),
        ("description", json!("a\0b")),
    ] {
        server.call_json(&root, Method::PUT, &path_of(&mug), json!({ field: value })).await.expect_invalid(&[field]);
    }
    assert_eq!(server.fetch(&path_of(&mug)).await.json()["product"], mug);
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_up_to_their_limits_are_accepted() {
    let server = Server::start().await;
    let root = server.root().await;
    for (i, (field, limit)) in
        [("sku", 64), ("name", 200), ("category", 100), ("description", 5000)].into_iter().enumerate()
    {
        let (longest, longer) = ("ü".repeat(limit), "ü".repeat(limit + 1));
        let sku = format!("S-{i}");
        let fields = product(&json!({ "sku": sku, field: format!(" {longest}\n") }));
        let created = create(&server, &root, fields).await.expect(201).json()["product"].clone();
        assert_eq!(created[field], json!(longest));
        create(&server, &root, json!({ "sku": "other", field: longer })).await.expect_invalid(&[field]);
        let change = json!({ field: longer });
        server.call_json(&root, Method::PUT, &path_of(&created), change).await.expect_invalid(&[field]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stock_of_a_product_with_variants_is_their_sum() {
    let server = Server::start().await;
    let root = server.root().await;
    let variants = |stocks: [i64; 2]| stocks.map(|stock| json!({ "color": "red", "size": "S", "stock": stock }));
    for (i, stock) in [json!(7), json!(null)].into_iter().enumerate() {
        let fields = json!({ "sku": format!("S-{i}"), "stock": stock, "variants": variants([3, 4]) });
        assert_eq!(create(&server, &root, fields).await.expect(201).json()["product"]["stock"], 7);
    }
    let other = json!({ "sku": "S-9", "stock": 8, "variants": variants([3, 4]) });
    create(&server, &root, other).await.expect_invalid(&["stock"]);

    let path = path_of(&server.fetch(FIND_ALL).await.json()["products"][0]);
    let change = async |fields: Value| server.call_json(&root, Method::PUT, &path, fields).await;
    for refused in [json!({ "stock": 8 }), json!({ "variants": variants([1, 1]), "stock": 7 })] {
        change(refused).await.expect_invalid(&["stock"]);
    }
    for (fields, expected) in [
        (json!({ "name": "Cup" }), 7),
        (json!({ "stock": 7 }), 7),
        (json!({ "variants": variants([0, 0]) }), 0),
        (json!({ "variants": variants([5, 6]), "stock": 11 }), 11),
        (json!({ "variants": [], "stock": 2 }), 2),
        (json!({ "stock": 9 }), 9),
    ] {
        assert_eq!(change(fields.clone()).await.expect(200).json()["product"]["stock"], expected, "{fields}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sku_conflicts_in_any_letter_case() {
    let server = Server::start().await;
    let root = server.root().await;
    let mug = server.product(&root, json!({ "sku": "Mug-Ä" })).await;
    let cup = server.product(&root, json!({ "sku": "CUP" })).await;
    for sku in ["Mug-Ä", "mUG-ä", " MUG-Ä "] {
        create(&server, &root, json!({ "sku": sku })).await.expect_error(409, "SKU is already taken");
        let change = json!({ "sku": sku, "name": "Cup" });
        server.call_json(&root, Method::PUT, &path_of(&cup), change).await.expect_error(409, "SKU is already taken");
    }
    assert_eq!(server.fetch(FIND_ALL).await.json()["products"], json!([mug, cup]));
    // A product may change the letter case of its own SKU.
    let change = json!({ "sku": "MUG-ä" });
    let mug = server.call_json(&root, Method::PUT, &path_of(&mug), change).await.expect(200).json();
    assert_eq!(mug["product"]["sku"], "MUG-ä");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_changes_only_the_given_fields() {
    let server = Server::start().await;
    let root = server.root().await;
    let mut expected = server.product(&root, json!({ "images": ["https://img.example.org/a.png"] })).await;
    let path = path_of(&expected);
    for (field, value) in [
        ("sku", json!("MUG-2")),
        ("name", json!("Cup")),
        ("description", json!("Holds tea.")),
        ("price", json!(5.25)),
        ("category", json!("Tea")),
        ("stock", json!(0)),
        ("variants", json!([{ "color": "", "size": "L", "stock": 0 }])),
        ("images", json!([])),
        ("description", json!("")),
    ] {
        let updated = server.call_json(&root, Method::PUT, &path, json!({ field: value })).await.expect(200).json();
        expected[field] = value;
        let mut product = updated["product"].clone();
        product["updatedAt"] = expected["updatedAt"].clone();
        assert_eq!(product, expected, "{field}");
    }
    let before = server.fetch(&path).await.json();
    server.call_json(&root, Method::PUT, &path, json!({})).await.expect(200);
    assert_eq!(server.fetch(&path).await.json(), before);
}

/// Starts a server with a catalog to search.
async fn start_with_catalog() -> Server {
    let server = Server::start().await;
    let root = server.root().await;
    for (sku, name, description, category) in [
        ("K-1", "Topf", "Aus Stahl", "Küche & Bad"),
        ("K-2", "Pfanne", "Gusseisen, 100% Handarbeit", "KÜCHE & BAD"),
        ("G-1", "Rake", "steel", "Garden/Tools"),
        ("C-1", "Shirt", "C_1 is another one", "100% Cotton+"),
        ("F-1", "鍋", "", "台所"),
        ("K-3", "Tuch", "", "Küche"),
    ] {
        let fields = json!({ "sku": sku, "name": name, "description": description, "category": category });
        server.product(&root, fields).await;
    }
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn a_category_filter_matches_the_whole_name_in_any_letter_case_by_query_and_path() {
    let server = start_with_catalog().await;
    let table: [(&str, &[&str]); 9] = [
        ("Küche & Bad", &["Topf", "Pfanne"]),
        ("küche & BAD", &["Topf", "Pfanne"]),
        ("KÜCHE", &["Tuch"]),
        ("garden/tools", &["Rake"]),
        ("100% cotton+", &["Shirt"]),
        ("台所", &["鍋"]),
        ("Küch", &[]),
        ("K%", &[]),
        ("Garden", &[]),
    ];
    for (category, expected) in table {
        let by_query = server.request(Method::GET, FIND_ALL).query(&[("category", category)]);
        let mut url = Url::parse(server.url()).unwrap();
        url.path_segments_mut().unwrap().extend(["api", "products", "category", category]);
        let (by_query, by_path) = (server.send(by_query).await.expect(200), server.fetch(url.path()).await.expect(200));
        assert_eq!(names(&by_query), expected, "{category}");
        assert_eq!(by_path.json(), by_query.json(), "{}", url.path());
        let message = if expected.is_empty() { "No products found" } else { "Products retrieved successfully" };
        assert_eq!(by_query.json()["message"], message);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_is_found_in_name_description_and_sku_in_any_letter_case() {
    let server = start_with_catalog().await;
    let table: [(&str, &[&str]); 12] = [
        ("q=topf", &["Topf"]),
        ("q=FANN", &["Pfanne"]),
        ("q=STEEL", &["Rake"]),
        ("q=sta", &["Topf"]),
        ("q=k-", &["Topf", "Pfanne", "Tuch"]),
        ("q=鍋", &["鍋"]),
        ("q=100%25", &["Pfanne"]),
        ("q=c_1", &["Shirt"]),
        ("q=nothing+like+it", &[]),
        ("q=k-&category=k%C3%BCche+%26+bad", &["Topf", "Pfanne"]),
        ("category=Küche&q=topf", &[]),
        ("category=+&q=topf", &["Topf"]),
    ];
    for (query, expected) in table {
        let answer = server.fetch(&format!("{FIND_ALL}?{query}")).await.expect(200);
        assert_eq!(names(&answer), expected, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_short_listing_has_only_id_name_and_price() {
    let server = Server::start().await;
    let (root, alice) = (server.root().await, server.user("alice").await);
    assert_eq!(server.get(&alice, PRODUCTS).await.expect(200).json(), json!({ "products": [] }));
    let mug = server.product(&root, json!({ "name": "Zinc mug" })).await;
    let cup = server.product(&root, json!({ "sku": "CUP", "name": "Cup", "price": 7 })).await;
    let answer = server.get(&alice, PRODUCTS).await.expect(200);
    let short = [
        json!({ "id": mug["id"], "name": "Zinc mug", "price": 19.9 }),
        json!({ "id": cup["id"], "name": "Cup", "price": 7.0 }),
    ];
    assert_eq!(answer.json(), json!({ "products": short }));
    assert_eq!(price_literals(&answer), ["19.90", "7.00"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_beyond_its_limits_is_refused() {
    let server = Server::start().await;
    let (longest, too_long) = ("%EF%B7%BA".repeat(100), "a".repeat(101));
    server.fetch(&format!("{FIND_ALL}?q={longest}")).await.expect(200);
    server.fetch(&format!("{FIND_ALL}?q={too_long}")).await.expect_invalid(&["q"]);
    server.fetch(&format!("{FIND_ALL}?q={too_long}&category={too_long}")).await.expect_invalid(&["category", "q"]);
    server.fetch(&format!("{FIND_ALL}?q={too_long}&size=0&cursor=x")).await.expect_invalid(&["cursor", "q", "size"]);
    server.fetch(&format!("{PRODUCTS}/category/{too_long}?size=0")).await.expect_invalid(&["category", "size"]);
    server.fetch(&format!("{PRODUCTS}/category/%20")).await.expect_invalid(&["category"]);
}
