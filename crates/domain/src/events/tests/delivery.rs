use super::*;

const CREATED: Event = Event::PostCreated(POST, ADA);
const DELETED: Event = Event::PostDeleted(POST, ADA, Visibility::Followers);
const NOTIFIED: Event = Event::Notified(BOB, NOTIFICATION, NotificationKind::Like);

/// Returns what Bob receives of an event, given that he could view the post when he opened the stream.
async fn received(setting: Setting, roles: Roles, topics: &str, event: Event) -> Vec<Message> {
    let mut sessions = MockSessionRepository::new();
    sessions.expect_find_all().returning(move |_| Ok(vec![state(BOB, roles)]));
    let setting_at_open = Setting { is_there: true, ..setting };
    let present = Arc::new(Mutex::new(setting_at_open));
    let world = World::changing(Arc::clone(&present), sessions);
    let (_stream, outlet) = world.open_as(member(BOB, ADMIN), topics).await;
    *present.lock().unwrap() = setting;
    world.live.check().await.unwrap();
    world.publish([event]).await;
    outlet.take()
}

#[tokio::test]
async fn the_feed_topic_delivers_new_posts_to_followers_who_may_view_them() {
    for (visibility, follows, roles, is_delivered) in [
        (Visibility::Public, true, Roles::USER, true),
        (Visibility::Followers, true, Roles::USER, true),
        (Visibility::Private, true, Roles::USER, false),
        (Visibility::Private, true, ADMIN, true),
        (Visibility::Public, false, Roles::USER, false),
        (Visibility::Public, false, ADMIN, false),
    ] {
        let setting = Setting { visibility, follows, ..SETTING };
        let expected = if is_delivered { vec![Message::Feed(POST, ADA)] } else { vec![] };
        assert_eq!(received(setting, roles, "feed", CREATED).await, expected, "{visibility:?} {follows}");
    }
}

#[tokio::test]
async fn the_public_topic_delivers_public_posts_of_enabled_accounts() {
    for (visibility, is_author_enabled, is_delivered) in [
        (Visibility::Public, true, true),
        (Visibility::Public, false, false),
        (Visibility::Followers, true, false),
        (Visibility::Private, true, false),
    ] {
        let setting = Setting { visibility, is_author_enabled, follows: true, ..SETTING };
        let expected = if is_delivered { vec![Message::Public(POST, ADA)] } else { vec![] };
        for roles in [Roles::USER, ADMIN] {
            assert_eq!(received(setting, roles, "public", CREATED).await, expected, "{visibility:?}");
        }
    }
}

#[tokio::test]
async fn a_post_topic_delivers_changes_to_listeners_who_may_view_the_post() {
    for (event, message) in [
        (Event::Commented(POST, COMMENT, CLEO), Message::Comment(POST, COMMENT)),
        (Event::Liked(POST), Message::Like(POST, 3)),
        (Event::PostUpdated(POST), Message::Post(POST, PostChange::Updated)),
    ] {
        for (visibility, follows, roles, is_delivered) in [
            (Visibility::Public, false, Roles::USER, true),
            (Visibility::Followers, false, Roles::USER, false),
            (Visibility::Followers, true, Roles::USER, true),
            (Visibility::Private, true, Roles::USER, false),
            (Visibility::Private, false, ADMIN, true),
        ] {
            let setting = Setting { visibility, follows, ..SETTING };
            let expected = if is_delivered { vec![message] } else { vec![] };
            assert_eq!(received(setting, roles, &post_topic(), event).await, expected, "{event:?} {visibility:?}");
        }
        let gone = Setting { is_there: false, ..SETTING };
        assert_eq!(received(gone, ADMIN, &post_topic(), event).await, [], "{event:?} of a post that is gone");
    }
}

#[tokio::test]
async fn events_across_a_block_are_delivered_to_administrators_only() {
    let blocked = Setting { is_ada_blocked: true, ..SETTING };
    for (topics, event, message) in [
        ("public", CREATED, Message::Public(POST, ADA)),
        (post_topic().as_str(), Event::Liked(POST), Message::Like(POST, 3)),
        (post_topic().as_str(), Event::PostUpdated(POST), Message::Post(POST, PostChange::Updated)),
        (post_topic().as_str(), Event::Commented(POST, COMMENT, CLEO), Message::Comment(POST, COMMENT)),
        (post_topic().as_str(), DELETED, Message::Post(POST, PostChange::Deleted)),
    ] {
        assert_eq!(received(blocked, Roles::USER, topics, event).await, [], "{event:?}");
        assert_eq!(received(blocked, ADMIN, topics, event).await, [message], "{event:?}");
    }
    let by_cleo = Event::Commented(POST, COMMENT, CLEO);
    let from_cleo = Setting { is_cleo_blocked: true, ..SETTING };
    assert_eq!(received(from_cleo, Roles::USER, &post_topic(), by_cleo).await, []);
    assert_eq!(received(from_cleo, ADMIN, &post_topic(), by_cleo).await, [Message::Comment(POST, COMMENT)]);
}

#[tokio::test]
async fn a_comment_that_is_deleted_or_hidden_before_delivery_goes_only_to_those_who_still_see_it() {
    let event = Event::Commented(POST, COMMENT, CLEO);
    for (setting, admin_sees) in [
        (Setting { is_comment_there: false, ..SETTING }, false),
        (Setting { is_comment_hidden: true, ..SETTING }, true),
        (Setting { is_thread_hidden: true, ..SETTING }, true),
    ] {
        assert_eq!(received(setting, Roles::USER, &post_topic(), event).await, []);
        let expected = if admin_sees { vec![Message::Comment(POST, COMMENT)] } else { vec![] };
        assert_eq!(received(setting, ADMIN, &post_topic(), event).await, expected);
    }
}

#[tokio::test]
async fn new_posts_by_muted_users_are_not_delivered() {
    let muted = Setting { follows: true, mutes: true, ..SETTING };
    for roles in [Roles::USER, ADMIN] {
        assert_eq!(received(muted, roles, "feed,public", CREATED).await, []);
        let of_post = received(muted, roles, &post_topic(), Event::Liked(POST)).await;
        assert_eq!(of_post, [Message::Like(POST, 3)], "changes of the post itself are still delivered");
    }
}

#[tokio::test]
async fn the_deletion_of_a_post_is_delivered_to_those_who_could_view_it() {
    for (follows, roles, is_delivered) in [(true, Roles::USER, true), (false, Roles::USER, false), (false, ADMIN, true)]
    {
        let setting = Setting { is_there: false, follows, ..SETTING };
        let expected = if is_delivered { vec![Message::Post(POST, PostChange::Deleted)] } else { vec![] };
        assert_eq!(received(setting, roles, &post_topic(), DELETED).await, expected);
    }
}

#[tokio::test]
async fn a_notification_is_delivered_to_its_recipient_with_the_unread_count() {
    let expected = [Message::Notification(NOTIFICATION, NotificationKind::Like, 5)];
    assert_eq!(received(SETTING, Roles::USER, "notifications", NOTIFIED).await, expected);
    let unseen = Setting { is_seen: false, ..SETTING };
    assert_eq!(received(unseen, Roles::USER, "notifications", NOTIFIED).await, []);
    let of_another = Event::Notified(ADA, NOTIFICATION, NotificationKind::Like);
    assert_eq!(received(SETTING, Roles::USER, "notifications", of_another).await, []);
}

#[tokio::test]
async fn events_outside_the_topics_of_a_stream_are_not_delivered() {
    let other = PostId::new(Uuid::from_u128(99));
    for (topics, event) in [
        ("notifications", CREATED),
        ("feed,public,notifications", Event::Liked(POST)),
        (post_topic().as_str(), Event::Liked(other)),
        (post_topic().as_str(), CREATED),
        ("feed,public", NOTIFIED),
    ] {
        assert_eq!(received(SETTING, ADMIN, topics, event).await, [], "{topics}");
    }
}

#[tokio::test]
async fn a_post_delivered_to_both_timelines_has_two_positions() {
    let world = World::new(Setting { follows: true, ..SETTING });
    let (_stream, outlet) = world.open(BOB, "feed,public").await;
    world.publish([CREATED]).await;
    let feed = Position { epoch: EPOCH, number: 1, part: Part::Feed };
    let expected = [(feed, Message::Feed(POST, ADA)), (Position::after(EPOCH, 1), Message::Public(POST, ADA))];
    let expected = expected.map(|(position, message)| Delivery { position, message });
    assert_eq!(*outlet.received.lock().unwrap(), expected);
}

#[tokio::test]
async fn subscribing_to_a_post_requires_the_right_to_view_it() {
    let outlet = Arc::default();
    for (setting, roles, expected) in [
        (Setting { is_there: false, ..SETTING }, ADMIN, "Post not found"),
        (Setting { visibility: Visibility::Private, ..SETTING }, Roles::USER, "You may not view this post"),
        (Setting { is_ada_blocked: true, ..SETTING }, Roles::USER, "Post not found"),
    ] {
        let world = World::new(setting);
        let refused = world.try_open(member(BOB, roles), &post_topic(), Resume::Now, &outlet).await.err().unwrap();
        assert!(matches!(refused, Error::NotFound(Resource::Post) | Error::Forbidden(Forbidden::PostNotVisible)));
        assert_eq!(refused.to_string(), expected);
        assert_eq!(world.live.figures().open, 0);
    }
}

#[tokio::test]
async fn a_full_queue_ends_its_stream_and_no_other() {
    let world = World::new(SETTING);
    let (_stream, outlet) = world.open(ADA, "public").await;
    let slow = Arc::new(RecordingOutlet { room: Some(2), ..RecordingOutlet::default() });
    let mut stream = world.try_open(member(BOB, Roles::USER), "public", Resume::Now, &slow).await.unwrap();
    assert_eq!(stream.replay().await.unwrap(), None);
    world.publish([CREATED; 5]).await;
    assert_eq!((slow.take().len(), slow.end()), (2, Some(EndReason::TooSlow)));
    assert_eq!((outlet.take().len(), outlet.end()), (5, None));
    let figures = world.live.figures();
    assert_eq!((figures.open, figures.deliveries, figures.ended[&EndReason::TooSlow]), (1, 7, 1));
}

#[tokio::test]
async fn an_account_has_ten_streams_at_most() {
    let world = World::new(SETTING);
    let mut open = Vec::new();
    for _ in 0..MAX_STREAMS_PER_ACCOUNT {
        open.push(world.open(BOB, "public").await);
    }
    let outlet = Arc::default();
    let refused = world.try_open(member(BOB, Roles::USER), "public", Resume::Now, &outlet).await;
    assert!(matches!(refused.err(), Some(Error::TooMany(_))));
    world.open(ADA, "public").await;
    open.pop();
    world.open(BOB, "public").await;
}

#[tokio::test]
async fn shutdown_ends_all_streams_and_rejects_new_ones() {
    let world = World::new(SETTING);
    let (_stream, outlet) = world.open(BOB, "public").await;
    world.live.close();
    assert_eq!(outlet.end(), Some(EndReason::ShuttingDown));
    let refused = world.try_open(member(BOB, Roles::USER), "public", Resume::Now, &outlet).await;
    assert!(matches!(refused.err(), Some(Error::Unavailable(_))));
}

#[tokio::test]
async fn a_check_ends_streams_whose_session_account_or_role_is_gone() {
    let good = state(BOB, Roles::USER);
    for (found, expected) in [
        (Some(good), None),
        (None, Some(EndReason::SessionEnded)),
        (Some(SessionState { revoked: true, ..good }), Some(EndReason::SessionEnded)),
        (Some(SessionState { enabled: false, ..good }), Some(EndReason::SessionEnded)),
        (Some(SessionState { roles: Roles::NONE, ..good }), Some(EndReason::SessionEnded)),
    ] {
        let mut sessions = MockSessionRepository::new();
        sessions.expect_find_all().once().returning(move |_| Ok(found.into_iter().collect()));
        let world = World::with_sessions(SETTING, sessions);
        let (_stream, outlet) = world.open(BOB, "public").await;
        world.live.check().await.unwrap();
        assert_eq!(outlet.end(), expected);
    }
}

#[tokio::test]
async fn a_stream_ends_when_its_token_expires() {
    let mut sessions = MockSessionRepository::new();
    sessions.expect_find_all().returning(|_| Ok(vec![state(BOB, Roles::USER)]));
    let (world, outlet) = (World::with_sessions(SETTING, sessions), Arc::<RecordingOutlet>::default());
    let topics = Topics::parse("public").unwrap();
    let sender = Arc::clone(&outlet) as Arc<dyn Outlet>;
    let _stream = world.live.open(member(BOB, Roles::USER), NOW, topics, Resume::Now, sender).await.unwrap();
    world.live.check().await.unwrap();
    assert_eq!(outlet.end(), Some(EndReason::TokenExpired));
}

#[tokio::test]
async fn a_changed_role_applies_to_later_events() {
    let mut sessions = MockSessionRepository::new();
    sessions.expect_find_all().returning(|_| Ok(vec![state(BOB, Roles::USER)]));
    let world = World::with_sessions(Setting { visibility: Visibility::Private, ..SETTING }, sessions);
    let (_stream, outlet) = world.open_as(member(BOB, ADMIN), &post_topic()).await;
    world.publish([Event::Liked(POST)]).await;
    assert_eq!(outlet.take(), [Message::Like(POST, 3)]);
    world.live.check().await.unwrap();
    world.publish([Event::Liked(POST)]).await;
    assert_eq!(outlet.take(), []);
}
