//! The worst case of every endpoint: the most expensive requests that it allows.
//!
//! Each client sends the requests of a case in rotation. A quarter of the clients send HEAD to a GET endpoint. If an endpoint
//! supports an `Idempotency-Key`, half of them send a new one with each request. [`crate::names`] documents the placeholders in
//! braces, and [`crate::seed`] the rows to which they refer.

use Body::{Form, Json, None};
use By::{Admin, Member, Nobody, Session};

/// The sender of the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// Clients without a token.
    Nobody,
    /// `mallory`, who follows as many as an account may.
    Member,
    /// `root`.
    Admin,
    /// One account with a different session for each request, since a session can be ended only once.
    Session,
}

/// An image file that is expensive to check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Picture {
    /// Hundreds of bytes that decode to hundreds of megapixels, frame by frame.
    Animation,
    /// A JPEG with the maximum of bytes and pixels, which must be rotated.
    Turned,
}

/// The body of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Body {
    None,
    Json(&'static str),
    /// A text and an image, each with the name of its field.
    Form((&'static str, &'static str), (&'static str, Picture)),
}

/// A request: the parameter of its path (empty if it has none), its query, and its body.
pub(crate) type Ask = (&'static str, &'static str, Body);

/// An endpoint, the sender of its requests, and the requests.
pub(crate) struct WorstCase {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) by: By,
    pub(crate) asks: &'static [Ask],
}

const fn case(method: &'static str, path: &'static str, by: By, asks: &'static [Ask]) -> WorstCase {
    WorstCase { method, path, by, asks }
}

/// A plain request, for endpoints whose cost does not depend on the request.
const PLAIN: &[Ask] = &[("", "", None)];

/// An author with few visible posts among very many hidden ones, and one with posts of the maximum size.
const POSTS_OF_AN_AUTHOR: &[Ask] = &[("{hermit}", "?size=1", None), ("{hermit}", "", None), ("{giant}", "", None)];
/// The posts of both these authors together, and older pages, which are not cached.
const FEED: &[Ask] =
    &[("", "?size=100", None), ("", "?createAt={among hidden}&size=100", None), ("", "?createAt={before all}", None)];
const LARGEST_POST: &str = r#"{"text":"{long 5000}"}"#;
/// A text of the maximum length with as many hashtags as possible.
const MOST_TAGS: &str = r#"{"text":"{tags 1666}"}"#;
/// Few visible posts among very many hidden ones, posts of the maximum size, and posts with the most hashtags.
const TAGGED: &[Ask] = &[("hidden", "?size=100", None), ("large", "?size=100", None), ("many", "?size=100", None)];
const POST_FORMS: [Body; 2] = [
    Form(("text", "{wide 5000}"), ("image", Picture::Animation)),
    Form(("text", "{wide 5000}"), ("image", Picture::Turned)),
];
const PROFILE_FORM: Body = Form(("biography", "{wide 1000}"), ("profilePicture", Picture::Animation));
const LARGEST_PRODUCT: &str = r#"{"sku":"{n}","name":"{wide 200}","description":"{long 5000}","price":1,"category":"{wide 100}","variants":[{variants 400}],"images":[],"stock":400}"#;
const PRODUCT_CHANGE: &str = r#"{"description":"{long 5000}","variants":[{variants 400}],"stock":400}"#;
/// Texts that no product has, that few have, and a search without a text, which finds all.
const SEARCHES: &[Ask] = &[
    ("", "?q=zzzz", None),
    ("", "?q=%C7%82", None),
    ("", "?q=q%C7%82", None),
    ("", "?q={wide 100}", None),
    ("", "", None),
];

/// A word that nothing has, one that all posts have (most of them hidden), very many words, and prefixes of many words.
const FOUND: &[Ask] = &[
    ("", "?type=posts&q=zzzz", None),
    ("", "?type=posts&q=x&size=100", None),
    ("", "?type=posts&q=x&from={hermit}", None),
    ("", "?type=posts&q=a+b+c+d+e+f+g+h+i+j+k+l+m+n+o+p+q+r+s+t+u+v+w+x+y+z+1+2+3+4+5+6+7+8+9", None),
    ("", "?type=users&q=u1&size=100", None),
    ("", "?type=products&q=pr", None),
];

/// Every endpoint, in the order of the route table.
#[rustfmt::skip]
pub(crate) const WORST_CASES: &[WorstCase] = &[
    case("POST",   "/api/auth/register",                 Nobody,  &[("", "", Json(r#"{"username":"{n}","email":"{n}@example.org","password":"{wide 18}","biography":"{long 1000}"}"#))]),
    case("POST",   "/api/auth/login",                    Nobody,  &[("", "", Json(r#"{"identifier":"mallory","password":"{password}"}"#))]),
    case("POST",   "/api/auth/refresh",                  Member,  PLAIN),
    case("POST",   "/api/auth/logout",                   Session, PLAIN),
    case("POST",   "/api/auth/password/forgot",          Nobody,  &[("", "", Json(r#"{"identifier":"{n}@example.org"}"#)), ("", "", Json(r#"{"identifier":"mallory"}"#)), ("", "", Json(r#"{"identifier":"{wide 1000}"}"#))]),
    case("POST",   "/api/auth/password/reset",           Nobody,  &[("", "", Json(r#"{"token":"{long 1000}","newPassword":"{wide 18}"}"#))]),
    case("POST",   "/api/auth/email/verify",             Nobody,  &[("", "", Json(r#"{"token":"{long 1000}"}"#))]),

    case("GET",    "/api/users/me",                      Member,  PLAIN),
    case("PUT",    "/api/users/me",                      Member,  &[("", "", PROFILE_FORM), ("", "", Json(r#"{"biography":"{long 1000}"}"#))]),
    case("PUT",    "/api/users/me/password",             Member,  &[("", "", Json(r#"{"currentPassword":"{password}","newPassword":"short"}"#)),
                                                                   ("", "", Json(r#"{"currentPassword":"{password}","newPassword":"{password}"}"#))]),
    // The password is wrong: a deleted account could send no further requests.
    case("POST",   "/api/users/me/delete",               Member,  &[("", "", Json(r#"{"currentPassword":"{wide 18}"}"#))]),
    case("DELETE", "/api/users/me",                      Member,  &[("", "", Json(r#"{"currentPassword":"{wide 18}"}"#))]),
    // Limited to three an hour: the others are refused.
    case("PUT",    "/api/users/me/email",                Member,  &[("", "", Json(r#"{"email":"{n}@example.org","currentPassword":"{password}"}"#))]),
    case("POST",   "/api/users/me/email/verification",   Member,  PLAIN),
    // Limited to one an hour: the others are refused.
    case("GET",    "/api/users/me/export",               Member,  PLAIN),
    // By the administrator, since the change of the password above ended the member's sessions.
    case("GET",    "/api/users/me/sessions",             Admin,   &[("", "?size=100", None)]),
    case("DELETE", "/api/users/me/sessions",             Session, PLAIN),
    case("DELETE", "/api/users/me/sessions/{sessionId}", Admin,   &[("{device n}", "", None)]),
    case("GET",    "/api/users/all",                     Admin,   PLAIN),
    case("GET",    "/api/users/by-id/{id}",              Admin,   &[("{giant}", "", None)]),
    case("PUT",    "/api/users/update/{userId}",         Admin,   &[("{friend}", "", Json(r#"{"roleId":"ADMIN","action":"ADD"}"#)), ("{friend}", "", Json(r#"{"roleId":"ADMIN","action":"REMOVE"}"#))]),
    case("PUT",    "/api/users/{userId}/enabled",        Admin,   &[("{busy}", "", Json(r#"{"enabled":false}"#)), ("{busy}", "", Json(r#"{"enabled":true}"#))]),

    case("PUT",    "/api/users/{userId}/block",          Member,  &[("{giant}", "", None), ("{busy}", "", None)]),
    case("DELETE", "/api/users/{userId}/block",          Member,  &[("{giant}", "", None), ("{busy}", "", None)]),
    case("GET",    "/api/users/me/blocks",               Member,  &[("", "?size=100", None)]),
    case("PUT",    "/api/users/{userId}/mute",           Member,  &[("{giant}", "", None), ("{busy}", "", Json(r#"{"hours":1}"#))]),
    case("DELETE", "/api/users/{userId}/mute",           Member,  &[("{giant}", "", None), ("{busy}", "", None)]),
    case("GET",    "/api/users/me/mutes",                Member,  &[("", "?size=100", None)]),
    case("POST",   "/api/reports",                       Member,  &[("", "", Json(r#"{"targetType":"POST","targetId":"{crowded}","category":"OTHER","comment":"{wide 1000}"}"#)), ("", "", Json(r#"{"targetType":"USER","targetId":"{user n}","category":"SPAM"}"#))]),
    case("GET",    "/api/admin/reports",                 Admin,   &[("", "?size=100", None), ("", "?status=OPEN&size=100", None)]),
    case("GET",    "/api/admin/reports/{reportId}",      Admin,   &[("{reported}", "", None)]),
    case("PUT",    "/api/admin/reports/{reportId}",      Admin,   &[("{reported}", "", Json(r#"{"status":"RESOLVED","note":"{wide 1000}"}"#)), ("{reported}", "", Json(r#"{"status":"REJECTED"}"#))]),
    case("PUT",    "/api/admin/posts/{postId}/hidden",   Admin,   &[("{small n}", "", Json(r#"{"hidden":true,"reason":"{wide 1000}"}"#)), ("{small n}", "", Json(r#"{"hidden":false,"reason":"{wide 1000}"}"#))]),
    case("PUT",    "/api/admin/comments/{commentId}/hidden", Admin, &[("{comment n}", "", Json(r#"{"hidden":true,"reason":"{wide 1000}"}"#)), ("{comment n}", "", Json(r#"{"hidden":false,"reason":"{wide 1000}"}"#))]),
    case("GET",    "/api/admin/audit",                   Admin,   &[("", "?size=100", None), ("", "?actor=cli&action=role_added&size=100", None)]),
    case("GET",    "/api/admin/users/{userId}/sessions", Admin,   &[("{busy}", "?size=100", None)]),
    case("DELETE", "/api/admin/users/{userId}/sessions", Admin,   &[("{busy}", "", None)]),
    // Only the first request counts; the others get its result.
    case("GET",    "/api/admin/overview",                Admin,   PLAIN),
    case("GET",    "/api/admin/configuration",           Admin,   PLAIN),
    // Limited to one at a time: the others are refused.
    case("POST",   "/api/admin/backup",                  Admin,   PLAIN),
    case("GET",    "/api/admin/mails",                   Admin,   &[("", "?status=waiting", None), ("", "?status=dead", None)]),
    case("POST",   "/api/admin/mails/{mailId}/retry",    Admin,   &[("{mail n}", "", None)]),
    case("GET",    "/api/users/lookup",                  Member,  &[("", "?username=root", None), ("", "?username=mallory", None)]),
    case("GET",    "/api/users/profiles",                Member,  &[("", "?{ids user}", None)]),
    case("GET",    "/api/users/directory",               Member,  &[("", "?size=100", None)]),
    case("GET",    "/api/users/{userId}/profile",        Member,  &[("{giant}", "", None), ("{user n}", "", None)]),
    case("GET",    "/api/users/{userId}/followers",      Member,  &[("{mallory}", "?size=100", None)]),
    case("GET",    "/api/users/{userId}/followed",       Member,  &[("{mallory}", "?size=100", None)]),

    case("POST",   "/api/posts/create",                  Member,  &[("", "", Json(LARGEST_POST)), ("", "", Json(MOST_TAGS)), ("", "", POST_FORMS[0]), ("", "", POST_FORMS[1])]),
    case("GET",    "/api/posts/all",                     Admin,   PLAIN),
    case("GET",    "/api/posts/following/all",           Member,  FEED),
    case("GET",    "/api/posts/{userId}/all",            Member,  POSTS_OF_AN_AUTHOR),
    case("GET",    "/api/posts/user/{userId}",           Member,  POSTS_OF_AN_AUTHOR),
    case("GET",    "/api/posts/by-id/{postId}",          Member,  &[("{crowded}", "", None)]),
    case("PUT",    "/api/posts/update/{postId}",         Member,  &[("{own}", "", Json(LARGEST_POST)), ("{own}", "", Json(MOST_TAGS)), ("{own}", "", POST_FORMS[0]), ("{own}", "", POST_FORMS[1])]),
    case("DELETE", "/api/posts/delete/{postId}",         Member,  &[("{doomed n}", "", None)]),
    case("POST",   "/api/posts/like/{postId}",           Member,  &[("{crowded}", "", None)]),
    case("PUT",    "/api/posts/like/{postId}",           Member,  &[("{crowded}", "", None), ("{small n}", "", None)]),
    case("DELETE", "/api/posts/like/{postId}",           Member,  &[("{crowded}", "", None), ("{small n}", "", None)]),
    case("GET",    "/api/posts/{postId}/likes",          Member,  &[("{crowded}", "", None)]),
    case("GET",    "/api/posts/public",                  Member,  &[("", "?size=100", None)]),

    case("PUT",    "/api/posts/{postId}/bookmark",       Member,  &[("{crowded}", "", None), ("{small n}", "", None)]),
    case("DELETE", "/api/posts/{postId}/bookmark",       Member,  &[("{crowded}", "", None), ("{small n}", "", None)]),
    case("GET",    "/api/users/me/bookmarks",            Member,  &[("", "?size=100", None)]),

    case("GET",    "/api/tags/{tag}/posts",              Member,  TAGGED),

    case("POST",   "/api/comments/create",               Member,  &[("", "", Json(r#"{"postId":"{crowded}","content":"{long 500}"}"#))]),
    case("GET",    "/api/comments/all/{postId}",         Member,  &[("{crowded}", "", None)]),
    case("PUT",    "/api/comments/update",               Member,  &[("", "", Json(r#"{"postId":"{crowded}","content":"{long 500}"}"#)), ("", "", Json(r#"{"commentId":"{comment n}","content":"{long 500}"}"#))]),
    case("DELETE", "/api/comments/delete/{commentId}",   Member,  &[("{comment n}", "", None)]),
    case("POST",   "/api/posts/{postId}/comments",       Member,  &[("{crowded}", "", Json(r#"{"content":"{long 500}"}"#)), ("{crowded}", "", Json(r#"{"content":"{long 500}","replyToId":"{answered}"}"#))]),
    case("GET",    "/api/posts/{postId}/comments",       Member,  &[("{crowded}", "?size=100", None), ("{crowded}", "?order=newest", None)]),
    case("DELETE", "/api/posts/{postId}/comments",       Member,  &[("{own}", "?author={giant}", None)]),
    case("GET",    "/api/comments/{commentId}/replies",  Member,  &[("{answered}", "?size=100", None)]),
    case("PUT",    "/api/comments/{commentId}/like",     Member,  &[("{answered}", "", None), ("{comment n}", "", None)]),
    case("DELETE", "/api/comments/{commentId}/like",     Member,  &[("{answered}", "", None), ("{comment n}", "", None)]),
    case("GET",    "/api/comments/{commentId}/likes",    Member,  &[("{answered}", "?size=100", None)]),

    case("POST",   "/api/follow/follow/{followedId}",    Member,  &[("{friend}", "", None)]),
    case("PUT",    "/api/follow/follow/{followedId}",    Member,  &[("{friend}", "", None), ("{user n}", "", None)]),
    case("DELETE", "/api/follow/follow/{followedId}",    Member,  &[("{friend}", "", None)]),
    case("GET",    "/api/follow/followers/{userId}",     Member,  &[("{mallory}", "", None)]),
    case("GET",    "/api/follow/followed/{userId}",      Member,  &[("{mallory}", "", None)]),
    case("POST",   "/api/follow/{followedId}",           Member,  &[("{friend}", "", None)]),
    case("PUT",    "/api/follow/{followedId}",           Member,  &[("{friend}", "", None), ("{user n}", "", None)]),
    case("DELETE", "/api/follow/{followedId}",           Member,  &[("{friend}", "", None)]),

    case("GET",    "/api/notifications",                 Member,  &[("", "?size=100", None), ("", "?type=mention", None)]),
    case("GET",    "/api/notifications/unread",          Member,  PLAIN),
    case("PUT",    "/api/notifications/read",            Member,  &[("", "", Json(r#"{"upTo":"{notification}"}"#))]),
    case("GET",    "/api/notifications/settings",        Member,  PLAIN),
    case("PUT",    "/api/notifications/settings",        Member,  &[("", "", Json(r#"{"like":"none","comment":"none","reply":"none","mention":"none","follow":"none","commentLike":"none","report":"none"}"#)), ("", "", Json(r#"{"like":"everyone","comment":"everyone","reply":"everyone","mention":"everyone","follow":"everyone","commentLike":"everyone","report":"everyone"}"#))]),
    case("GET",    "/api/notifications/{notificationId}/actors", Member, &[("{notification}", "?size=100", None)]),

    // Refused after all topics were checked, since an open stream would never end.
    case("GET",    "/api/events",                        Member,  &[("", "?topics=public,feed,post:00000000-0000-7000-8000-000000000000", None)]),
    case("POST",   "/api/events/ticket",                 Member,  PLAIN),

    case("GET",    "/api/products/findAll",              Nobody,  SEARCHES),
    case("GET",    "/api/products/category/{category}",  Nobody,  &[("everything", "?q=zzzz", None), ("everything", "", None)]),
    case("GET",    "/api/products",                      Member,  PLAIN),
    case("POST",   "/api/products",                      Admin,   &[("", "", Json(LARGEST_PRODUCT))]),
    case("GET",    "/api/products/{id}",                 Nobody,  &[("{product n}", "", None)]),
    case("PUT",    "/api/products/{id}",                 Admin,   &[("{product n}", "", Json(PRODUCT_CHANGE))]),
    case("DELETE", "/api/products/{id}",                 Admin,   &[("{product n}", "", None)]),

    case("GET",    "/api/search",                        Member,  FOUND),

    case("POST",   "/api/media",                         Member,  &[("", "", POST_FORMS[0]), ("", "", POST_FORMS[1])]),
    case("GET",    "/media/{key}",                       Nobody,  &[("{image}", "", None)]),

    case("GET",    "/health/live",                       Nobody,  PLAIN),
    case("GET",    "/health/ready",                      Nobody,  PLAIN),

    case("GET",    "/api-docs/openapi.json",             Nobody,  PLAIN),
    case("GET",    "/docs",                              Nobody,  PLAIN),
    case("GET",    "/docs/",                             Nobody,  PLAIN),
    case("GET",    "/docs/{file}",                       Nobody,  &[("swagger-ui-bundle.js", "", None), ("swagger-ui.css", "", None)]),

    case("GET",    "/app",                               Nobody,  PLAIN),
    case("GET",    "/app/",                              Nobody,  PLAIN),
    case("GET",    "/app/{file}",                        Nobody,  &[("index.html", "", None)]),
    case("GET",    "/console",                           Nobody,  PLAIN),
    case("GET",    "/console/",                          Nobody,  PLAIN),
    case("GET",    "/console/{file}",                    Nobody,  &[("index.html", "", None)]),
];
