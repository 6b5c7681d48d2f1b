use std::sync::Arc;

use mockall::Sequence;
use mockall::predicate::eq;
use uuid::Uuid;

use super::*;
use crate::accounts::{Member, Role, Roles};
use crate::clock::Timestamp;
use crate::error::{Error, Resource};
use crate::fixtures::{clock, member};
use crate::id::{NotificationId, UserId};
use crate::notices::NotificationKind;
use crate::page::{Page, PageRequest};
use crate::posts::VisibleTo;

const ADA: UserId = UserId::new(Uuid::from_u128(1));
const ID: NotificationId = NotificationId::new(Uuid::from_u128(10));
const SEEN: Timestamp = Timestamp::from_unix_millis(7);

fn ada(roles: Roles) -> Member {
    member(ADA, roles)
}

fn notifications(expect: impl FnOnce(&mut MockNotificationRepository)) -> Notifications {
    let mut notifications = MockNotificationRepository::new();
    expect(&mut notifications);
    Notifications { notifications: Arc::new(notifications) }
}

fn empty<T>() -> Page<T> {
    Page { items: vec![], keys: vec![], prev: None, next: None }
}

#[tokio::test]
async fn every_call_is_limited_to_the_callers_own_visible_notifications() {
    for roles in [Roles::USER, Roles::NONE.with(Role::Admin, true)] {
        let caller = ada(roles);
        let visible = VisibleTo::of(&caller);
        let notifications = notifications(|mock| {
            let kinds = |kinds: &[NotificationKind]| kinds == [NotificationKind::Reply];
            mock.expect_list()
                .once()
                .withf(move |by, of, page| *by == visible && kinds(of) && *page == PageRequest::FIRST)
                .returning(|_, _, _| Ok(empty()));
            mock.expect_count_unread().once().with(eq(visible)).returning(|_| Ok(7));
            mock.expect_mark_read().once().with(eq(ADA), eq(ID), eq(Some(SEEN))).returning(|_, _, _| Ok(()));
            mock.expect_list_actors()
                .once()
                .with(eq(visible), eq(ID), eq(PageRequest::FIRST))
                .returning(|_, _, _| Ok(Some(empty())));
        });
        assert!(notifications.list(&caller, &[NotificationKind::Reply], PageRequest::FIRST).await.is_ok());
        assert_eq!(notifications.count_unread(&caller).await.unwrap(), 7);
        notifications.mark_read(&caller, ID, Some(SEEN)).await.unwrap();
        assert!(notifications.list_actors(&caller, ID, PageRequest::FIRST).await.is_ok());
    }
}

#[tokio::test]
async fn listing_the_actors_of_a_missing_notification_fails_with_not_found() {
    let notifications = notifications(|mock| {
        mock.expect_list_actors().returning(|_, _, _| Ok(None));
    });
    let actors = notifications.list_actors(&ada(Roles::USER), ID, PageRequest::FIRST).await;
    assert!(matches!(actors, Err(Error::NotFound(Resource::Notification))), "{actors:?}");
}

#[tokio::test]
async fn settings_are_the_callers_own() {
    let chosen = NotificationSettings::default().with(NotificationKind::Follow, NotificationPolicy::None);
    let changes = [(NotificationKind::Follow, NotificationPolicy::None)];
    let notifications = notifications(|mock| {
        mock.expect_settings().once().with(eq(ADA)).returning(move |_| Ok(chosen));
        mock.expect_change_settings()
            .once()
            .withf(move |user, given| (*user, given) == (ADA, &changes[..]))
            .returning(move |_, _| Ok(chosen));
    });
    assert_eq!(notifications.settings(&ada(Roles::USER)).await.unwrap(), chosen);
    assert_eq!(notifications.change_settings(&ada(Roles::USER), &changes).await.unwrap(), chosen);
}

#[tokio::test]
async fn the_sweep_continues_until_nothing_is_left() {
    let mut mock = MockNotificationRepository::new();
    let mut sequence = Sequence::new();
    let before = Timestamp::from_unix_millis(1_000);
    for rows in [500, 20, 0] {
        mock.expect_delete_created_before()
            .once()
            .in_sequence(&mut sequence)
            .with(eq(before))
            .returning(move |_| Ok(rows));
    }
    for (after, rows, last) in [(None, 3, Some(ADA)), (Some(ADA), 0, None)] {
        mock.expect_trim().once().in_sequence(&mut sequence).with(eq(after)).returning(move |_| Ok((rows, last)));
    }
    let clock = clock(before.plus_millis(RETENTION_MILLIS));
    let sweep = NotificationSweep { notifications: Arc::new(mock), clock };
    assert_eq!(sweep.run().await.unwrap(), 523);
}

#[test]
fn an_excerpt_is_cut_between_characters() {
    for (text, expected) in [
        ("short".to_owned(), "short".to_owned()),
        ("é".repeat(140), "é".repeat(140)),
        ("😀".repeat(141), "😀".repeat(140)),
    ] {
        assert_eq!(Excerpt::of(text).as_str(), expected);
    }
}

#[test]
fn the_default_policy_is_everyone_and_each_kind_changes_separately() {
    let settings = NotificationSettings::default();
    assert!(settings.iter().all(|(_, policy)| policy == NotificationPolicy::Everyone));
    let changed = settings.with(NotificationKind::Mention, NotificationPolicy::Following);
    for (kind, policy) in changed.iter() {
        let is_changed = kind == NotificationKind::Mention;
        assert_eq!(policy == NotificationPolicy::Following, is_changed, "{kind:?}");
    }
    for policy in NotificationPolicy::ALL {
        assert_eq!(policy.as_str().parse(), Ok(policy));
    }
    let admits = NotificationPolicy::ALL.map(|policy| [policy.admits(false), policy.admits(true)]);
    assert_eq!(admits, [[true, true], [false, true], [false, false]]);
    assert!("all".parse::<NotificationPolicy>().is_err());
}
