use super::*;

const CREATED: Event = Event::PostCreated(POST, ADA);
const DELETED: Event = Event::PostDeleted(POST, ADA, Visibility::Followers);
const NOTIFIED: Event = Event::Notified(BOB, TOLD, NotificationKind::Like);

/// Returns what Bob hears of an event, who could view the post when the stream was opened.
async fn heard(setting: Setting, roles: Roles, topics: &str, event: Event) -> Vec<Message> {
    let mut sessions = MockSessionRepository::new();
    sessions.expect_find_all().returning(move |_| Ok(vec![state(BOB, roles)]));
    let setting_at_first = Setting { is_there: true, ..setting };
    let present = Arc::new(Mutex::new(setting_at_first));
    let world = World::changing(Arc::clone(&present), sessions);
    let (_stream, ear) = world.open_as(member(BOB, ADMIN), topics).await;
    *present.lock().unwrap() = setting;
    world.live.check().await.unwrap();
    world.tell([event]).await;
    ear.take()
}

#[tokio::test]
async fn a_new_post_is_told_to_followers_in_their_feed() {
    for (visibility, follows, roles, is_told) in [
        (Visibility::Public, true, Roles::USER, true),
        (Visibility::Followers, true, Roles::USER, true),
        (Visibility::Private, true, Roles::USER, false),
        (Visibility::Private, true, ADMIN, true),
        (Visibility::Public, false, Roles::USER, false),
        (Visibility::Public, false, ADMIN, false),
    ] {
        let setting = Setting { visibility, follows, ..SETTING };
        let expected = if is_told { vec![Message::Feed(POST, ADA)] } else { vec![] };
        assert_eq!(heard(setting, roles, "feed", CREATED).await, expected, "{visibility:?} {follows}");
    }
}

#[tokio::test]
async fn the_public_timeline_has_public_posts_of_enabled_accounts() {
    for (visibility, is_author_enabled, is_told) in [
        (Visibility::Public, true, true),
        (Visibility::Public, false, false),
        (Visibility::Followers, true, false),
        (Visibility::Private, true, false),
    ] {
        let setting = Setting { visibility, is_author_enabled, follows: true, ..SETTING };
        let expected = if is_told { vec![Message::Public(POST, ADA)] } else { vec![] };
        for roles in [Roles::USER, ADMIN] {
            assert_eq!(heard(setting, roles, "public", CREATED).await, expected, "{visibility:?}");
        }
    }
}

#[tokio::test]
async fn what_happens_to_a_post_is_told_to_those_who_may_view_it() {
    for (event, message) in [
        (Event::Commented(POST, COMMENT, CLEO), Message::Comment(POST, COMMENT)),
        (Event::Liked(POST), Message::Like(POST, 3)),
        (Event::PostUpdated(POST), Message::Post(POST, PostChange::Updated)),
    ] {
        for (visibility, follows, roles, is_told) in [
            (Visibility::Public, false, Roles::USER, true),
            (Visibility::Followers, false, Roles::USER, false),
            (Visibility::Followers, true, Roles::USER, true),
            (Visibility::Private, true, Roles::USER, false),
            (Visibility::Private, false, ADMIN, true),
        ] {
            let setting = Setting { visibility, follows, ..SETTING };
            let expected = if is_told { vec![message] } else { vec![] };
            assert_eq!(heard(setting, roles, &post_topic(), event).await, expected, "{event:?} {visibility:?}");
        }
        let gone = Setting { is_there: false, ..SETTING };
        assert_eq!(heard(gone, ADMIN, &post_topic(), event).await, [], "{event:?} of a post that is gone");
    }
}

#[tokio::test]
async fn nothing_is_told_of_those_apart_from_the_listener_but_to_admin() {
    let apart = Setting { are_apart: true, ..SETTING };
    for (topics, event, message) in [
        ("public", CREATED, Message::Public(POST, ADA)),
        (post_topic().as_str(), Event::Liked(POST), Message::Like(POST, 3)),
        (post_topic().as_str(), Event::PostUpdated(POST), Message::Post(POST, PostChange::Updated)),
        (post_topic().as_str(), Event::Commented(POST, COMMENT, CLEO), Message::Comment(POST, COMMENT)),
        (post_topic().as_str(), DELETED, Message::Post(POST, PostChange::Deleted)),
    ] {
        assert_eq!(heard(apart, Roles::USER, topics, event).await, [], "{event:?}");
        assert_eq!(heard(apart, ADMIN, topics, event).await, [message], "{event:?}");
    }
    let by_cleo = Event::Commented(POST, COMMENT, CLEO);
    let from_cleo = Setting { is_cleo_apart: true, ..SETTING };
    assert_eq!(heard(from_cleo, Roles::USER, &post_topic(), by_cleo).await, []);
    assert_eq!(heard(from_cleo, ADMIN, &post_topic(), by_cleo).await, [Message::Comment(POST, COMMENT)]);
}

#[tokio::test]
async fn a_comment_that_is_gone_or_hidden_when_it_is_told_is_told_to_those_alone_who_see_it() {
    let event = Event::Commented(POST, COMMENT, CLEO);
    for (setting, admin_sees) in [
        (Setting { is_comment_there: false, ..SETTING }, false),
        (Setting { is_comment_hidden: true, ..SETTING }, true),
        (Setting { is_thread_hidden: true, ..SETTING }, true),
    ] {
        assert_eq!(heard(setting, Roles::USER, &post_topic(), event).await, []);
        let expected = if admin_sees { vec![Message::Comment(POST, COMMENT)] } else { vec![] };
        assert_eq!(heard(setting, ADMIN, &post_topic(), event).await, expected);
    }
}

#[tokio::test]
async fn posts_of_those_whom_the_listener_mutes_are_in_no_timeline() {
    let muted = Setting { follows: true, mutes: true, ..SETTING };
    for roles in [Roles::USER, ADMIN] {
        assert_eq!(heard(muted, roles, "feed,public", CREATED).await, []);
        let of_post = heard(muted, roles, &post_topic(), Event::Liked(POST)).await;
        assert_eq!(of_post, [Message::Like(POST, 3)], "what happens to a post is told as before");
    }
}

#[tokio::test]
async fn that_a_post_is_deleted_is_told_to_those_who_could_view_it() {
    for (follows, roles, is_told) in [(true, Roles::USER, true), (false, Roles::USER, false), (false, ADMIN, true)] {
        let setting = Setting { is_there: false, follows, ..SETTING };
        let expected = if is_told { vec![Message::Post(POST, PostChange::Deleted)] } else { vec![] };
        assert_eq!(heard(setting, roles, &post_topic(), DELETED).await, expected);
    }
}

#[tokio::test]
async fn a_notification_is_told_to_its_recipient_with_what_is_unread() {
    let expected = [Message::Notification(TOLD, NotificationKind::Like, 5)];
    assert_eq!(heard(SETTING, Roles::USER, "notifications", NOTIFIED).await, expected);
    let unseen = Setting { is_seen: false, ..SETTING };
    assert_eq!(heard(unseen, Roles::USER, "notifications", NOTIFIED).await, []);
    let of_another = Event::Notified(ADA, TOLD, NotificationKind::Like);
    assert_eq!(heard(SETTING, Roles::USER, "notifications", of_another).await, []);
}

#[tokio::test]
async fn nobody_is_told_of_what_they_do_not_listen_to() {
    let other = PostId::new(Uuid::from_u128(99));
    for (topics, event) in [
        ("notifications", CREATED),
        ("feed,public,notifications", Event::Liked(POST)),
        (post_topic().as_str(), Event::Liked(other)),
        (post_topic().as_str(), CREATED),
        ("feed,public", NOTIFIED),
    ] {
        assert_eq!(heard(SETTING, ADMIN, topics, event).await, [], "{topics}");
    }
}

#[tokio::test]
async fn a_post_that_is_told_twice_has_two_positions() {
    let world = World::new(Setting { follows: true, ..SETTING });
    let (_stream, ear) = world.open(BOB, "feed,public").await;
    world.tell([CREATED]).await;
    let feed = Position { epoch: EPOCH, number: 1, part: Part::Feed };
    let expected = [(feed, Message::Feed(POST, ADA)), (Position::after(EPOCH, 1), Message::Public(POST, ADA))];
    let expected = expected.map(|(position, message)| Delivery { position, message });
    assert_eq!(*ear.heard.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_post_that_cannot_be_viewed_cannot_be_listened_to() {
    let ear = Arc::default();
    for (setting, roles, expected) in [
        (Setting { is_there: false, ..SETTING }, ADMIN, "Post not found"),
        (Setting { visibility: Visibility::Private, ..SETTING }, Roles::USER, "You may not view this post"),
        (Setting { are_apart: true, ..SETTING }, Roles::USER, "Post not found"),
    ] {
        let world = World::new(setting);
        let refused = world.try_open(member(BOB, roles), &post_topic(), Resume::Now, &ear).await.err().unwrap();
        assert!(matches!(refused, Error::NotFound(Resource::Post) | Error::Forbidden(Forbidden::PostNotVisible)));
        assert_eq!(refused.to_string(), expected);
        assert_eq!(world.live.figures().open, 0);
    }
}

#[tokio::test]
async fn a_listener_without_room_is_ended_and_others_are_told() {
    let world = World::new(SETTING);
    let (_stream, ear) = world.open(ADA, "public").await;
    let slow = Arc::new(Ear { room: Some(2), ..Ear::default() });
    let mut stream = world.try_open(member(BOB, Roles::USER), "public", Resume::Now, &slow).await.unwrap();
    assert_eq!(stream.replay().await.unwrap(), None);
    world.tell([CREATED; 5]).await;
    assert_eq!((slow.take().len(), slow.end()), (2, Some(EndReason::TooSlow)));
    assert_eq!((ear.take().len(), ear.end()), (5, None));
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
    let ear = Arc::default();
    let refused = world.try_open(member(BOB, Roles::USER), "public", Resume::Now, &ear).await;
    assert!(matches!(refused.err(), Some(Error::TooMany(_))));
    world.open(ADA, "public").await;
    open.pop();
    world.open(BOB, "public").await;
}

#[tokio::test]
async fn streams_end_when_the_service_stops_and_none_begins() {
    let world = World::new(SETTING);
    let (_stream, ear) = world.open(BOB, "public").await;
    world.live.close();
    assert_eq!(ear.end(), Some(EndReason::ShuttingDown));
    let refused = world.try_open(member(BOB, Roles::USER), "public", Resume::Now, &ear).await;
    assert!(matches!(refused.err(), Some(Error::Unavailable(_))));
}

#[tokio::test]
async fn a_stream_ends_with_the_right_to_listen() {
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
        let (_stream, ear) = world.open(BOB, "public").await;
        world.live.check().await.unwrap();
        assert_eq!(ear.end(), expected);
    }
}

#[tokio::test]
async fn a_stream_ends_with_its_token() {
    let mut sessions = MockSessionRepository::new();
    sessions.expect_find_all().returning(|_| Ok(vec![state(BOB, Roles::USER)]));
    let (world, ear) = (World::with_sessions(SETTING, sessions), Arc::<Ear>::default());
    let topics = Topics::parse("public").unwrap();
    let outlet = Arc::clone(&ear) as Arc<dyn Outlet>;
    let _stream = world.live.open(member(BOB, Roles::USER), NOW, topics, Resume::Now, outlet).await.unwrap();
    world.live.check().await.unwrap();
    assert_eq!(ear.end(), Some(EndReason::TokenExpired));
}

#[tokio::test]
async fn a_role_that_is_given_counts_for_what_is_told_next() {
    let mut sessions = MockSessionRepository::new();
    sessions.expect_find_all().returning(|_| Ok(vec![state(BOB, Roles::USER)]));
    let world = World::with_sessions(Setting { visibility: Visibility::Private, ..SETTING }, sessions);
    let (_stream, ear) = world.open_as(member(BOB, ADMIN), &post_topic()).await;
    world.tell([Event::Liked(POST)]).await;
    assert_eq!(ear.take(), [Message::Like(POST, 3)]);
    world.live.check().await.unwrap();
    world.tell([Event::Liked(POST)]).await;
    assert_eq!(ear.take(), []);
}
