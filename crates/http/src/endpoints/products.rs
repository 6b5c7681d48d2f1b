//! `/api/products`: the catalog.

use actix_web::http::StatusCode;
use actix_web::web::Data;
use agora_domain::FieldErrors;
use agora_domain::accounts::{Admin, Member};
use agora_domain::error::FieldName;
use agora_domain::id::ProductId;
use agora_domain::page::{Page, PageRequest};
use agora_domain::products::{
    Category, Description, ImageUrl, Price, Product, ProductEdit, ProductFilter, ProductName, ProductSummary,
    SearchText, Sku, Stock, Variant,
};
use agora_domain::version::Versions;
use garde::Validate;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};
use uuid::Uuid;

use crate::core::{ApiError, State, schema, schema_variants};
use crate::middleware::RequestAttempt;
use crate::request::{
    Auth, Body, CategoryFilter, Field, IfMatch, IfMatchHeader, IfNoneMatch, List, Paging, PathId, PathText, TextFilter,
    VariantInput, optional, violations,
};
use crate::response::{
    Cache, Conditional, Done, Entry, HandlerResult, Instant, ListRequest, NotFound, Rendered, SUCCESS, derived_tag,
    done, head_only, respond, views,
};

/// A product for the catalog. `stock` is required without variants; with them, it is the sum of theirs and may be left
/// out.
#[derive(Deserialize, Validate, ToSchema)]
#[schema(as = NewProduct)]
pub(crate) struct ProductRequest {
    #[garde(custom(optional))]
    #[schema(schema_with = schema::sku)]
    sku: Field<Sku>,
    #[garde(custom(optional))]
    #[schema(schema_with = schema::product_name)]
    name: Field<ProductName>,
    #[garde(custom(optional))]
    #[schema(schema_with = schema::product_description, required = false)]
    description: Field<Description>,
    #[garde(custom(optional))]
    #[schema(schema_with = schema::price)]
    price: Field<Price>,
    #[garde(custom(optional))]
    #[schema(schema_with = schema::category)]
    category: Field<Category>,
    #[garde(custom(optional))]
    #[schema(schema_with = schema::stock, required = false)]
    stock: Field<Stock>,
    /// The variants of the product.
    #[garde(custom(optional))]
    #[schema(value_type = Vec<VariantInput>, required = false)]
    variants: Field<Vec<Variant>>,
    #[garde(custom(optional))]
    #[schema(schema_with = schema::product_images, required = false)]
    images: Field<Vec<ImageUrl>>,
}

schema_variants! {
    /// Changes to a product. Absent fields stay as they are.
    ProductChange of ProductRequest: |product| {
        product.required.clear();
        if let Some(RefOr::T(Schema::Array(variants))) = product.properties.get_mut("variants") {
            variants.description = Some("All variants of the product after the change.".to_owned());
        }
    };
}

impl ProductRequest {
    /// Returns the fields and their violations. It does not check for missing fields: which ones a new product needs is a rule of
    /// the domain.
    pub(crate) fn into_parts(self) -> agora_domain::Result<(ProductEdit, FieldErrors)> {
        let errors = violations(&self)?;
        let edit = ProductEdit {
            sku: self.sku.value(),
            name: self.name.value(),
            description: self.description.value(),
            price: self.price.value(),
            category: self.category.value(),
            stock: self.stock.value(),
            variants: self.variants.value(),
            images: self.images.value(),
            versions: Versions::Any,
        };
        Ok((edit, errors))
    }
}

/// A price as a JSON number, with exactly the digits of its decimal text.
struct PriceNumber(Price);

impl Serialize for PriceNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.0.to_string()).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

views! {
    /// A variant of a product.
    VariantBody as Variant of variant: Variant {
        color: &'a str [schema::color] = variant.color.as_str(),
        size: &'a str [schema::size] = variant.size.as_str(),
        stock: i32 [schema::stock] = variant.stock.get(),
    }

    /// A product.
    ProductBody as Product of product: Product {
        /// The id of the product.
        id: Uuid = product.id.uuid(),
        sku: &'a str [schema::sku] = product.sku.as_str(),
        name: &'a str [schema::product_name] = product.name.as_str(),
        description: &'a str [schema::product_description] = product.description.as_str(),
        price: PriceNumber [schema::price] = PriceNumber(product.price),
        category: &'a str [schema::category] = product.category.as_str(),
        stock: i32 [schema::stock] = product.stock.get(),
        /// The variants of the product.
        variants: Vec<VariantBody<'a>> = product.variants.iter().map(VariantBody::of).collect(),
        images: Vec<&'a str> [schema::product_images] = product.images.iter().map(|url| url.as_str()).collect(),
        created_at: Instant [schema::created_at] = Instant(product.created_at),
        updated_at: Instant [schema::updated_at] = Instant(product.updated_at),
    }

    /// A product in short.
    ShortProduct as ShortProduct of product: ProductSummary {
        /// The id of the product.
        id: Uuid = product.id.uuid(),
        name: &'a str [schema::product_name] = product.name.as_str(),
        price: PriceNumber [schema::price] = PriceNumber(product.price),
    }
}

/// A product.
#[derive(Serialize, ToSchema)]
struct ProductAnswer<'a> {
    #[schema(schema_with = schema::message)]
    message: &'static str,
    product: ProductBody<'a>,
}

/// Products.
#[derive(Serialize, ToSchema)]
struct ProductsAnswer<'a> {
    #[schema(schema_with = schema::message)]
    message: &'static str,
    products: Vec<ProductBody<'a>>,
}

/// Products in short.
#[derive(Serialize, ToSchema)]
struct ShortProductsAnswer<'a> {
    products: Vec<ShortProduct<'a>>,
}

fn one(status: StatusCode, message: &'static str, product: &Product) -> agora_domain::Result<Rendered> {
    let rendered = Rendered::new(status, &ProductAnswer { message, product: ProductBody::of(product) })?;
    Ok(rendered.with_version(product.updated_at))
}

/// Responds with a page of the catalog. Its tag is derived from the version of the catalog and from the request, so that
/// no product is read if the client already has the page, or for a HEAD.
async fn page_of_catalog<T, E: Serialize>(
    request: &ListRequest,
    page: PageRequest,
    cache: Cache,
    empty: impl FnOnce(bool) -> E,
    read: impl AsyncFnMut(PageRequest) -> agora_domain::Result<Page<T>>,
    render: impl Fn(&T, Entry<'_>) -> serde_json::Result<()>,
) -> HandlerResult {
    let state = &request.state;
    // Read before the products: if a product changes in between, the new content gets the old tag, which the next request finds
    // outdated. The other way round, the old content would get the new tag for ever.
    let version = state.services.products.version().await?.uuid();
    let parts = [version.as_bytes(), request.address().as_bytes(), state.public_url.as_bytes()];
    let tag = derived_tag(&state.mac_keys, &parts);
    let make = async || match request.is_head() {
        true => Ok(head_only()),
        false => request.answer(List::Products, page, empty, read, render).await,
    };
    request.conditional().answer_with_tag(cache, &tag, make).await
}

/// Returns the query parameter of a filter, or `None` if it is absent or blank: then nothing is filtered.
fn filter_value(request: &ListRequest, field: FieldName) -> Option<&str> {
    request.query.get(field).filter(|text| !text.trim().is_empty())
}

/// Parses the filter and the page that are requested.
fn filtered_page(request: &ListRequest, category: Option<&str>) -> Result<(ProductFilter, PageRequest), ApiError> {
    let mut errors = FieldErrors::default();
    let category = errors.check_optional(FieldName::Category, category, Category::parse);
    let text =
        errors.check_optional(FieldName::SearchText, filter_value(request, FieldName::SearchText), SearchText::parse);
    let page = request.query.page_with(List::Products, errors)?;
    Ok((ProductFilter::new(category.as_ref(), text.as_ref()), page))
}

async fn list_filtered(request: &ListRequest, category: Option<&str>) -> HandlerResult {
    let (filter, page) = filtered_page(request, category)?;
    let empty = |is_empty| {
        let message = if is_empty { "No products found" } else { "Products retrieved successfully" };
        ProductsAnswer { message, products: Vec::new() }
    };
    let read = async |page| request.state.services.products.list(&filter, page).await;
    let render = |product: &Product, entry: Entry<'_>| entry.write(&ProductBody::of(product));
    page_of_catalog(request, page, Cache::Public, empty, read, render).await
}

/// List products
///
/// Oldest first.
#[utoipa::path(get, path = "", operation_id = "listProducts", tag = "Products",
    params(CategoryFilter, TextFilter, Paging, IfNoneMatch),
    responses((status = 200, description = "A page of products.", body = ProductsAnswer)))]
pub(crate) async fn list(request: ListRequest) -> HandlerResult {
    list_filtered(&request, filter_value(&request, FieldName::Category)).await
}

/// List the products of a category
///
/// Oldest first.
#[utoipa::path(get, path = "", operation_id = "listProductsByCategory", tag = "Products",
    params(TextFilter, Paging, IfNoneMatch),
    responses((status = 200, description = "A page of products.", body = ProductsAnswer)))]
pub(crate) async fn list_by_category(request: ListRequest, PathText(category): PathText) -> HandlerResult {
    // In the path, even a blank category is a filter.
    list_filtered(&request, Some(&category)).await
}

/// List products in short
///
/// The id, name and price of each product, oldest first.
#[utoipa::path(get, path = "", operation_id = "listProductsShort", tag = "Products", params(Paging, IfNoneMatch),
    responses((status = 200, description = "A page of products.", body = ShortProductsAnswer)))]
pub(crate) async fn list_short(request: ListRequest, caller: Auth<Member>) -> HandlerResult {
    let read = async |page| request.state.services.products.list_short(&caller, page).await;
    let render = |product: &ProductSummary, entry: Entry<'_>| entry.write(&ShortProduct::of(product));
    let empty = |_| ShortProductsAnswer { products: Vec::new() };
    let page = request.query.page(List::Products)?;
    page_of_catalog(&request, page, Cache::Private, empty, read, render).await
}

/// Get a product
#[utoipa::path(get, path = "", operation_id = "getProduct", tag = "Products", params(IfNoneMatch),
    responses((status = 200, description = "The product.", body = ProductAnswer), NotFound))]
pub(crate) async fn get(state: Data<State>, id: PathId<ProductId>, conditional: Conditional) -> HandlerResult {
    let product = state.services.products.get(id.0).await?;
    conditional.answer(Cache::Public, Some(product.updated_at), one(StatusCode::OK, SUCCESS, &product)?)
}

/// Create a product
///
/// A SKU that is taken in any letter case is a conflict (409).
#[utoipa::path(get, path = "", operation_id = "createProduct", tag = "Products", request_body = ProductRequest,
    responses((status = 201, description = "`Product created successfully`", body = ProductAnswer), NotFound))]
pub(crate) async fn create(
    state: Data<State>,
    admin: Auth<Admin>,
    RequestAttempt(attempt): RequestAttempt,
    body: Body,
) -> HandlerResult {
    let (given, errors) = body.json::<ProductRequest>().await?.into_parts()?;
    let new = given.into_new(errors)?;
    let product = state.services.products.create(&admin, new, attempt).await?;
    respond(one(StatusCode::CREATED, "Product created successfully", &product))
}

/// Update a product
///
/// Given fields change. A SKU that is taken in any letter case is a conflict (409).
#[utoipa::path(get, path = "", operation_id = "updateProduct", tag = "Products",
    params(IfMatchHeader), request_body = ProductChange,
    responses((status = 200, description = "`Product updated successfully`", body = ProductAnswer), NotFound))]
pub(crate) async fn update(
    state: Data<State>,
    admin: Auth<Admin>,
    id: PathId<ProductId>,
    IfMatch(versions): IfMatch,
    body: Body,
) -> HandlerResult {
    let managed = state.services.products.managed(&admin, id.0).await?;
    let (edit, errors) = body.json::<ProductRequest>().await?.into_parts()?;
    errors.into_result()?;
    let product = state.services.products.update(managed, &ProductEdit { versions, ..edit }).await?;
    respond(one(StatusCode::OK, "Product updated successfully", &product))
}

/// Delete a product
#[utoipa::path(get, path = "", operation_id = "deleteProduct", tag = "Products",
    responses((status = 200, description = "`Product deleted successfully`", body = Done), NotFound))]
pub(crate) async fn delete(state: Data<State>, admin: Auth<Admin>, id: PathId<ProductId>) -> HandlerResult {
    state.services.products.delete(&admin, id.0).await?;
    done("Product deleted successfully")
}
