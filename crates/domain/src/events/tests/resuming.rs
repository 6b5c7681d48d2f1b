use super::*;

const CREATED: Event = Event::PostCreated(POST, ADA);
const LIKED: Event = Event::Liked(POST);

fn at(number: u64) -> Resume {
    Resume::After(Some(Position::after(EPOCH, number)))
}

/// Replays everything that a stream has missed; returns the event numbers and messages.
async fn missed(stream: &mut Subscription) -> Vec<(u64, Message)> {
    let mut all = Vec::new();
    while let Some(missed) = stream.replay().await.unwrap() {
        all.extend(missed.into_iter().map(|delivery| (delivery.position.number, delivery.message)));
    }
    all
}

async fn resumed(
    world: &World,
    topics: &str,
    resume: Resume,
) -> (Subscription, Arc<RecordingOutlet>, Vec<(u64, Message)>) {
    let outlet = Arc::default();
    let mut stream = world.try_open(member(BOB, Roles::USER), topics, resume, &outlet).await.unwrap();
    let missed = missed(&mut stream).await;
    (stream, outlet, missed)
}

#[tokio::test]
async fn a_new_stream_begins_with_the_next_event() {
    let world = World::new(SETTING);
    world.publish([CREATED]).await;
    let (stream, outlet) = world.open(BOB, "public").await;
    assert_eq!(stream.begins_at(), Position::after(EPOCH, 1));
    world.publish([CREATED]).await;
    assert_eq!(outlet.take(), [Message::Public(POST, ADA)]);
}

#[tokio::test]
async fn a_resumed_stream_receives_missed_events_once_and_in_order() {
    let world = World::new(SETTING);
    world.log.add([CREATED, LIKED, CREATED, CREATED]);
    // Another stream makes this node dispatch the events.
    let (_other, _) = world.open(ADA, "public").await;
    world.dispatch().await;
    let (_stream, outlet, missed) = resumed(&world, "public", at(1)).await;
    assert_eq!(missed, [(3, Message::Public(POST, ADA)), (4, Message::Public(POST, ADA))]);
    world.publish([CREATED]).await;
    assert_eq!(outlet.received.lock().unwrap().iter().map(|it| it.position.number).collect::<Vec<_>>(), [5]);
}

#[tokio::test]
async fn no_event_is_lost_or_repeated_between_replay_and_live_delivery() {
    for cut in 0..40 {
        let world = World::new(Setting { follows: true, ..SETTING });
        let (_other, _) = world.open(ADA, "public").await;
        let outlet = Arc::<RecordingOutlet>::default();
        world.log.add([CREATED; 10]);
        let mut stream = world.try_open(member(BOB, Roles::USER), "feed,public", at(0), &outlet).await.unwrap();
        let mut delivered = Vec::new();
        // The dispatcher runs between any two of the steps.
        for step in 0..4 {
            if cut % 4 == step {
                world.publish([CREATED; 3]).await;
            }
            if cut / 4 % 5 == step {
                world.log.add([CREATED; 2]);
            }
            if let Some(missed) = stream.replay().await.unwrap() {
                delivered.extend(missed.into_iter().map(|delivery| delivery.position));
            }
        }
        world.publish([CREATED]).await;
        delivered.extend(outlet.received.lock().unwrap().iter().map(|delivery| delivery.position));
        let numbers = 1..=world.log.end().number;
        let position = |number| [Part::Feed, Part::Rest].map(|part| Position { epoch: EPOCH, number, part });
        assert_eq!(delivered, numbers.flat_map(position).collect::<Vec<_>>(), "cut {cut}");
    }
}

#[tokio::test]
async fn resuming_between_the_parts_of_an_event_delivers_the_remaining_part() {
    let world = World::new(Setting { follows: true, ..SETTING });
    world.log.add([CREATED, CREATED]);
    let between = Position { epoch: EPOCH, number: 1, part: Part::Feed };
    let (_stream, _, missed) = resumed(&world, "feed,public", Resume::After(Some(between))).await;
    let (feed, public) = (Message::Feed(POST, ADA), Message::Public(POST, ADA));
    assert_eq!(missed, [(1, public), (2, feed), (2, public)]);
}

#[tokio::test]
async fn events_already_delivered_by_another_node_are_not_repeated() {
    let world = World::new(SETTING);
    let (_other, _) = world.open(ADA, "public").await;
    // This node has read three events and delivered none of them.
    world.log.add([CREATED; 3]);
    let (_stream, outlet, missed) = resumed(&world, "public", at(2)).await;
    assert_eq!(missed, []);
    world.live.heartbeat(0);
    world.live.heartbeat(1);
    assert_eq!(outlet.take(), [], "its position would be before what was delivered");
    world.dispatch().await;
    assert_eq!(outlet.received.lock().unwrap().iter().map(|it| it.position.number).collect::<Vec<_>>(), [3]);
}

#[tokio::test]
async fn resuming_from_an_unavailable_position_sends_a_reset() {
    let world = World::new(SETTING);
    world.log.restart(EPOCH, 5);
    world.log.add([CREATED]);
    let elsewhere = Position::after(EPOCH + 1, 5);
    for resume in [at(4), at(9), Resume::After(Some(elsewhere)), Resume::After(None)] {
        let (stream, outlet, missed) = resumed(&world, "public", resume).await;
        assert_eq!(missed, [(6, Message::Reset)], "{resume:?}");
        assert_eq!(stream.begins_at(), Position::after(EPOCH, 6));
        world.dispatch().await;
        assert_eq!(outlet.take(), []);
    }
    assert_eq!(world.live.figures().resets, 4);
    let (_stream, _, missed) = resumed(&world, "public", at(5)).await;
    assert_eq!(missed, [(6, Message::Public(POST, ADA))]);
}

#[tokio::test]
async fn losing_the_log_resets_every_stream() {
    let world = World::new(SETTING);
    world.log.add([CREATED; 10]);
    let (_one, one) = world.open(BOB, "public").await;
    let (_two, two) = world.open(BOB, "notifications").await;
    world.log.restart(EPOCH + 1, 0);
    world.publish([CREATED]).await;
    assert_eq!((one.take(), two.take()), (vec![Message::Reset], vec![Message::Reset]));
    // The numbers of the new log are less than those of the old one.
    world.publish([CREATED]).await;
    assert_eq!(one.take(), [Message::Public(POST, ADA)]);
    for part in 0..HEARTBEAT_PARTS {
        world.live.heartbeat(part);
    }
    assert_eq!((one.take(), two.take()), (vec![Message::Heartbeat], vec![Message::Heartbeat]));
}

#[tokio::test]
async fn a_failed_audience_lookup_resets_the_matching_streams() {
    let world = World::new(Setting { fails: true, ..SETTING });
    let (_one, one) = world.open(BOB, "public").await;
    let (_two, two) = world.open(BOB, "notifications").await;
    world.log.add([CREATED]);
    assert!(matches!(world.live.dispatch().await, Err(Error::Unavailable(_))));
    assert_eq!((one.take(), two.take()), (vec![Message::Reset], vec![]));
}

#[tokio::test]
async fn a_heartbeat_has_the_position_of_the_last_dispatched_event() {
    let world = World::new(SETTING);
    let (_stream, outlet) = world.open(BOB, "notifications").await;
    world.publish([CREATED; 3]).await;
    for part in 0..HEARTBEAT_PARTS {
        world.live.heartbeat(part);
    }
    let expected = Delivery { position: Position::after(EPOCH, 3), message: Message::Heartbeat };
    assert_eq!(*outlet.received.lock().unwrap(), [expected]);
}

#[tokio::test]
async fn a_large_backlog_is_dispatched_in_batches() {
    let world = World::new(SETTING);
    let (_stream, outlet) = world.open(BOB, "public").await;
    world.log.add([CREATED; 1_000]);
    let mut calls = 1;
    loop {
        let dispatched = world.live.dispatch().await.unwrap();
        let delivered = outlet.received.lock().unwrap().len();
        assert_eq!((dispatched.is_more, dispatched.ages.is_empty()), (delivered < 1_000, false));
        if !dispatched.is_more {
            break;
        }
        calls += 1;
    }
    assert!(calls > 4);
    let numbers = outlet.received.lock().unwrap().iter().map(|it| it.position.number).collect::<Vec<_>>();
    assert!(numbers.into_iter().eq(1..=1_000));
}

#[tokio::test]
async fn an_ended_stream_replays_nothing() {
    let world = World::new(SETTING);
    let (_other, _) = world.open(ADA, "public").await;
    world.publish([CREATED; 10]).await;
    let outlet = Arc::default();
    let mut stream = world.try_open(member(BOB, Roles::USER), "public", at(0), &outlet).await.unwrap();
    world.live.close();
    assert_eq!(stream.replay().await.unwrap(), None);
    assert_eq!(outlet.end(), Some(EndReason::ShuttingDown));
}

#[tokio::test]
async fn unknown_events_are_skipped() {
    let world = World::new(SETTING);
    let (_stream, outlet) = world.open(BOB, "feed,public,notifications").await;
    world.publish([Event::Unknown, CREATED]).await;
    assert_eq!(outlet.take(), [Message::Public(POST, ADA)]);
}
