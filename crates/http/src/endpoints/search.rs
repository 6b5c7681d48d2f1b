//! `/api/search`: full-text search for posts, users and products.

use agora_domain::Error;
use agora_domain::FieldErrors;
use agora_domain::accounts::Member;
use agora_domain::error::{FieldName, Violation, ViolationKind};
use agora_domain::id::UserId;
use agora_domain::page::PageRequest;
use agora_domain::products::Product;
use agora_domain::search::Query as SearchTerms;
use utoipa::openapi::schema::AnyOfBuilder;
use utoipa::openapi::{ArrayBuilder, Ref, RefOr, Schema};

use super::{people, posts, products};
use crate::core::{ApiError, schema};
use crate::request::{Auth, List, Query, SearchQuery, ShortPaging, parse_uuid};
use crate::response::{
    Entry, HandlerResult, ListRequest, NotFound, PostByPublicAuthor, ProfileBody, SUCCESS, answers, empty_list,
};

answers! {
    /// The results of a search: posts, users or products.
    FoundAnswer { () [found] }
}

fn found() -> RefOr<Schema> {
    let list = |items: Ref| ArrayBuilder::new().items(items);
    let found = AnyOfBuilder::new()
        .item(list(schema::reference::<PostByPublicAuthor>()))
        .item(list(schema::reference::<ProfileBody<'static>>()))
        .item(list(schema::reference::<products::ProductBody<'static>>()))
        .description(Some("The results, all of the requested type."));
    Schema::AnyOf(found.build()).into()
}

/// The kind of results that a search returns.
enum Kind {
    Posts,
    Users,
    Products,
}

/// The parsed parameters of a search.
struct Search {
    kind: Kind,
    query: SearchTerms,
    author: Option<UserId>,
    page: PageRequest,
}

/// Search for posts, users or products
///
/// Newest first; among users, the one with exactly that name comes first. Posts are found by their text, if the caller may view
/// them and their author is `searchable`; users by username and display name, if they are `discoverable`; products by name,
/// description, SKU and category. Letter case and accents are ignored.
#[utoipa::path(get, path = "", operation_id = "search", tag = "Search", params(SearchQuery, ShortPaging),
    responses((status = 200, description = "A page of results.", body = FoundAnswer), NotFound))]
pub(crate) async fn search(request: ListRequest, caller: Auth<Member>) -> HandlerResult {
    let Search { kind, query, author, page } = parse_search(&request.query)?;
    let (search, list) = (&request.state.services.search, List::Search);
    match kind {
        Kind::Posts => {
            let read = async |page| search.posts(&caller, &query, author, page).await;
            posts::page_by_public_authors(&request, list, page, read).await
        }
        Kind::Users => {
            people::answer(&request, list, page, async |page| search.users(&caller, &query, page).await).await
        }
        Kind::Products => {
            let render = |product: &Product, entry: Entry<'_>| entry.write(&products::ProductBody::of(product));
            let read = async |page| search.products(&query, page).await;
            request.answer(list, page, |_| empty_list(SUCCESS), read, render).await
        }
    }
}

fn parse_search(query: &Query) -> Result<Search, ApiError> {
    let mut errors = FieldErrors::default();
    let kind = errors.check(FieldName::Kind, kind(query.get(FieldName::Kind).unwrap_or_default()));
    let text = query.get(FieldName::SearchText).unwrap_or_default();
    let text = errors.check(FieldName::SearchText, SearchTerms::parse(text));
    let author = query.get(FieldName::SearchAuthor).filter(|_| matches!(kind, Some(Kind::Posts)));
    let author = errors.check_optional(FieldName::SearchAuthor, author, |given| {
        let malformed = || Violation::new(ViolationKind::InvalidFormat, "from must be a UUID");
        parse_uuid(given).map(UserId::new).ok_or_else(malformed)
    });
    let page = query.short_page_with(List::Search, errors)?;
    match (kind, text) {
        (Some(kind), Some(query)) => Ok(Search { kind, query, author, page }),
        _ => Err(Error::internal("a search was not validated").into()),
    }
}

fn kind(given: &str) -> Result<Kind, Violation> {
    match given {
        "posts" => Ok(Kind::Posts),
        "users" => Ok(Kind::Users),
        "products" => Ok(Kind::Products),
        "" => Err(Violation::new(ViolationKind::Required, "Type is required")),
        _ => Err(Violation::new(ViolationKind::NotAllowed, "Type must be posts, users or products")),
    }
}
