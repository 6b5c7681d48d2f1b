//! The effects of the rows of a file on the catalog.

use super::*;

/// A pass, and a catalog that has one product with the fewest fields.
struct Import {
    pass: ImportPass,
    catalog: MockCatalogSnapshot,
}

impl Import {
    fn new() -> Self {
        let mut catalog = MockCatalogSnapshot::new();
        catalog.expect_find_by_sku().returning(|keys| {
            let stored = product(fields()).unwrap();
            Ok(if keys.contains(&stored.sku.key()) { vec![stored] } else { vec![] })
        });
        let mut clock = MockClock::new();
        clock.expect_now().times(..=1).return_const(NOW);
        clock.expect_now().return_const(LATER);
        let mut ids = MockIdGenerator::new();
        ids.expect_generate().return_const(ID.uuid());
        Self { pass: ImportPass::new(Arc::new(clock), Arc::new(ids)), catalog }
    }

    /// Plans rows with these fields, numbered from `first` on. Each begins on the line after that of its number.
    async fn plan(&mut self, first: u64, rows: Vec<ProductEdit>) -> ImportPlan {
        let row = |(row, edit)| ImportRow { at: at(row), edit, errors: FieldErrors::default() };
        self.pass.plan(&mut self.catalog, (first..).zip(rows).map(row).collect()).await.unwrap()
    }
}

fn at(row: u64) -> RowPosition {
    RowPosition { row, line: row + 1 }
}

/// The time that the clock tells from the second call on.
const LATER: Timestamp = NOW.plus_millis(1);

/// If all rows had the same time, each page of the list could only be found by walking through all of them.
#[tokio::test]
async fn each_batch_of_rows_gets_a_later_time() {
    let mut import = Import::new();
    let mut times = Vec::new();
    for n in 0..2 {
        let row = ProductEdit { sku: sku(&format!("NEW-{n}")), ..fields() };
        let plan = import.plan(n, vec![row]).await;
        let [CatalogChange::Create(product)] = &plan.changes[..] else { panic!("{plan:?}") };
        times.push(product.created_at);
    }
    assert_eq!(times, [NOW, LATER]);
}

fn refused(plan: &ImportPlan) -> Vec<(u64, Vec<(FieldName, String)>)> {
    plan.refused.iter().map(|row| (row.at.row, listed(&row.reasons))).collect()
}

#[tokio::test]
async fn a_row_adds_updates_or_leaves_a_product() {
    let new = ProductEdit { sku: sku("NEW"), ..fields() };
    let changed = ProductEdit { sku: sku("SKU-1"), price: price("5"), ..ProductEdit::default() };
    let same = ProductEdit { sku: sku("SKU-1"), name: name(" Mug "), ..ProductEdit::default() };
    let respelled = ProductEdit { sku: sku("sku-1"), ..ProductEdit::default() };
    let stored = product(fields()).unwrap();
    let update = |change: Product| vec![CatalogChange::Update(Product { updated_at: NOW, ..change })];
    let created = product(new.clone()).map(|new| Product { created_at: NOW, updated_at: NOW, ..new }).unwrap();
    for (row, changes) in [
        (new, vec![CatalogChange::Create(created)]),
        (changed, update(Product { price: Price::parse("5").unwrap(), ..stored.clone() })),
        (same, vec![]),
        (respelled, update(Product { sku: Sku::parse("sku-1").unwrap(), ..stored })),
    ] {
        let plan = Import::new().plan(2, vec![row]).await;
        let unchanged = u64::from(changes.is_empty());
        assert_eq!(plan, ImportPlan { changes, unchanged, refused: vec![] });
    }
}

#[tokio::test]
async fn invalid_rows_are_refused_with_position_sku_and_all_violations() {
    let rows = vec![
        ProductEdit { sku: sku("NEW"), ..ProductEdit::default() },
        fields(),
        ProductEdit { name: name("Cup"), ..ProductEdit::default() },
        // The rule about stock applies to the stored product, too.
        ProductEdit { sku: sku("sku-2"), variants: variants(&[1, 2]), ..fields() },
    ];
    let plan = Import::new().plan(7, rows).await;
    let rows: Vec<_> =
        refused(&plan).into_iter().map(|(row, reasons)| (row, reasons.into_iter().map(|it| it.0).collect())).collect();
    let expected: [(u64, Vec<FieldName>); 3] = [
        (7, vec![FieldName::Name, FieldName::Price, FieldName::Category, FieldName::Stock]),
        (9, vec![FieldName::Sku, FieldName::Price, FieldName::Category, FieldName::Stock]),
        (10, vec![FieldName::Stock]),
    ];
    assert_eq!((rows, plan.unchanged), (expected.to_vec(), 1));
    let places: Vec<_> = plan.refused.iter().map(|row| (row.at, row.sku.as_ref().map(Sku::as_str))).collect();
    assert_eq!(places, [(at(7), Some("NEW")), (at(9), None), (at(10), Some("sku-2"))]);
}

#[tokio::test]
async fn a_duplicate_sku_is_refused_with_both_positions() {
    let mut import = Import::new();
    let named = |text| ProductEdit { sku: sku(text), ..fields() };
    let plan = import.plan(2, vec![named("one"), named("two"), named("ONE")]).await;
    assert_eq!(plan.changes.len(), 2);
    assert_eq!(refused(&plan), [(4, vec![(FieldName::Sku, "SKU ONE is in row 2 (line 3) already".to_owned())])]);
    // This holds across calls of `plan`, too, and the message always names the first row.
    let plan = import.plan(5, vec![named("One"), named("three")]).await;
    assert_eq!(refused(&plan), [(5, vec![(FieldName::Sku, "SKU One is in row 2 (line 3) already".to_owned())])]);
}

#[tokio::test]
async fn parse_violations_are_reported_with_those_of_the_rules() {
    let mut errors = FieldErrors::default();
    errors.add(FieldName::Name, Violation::new(ViolationKind::WrongType, "name must be a string"));
    let row = ImportRow { at: at(3), edit: ProductEdit { name: None, stock: None, ..fields() }, errors };
    let mut import = Import::new();
    let new = ImportRow { edit: ProductEdit { sku: sku("NEW"), ..row.edit.clone() }, ..row.clone() };
    let plan = import.pass.plan(&mut import.catalog, vec![new]).await.unwrap();
    let stock = (FieldName::Stock, "Stock is required".to_owned());
    let expected = vec![(FieldName::Name, "name must be a string".to_owned()), stock];
    assert_eq!(refused(&plan), [(3, expected)]);
    // A row is refused even if the rules find nothing wrong with it.
    let right = ImportRow { edit: fields(), ..row };
    let plan = Import::new().pass.plan(&mut import.catalog, vec![right]).await.unwrap();
    assert_eq!((plan.refused.len(), plan.changes.len(), plan.unchanged), (1, 0, 0));
}

#[tokio::test]
async fn a_failure_of_the_catalog_fails_the_import() {
    let mut catalog = MockCatalogSnapshot::new();
    catalog.expect_find_by_sku().once().returning(|_| Err(Error::unavailable("away")));
    let row = ImportRow { at: at(1), edit: fields(), ..ImportRow::default() };
    let planned = Import::new().pass.plan(&mut catalog, vec![row]).await;
    assert!(matches!(planned, Err(Error::Unavailable(_))), "{planned:?}");
}
