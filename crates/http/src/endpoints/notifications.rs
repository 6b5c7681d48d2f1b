//! `/api/notifications…`: notifications of what other users did.

use std::collections::BTreeSet;

use actix_web::web::Data;
use agora_domain::FieldErrors;
use agora_domain::accounts::{Member, UserPreview};
use agora_domain::clock::Timestamp;
use agora_domain::error::FieldName;
use agora_domain::id::NotificationId;
use agora_domain::notices::NotificationKind;
use agora_domain::notifications::{
    CommentExcerpt, Notification, NotificationPolicy, NotificationSettings, PostExcerpt, SHOWN_ACTORS,
};
use agora_domain::page::PageRequest;
use garde::Validate;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::{Array, ArrayBuilder};
use uuid::Uuid;

use crate::core::{ApiError, State, schema};
use crate::request::{Auth, Body, Field, List, NotificationFilter, PathId, Query, ShortPaging, optional, required};
use crate::response::{
    Done, Entry, HandlerResult, Instant, ListRequest, MiniBody, MinisAnswer, NotFound, SUCCESS, answers, done,
    empty_list, image_url, ok, views,
};

answers! {
    /// The caller's notifications.
    NotificationsAnswer { Vec<NotificationBody<'static>> }
    /// The number of unread notifications.
    UnreadAnswer { Unread }
    /// The caller's notification settings.
    NotificationSettingsAnswer { SettingsBody }
}

views! {
    /// A post as a notification shows it.
    PostExcerptBody as PostExcerpt of post: PostExcerpt, state: &State {
        /// The id of the post.
        id: Uuid = post.id.uuid(),
        content: &'a str [schema::excerpt] = post.content.as_str(),
        image: Option<String> [schema::image_or_null] = image_url(state, post.image.as_ref()),
    }

    /// A comment as a notification shows it.
    CommentExcerptBody as CommentExcerpt of comment: CommentExcerpt {
        /// The id of the comment.
        id: Uuid = comment.id.uuid(),
        content: &'a str [schema::excerpt] = comment.content.as_str(),
    }

    /// A notification about actions of other users. All likes of a post or comment on one day (UTC) share one, and so do all
    /// follows.
    NotificationBody as Notification of told: Notification, state: &State {
        /// The id of the notification.
        id: Uuid = told.id.uuid(),
        #[serde(rename = "type")]
        kind: &'static str [schema::notification_type] = told.kind.as_str(),
        created_at: Instant [schema::created_at] = Instant(told.created_at),
        updated_at: Instant [schema::updated_notification_at] = Instant(told.updated_at),
        /// Whether the caller has read it. A new actor makes it unread again.
        read: bool = told.read,
        /// The number of actors.
        count: u64 = told.count,
        actors: Vec<MiniBody<'a>> [actors] = told.actors.iter().map(|actor| MiniBody::of(actor, state)).collect(),
        /// The post that it is about; null for a follow.
        #[schema(required = true)]
        post: Option<PostExcerptBody<'a>> = told.post.as_ref().map(|post| PostExcerptBody::of(post, state)),
        /// The comment that it is about, or null.
        #[schema(required = true)]
        comment: Option<CommentExcerptBody<'a>> = told.comment.as_ref().map(CommentExcerptBody::of),
    }
}

/// Returns the schema of the users whose acts a notification reports.
fn actors() -> Array {
    ArrayBuilder::new()
        .items(schema::reference::<MiniBody<'static>>())
        .description(Some("The newest actors. All of them: `GET /api/notifications/{notificationId}/actors`."))
        .max_items(Some(SHOWN_ACTORS))
        .build()
}

/// List notifications
///
/// Latest `updatedAt` first. Notifications about posts that the caller may not view, or about something that was deleted, are
/// left out. The newest 1,000 are kept, for 90 days.
#[utoipa::path(get, path = "", operation_id = "listNotifications", tag = "Notifications",
    params(NotificationFilter, ShortPaging),
    responses((status = 200, description = "A page of notifications.", body = NotificationsAnswer)))]
pub(crate) async fn list(request: ListRequest, caller: Auth<Member>) -> HandlerResult {
    let (state, (kinds, page)) = (&request.state, filtered_page(&request.query)?);
    let read = async |page| state.services.notifications.list(&caller, &kinds, page).await;
    let render = |told: &Notification, entry: Entry<'_>| entry.write(&NotificationBody::of(told, state));
    request.answer(List::Notifications, page, |_| empty_list(SUCCESS), read, render).await
}

fn filtered_page(query: &Query) -> Result<(Vec<NotificationKind>, PageRequest), ApiError> {
    let mut errors = FieldErrors::default();
    let kinds: Result<BTreeSet<_>, _> = query.get_all(FieldName::Kind).map(str::parse).collect();
    let kinds = errors.check(FieldName::Kind, kinds).unwrap_or_default();
    Ok((kinds.into_iter().collect(), query.short_page_with(List::Notifications, errors)?))
}

/// The number of unread notifications.
#[derive(Serialize, ToSchema)]
struct Unread {
    /// The number.
    count: u64,
}

/// Count unread notifications
///
/// Counts only notifications that the list shows.
#[utoipa::path(get, path = "", operation_id = "countUnreadNotifications", tag = "Notifications",
    responses((status = 200, description = "The number of unread notifications.", body = UnreadAnswer)))]
pub(crate) async fn count_unread(state: Data<State>, caller: Auth<Member>) -> HandlerResult {
    let count = state.services.notifications.count_unread(&caller).await?;
    ok(SUCCESS, Unread { count })
}

/// The notification up to which the caller has read.
#[derive(Deserialize, Validate, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReadMark {
    /// The id of the most recently changed notification that the caller has read.
    #[garde(custom(required))]
    #[schema(value_type = Uuid)]
    up_to: Field<NotificationId>,
    #[garde(custom(optional))]
    #[schema(schema_with = schema::read_updated_at, required = false)]
    updated_at: Field<Timestamp>,
}

/// Mark notifications as read
///
/// Marks the given notification and all older ones. Nothing that was read becomes unread, so several devices may do this in any
/// order.
#[utoipa::path(get, path = "", operation_id = "markNotificationsRead", tag = "Notifications", request_body = ReadMark,
    responses((status = 200, description = "`success`", body = Done), NotFound))]
pub(crate) async fn mark_read(state: Data<State>, caller: Auth<Member>, body: Body) -> HandlerResult {
    let ReadMark { up_to, updated_at } = body.valid_json().await?;
    state.services.notifications.mark_read(&caller, up_to.validated()?, updated_at.value()).await?;
    done(SUCCESS)
}

/// List the actors of a notification
///
/// Newest action first. For its recipient.
#[utoipa::path(get, path = "", operation_id = "listNotificationActors", tag = "Notifications", params(ShortPaging),
    responses((status = 200, description = "A page of users.", body = MinisAnswer), NotFound))]
pub(crate) async fn list_actors(
    request: ListRequest,
    caller: Auth<Member>,
    id: PathId<NotificationId>,
) -> HandlerResult {
    let (state, page) = (&request.state, request.query.short_page(List::Actors)?);
    let read = async |page| state.services.notifications.list_actors(&caller, id.0, page).await;
    let render = |user: &UserPreview, entry: Entry<'_>| entry.write(&MiniBody::of(user, state));
    request.answer(List::Actors, page, |_| empty_list(SUCCESS), read, render).await
}

/// Declares the settings: the field for each kind of notification.
macro_rules! settings {
    ($($(#[doc = $doc:literal])+ $field:ident: $kind:ident,)+) => {
        /// Whose actions notify the caller, by type: everybody's, those of users whom the caller follows at that time, or
        /// nobody's.
        #[derive(Serialize, ToSchema)]
        #[serde(rename_all = "camelCase")]
        #[schema(as = NotificationSettings)]
        struct SettingsBody {
            $(
                $(#[doc = $doc])+
                #[schema(schema_with = schema::notification_policy)]
                $field: &'static str,
            )+
        }

        impl SettingsBody {
            fn of(settings: NotificationSettings) -> Self {
                Self { $($field: settings.get(NotificationKind::$kind).as_str(),)+ }
            }
        }

        /// Changes to the notification settings. Absent types stay as they are.
        #[derive(Deserialize, Validate, ToSchema)]
        #[serde(rename_all = "camelCase")]
        pub(crate) struct SettingsChange {
            $(
                $(#[doc = $doc])+
                #[garde(custom(optional))]
                #[schema(schema_with = schema::notification_policy, required = false)]
                $field: Field<NotificationPolicy>,
            )+
        }

        impl SettingsChange {
            fn into_changes(self) -> Vec<(NotificationKind, NotificationPolicy)> {
                let changes = [$((NotificationKind::$kind, self.$field.value()),)+];
                changes.into_iter().filter_map(|(kind, policy)| Some((kind, policy?))).collect()
            }
        }
    };
}

settings! {
    /// Likes of posts.
    like: Like,
    /// Comments on posts.
    comment: Comment,
    /// Replies to comments.
    reply: Reply,
    /// Mentions in posts and comments.
    mention: Mention,
    /// Follows.
    follow: Follow,
    /// Likes of comments.
    comment_like: CommentLike,
    /// Reports, which notify administrators.
    report: Report,
}

/// Get the notification settings
///
/// By type of notification.
#[utoipa::path(get, path = "", operation_id = "getNotificationSettings", tag = "Notifications",
    responses((status = 200, description = "The settings.", body = NotificationSettingsAnswer)))]
pub(crate) async fn settings(state: Data<State>, caller: Auth<Member>) -> HandlerResult {
    ok(SUCCESS, SettingsBody::of(state.services.notifications.settings(&caller).await?))
}

/// Change the notification settings
///
/// They apply to actions from now on: existing notifications stay.
#[utoipa::path(get, path = "", operation_id = "changeNotificationSettings", tag = "Notifications",
    request_body = SettingsChange,
    responses((status = 200, description = "All settings after the change.", body = NotificationSettingsAnswer)))]
pub(crate) async fn change_settings(state: Data<State>, caller: Auth<Member>, body: Body) -> HandlerResult {
    let changes = body.valid_json::<SettingsChange>().await?.into_changes();
    ok(SUCCESS, SettingsBody::of(state.services.notifications.change_settings(&caller, &changes).await?))
}
