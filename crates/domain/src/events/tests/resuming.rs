use super::*;

const CREATED: Event = Event::PostCreated(POST, ADA);
const LIKED: Event = Event::Liked(POST);

fn at(number: u64) -> Resume {
    Resume::After(Some(Position::after(EPOCH, number)))
}

/// Returns what a stream has missed, up to where it is told what happens, as numbers and messages.
async fn missed(stream: &mut Subscription) -> Vec<(u64, Message)> {
    let mut all = Vec::new();
    while let Some(missed) = stream.replay().await.unwrap() {
        all.extend(missed.into_iter().map(|delivery| (delivery.position.number, delivery.message)));
    }
    all
}

async fn resumed(world: &World, topics: &str, resume: Resume) -> (Subscription, Arc<Ear>, Vec<(u64, Message)>) {
    let ear = Arc::default();
    let mut stream = world.try_open(member(BOB, Roles::USER), topics, resume, &ear).await.unwrap();
    let missed = missed(&mut stream).await;
    (stream, ear, missed)
}

#[tokio::test]
async fn a_stream_begins_with_what_happens_from_then_on() {
    let world = World::new(SETTING);
    world.tell([CREATED]).await;
    let (stream, ear) = world.open(BOB, "public").await;
    assert_eq!(stream.begins_at(), Position::after(EPOCH, 1));
    world.tell([CREATED]).await;
    assert_eq!(ear.take(), [Message::Public(POST, ADA)]);
}

#[tokio::test]
async fn what_happened_since_a_position_is_told_once_and_in_order() {
    let world = World::new(SETTING);
    world.log.add([CREATED, LIKED, CREATED, CREATED]);
    // What is there is taken for another stream.
    let (_other, _) = world.open(ADA, "public").await;
    world.dispatch().await;
    let (_stream, ear, missed) = resumed(&world, "public", at(1)).await;
    assert_eq!(missed, [(3, Message::Public(POST, ADA)), (4, Message::Public(POST, ADA))]);
    world.tell([CREATED]).await;
    assert_eq!(ear.heard.lock().unwrap().iter().map(|it| it.position.number).collect::<Vec<_>>(), [5]);
}

#[tokio::test]
async fn nothing_is_lost_or_repeated_between_what_was_missed_and_what_happens() {
    for cut in 0..40 {
        let world = World::new(Setting { follows: true, ..SETTING });
        let (_other, _) = world.open(ADA, "public").await;
        let ear = Arc::<Ear>::default();
        world.log.add([CREATED; 10]);
        let mut stream = world.try_open(member(BOB, Roles::USER), "feed,public", at(0), &ear).await.unwrap();
        let mut told = Vec::new();
        // The dispatcher comes in between at each of the steps.
        for step in 0..4 {
            if cut % 4 == step {
                world.tell([CREATED; 3]).await;
            }
            if cut / 4 % 5 == step {
                world.log.add([CREATED; 2]);
            }
            if let Some(missed) = stream.replay().await.unwrap() {
                told.extend(missed.into_iter().map(|delivery| delivery.position));
            }
        }
        world.tell([CREATED]).await;
        told.extend(ear.heard.lock().unwrap().iter().map(|delivery| delivery.position));
        let numbers = 1..=world.log.end().number;
        let position = |number| [Part::Feed, Part::Rest].map(|part| Position { epoch: EPOCH, number, part });
        assert_eq!(told, numbers.flat_map(position).collect::<Vec<_>>(), "cut {cut}");
    }
}

#[tokio::test]
async fn a_cut_between_the_parts_of_an_event_tells_the_rest() {
    let world = World::new(Setting { follows: true, ..SETTING });
    world.log.add([CREATED, CREATED]);
    let between = Position { epoch: EPOCH, number: 1, part: Part::Feed };
    let (_stream, _, missed) = resumed(&world, "feed,public", Resume::After(Some(between))).await;
    let (feed, public) = (Message::Feed(POST, ADA), Message::Public(POST, ADA));
    assert_eq!(missed, [(1, public), (2, feed), (2, public)]);
}

#[tokio::test]
async fn what_another_node_has_told_is_not_told_again() {
    let world = World::new(SETTING);
    let (_other, _) = world.open(ADA, "public").await;
    // This node has taken in three events, and told nobody of them.
    world.log.add([CREATED; 3]);
    let (_stream, ear, missed) = resumed(&world, "public", at(2)).await;
    assert_eq!(missed, []);
    world.live.heartbeat(0);
    world.live.heartbeat(1);
    assert_eq!(ear.take(), [], "its place would be before what was told");
    world.dispatch().await;
    assert_eq!(ear.heard.lock().unwrap().iter().map(|it| it.position.number).collect::<Vec<_>>(), [3]);
}

#[tokio::test]
async fn what_cannot_be_told_any_more_is_a_reset() {
    let world = World::new(SETTING);
    world.log.restart(EPOCH, 5);
    world.log.add([CREATED]);
    let elsewhere = Position::after(EPOCH + 1, 5);
    for resume in [at(4), at(9), Resume::After(Some(elsewhere)), Resume::After(None)] {
        let (stream, ear, missed) = resumed(&world, "public", resume).await;
        assert_eq!(missed, [(6, Message::Reset)], "{resume:?}");
        assert_eq!(stream.begins_at(), Position::after(EPOCH, 6));
        world.dispatch().await;
        assert_eq!(ear.take(), []);
    }
    assert_eq!(world.live.figures().resets, 4);
    let (_stream, _, missed) = resumed(&world, "public", at(5)).await;
    assert_eq!(missed, [(6, Message::Public(POST, ADA))]);
}

#[tokio::test]
async fn when_the_log_is_lost_every_stream_is_told_to_read_anew() {
    let world = World::new(SETTING);
    world.log.add([CREATED; 10]);
    let (_one, one) = world.open(BOB, "public").await;
    let (_two, two) = world.open(BOB, "notifications").await;
    world.log.restart(EPOCH + 1, 0);
    world.tell([CREATED]).await;
    assert_eq!((one.take(), two.take()), (vec![Message::Reset], vec![Message::Reset]));
    // The numbers of the new log are less than those of the old one.
    world.tell([CREATED]).await;
    assert_eq!(one.take(), [Message::Public(POST, ADA)]);
    for part in 0..HEARTBEAT_PARTS {
        world.live.heartbeat(part);
    }
    assert_eq!((one.take(), two.take()), (vec![Message::Heartbeat], vec![Message::Heartbeat]));
}

#[tokio::test]
async fn when_it_cannot_be_known_who_may_be_told_those_concerned_read_anew() {
    let world = World::new(Setting { fails: true, ..SETTING });
    let (_one, one) = world.open(BOB, "public").await;
    let (_two, two) = world.open(BOB, "notifications").await;
    world.log.add([CREATED]);
    assert!(matches!(world.live.dispatch().await, Err(Error::Unavailable(_))));
    assert_eq!((one.take(), two.take()), (vec![Message::Reset], vec![]));
}

#[tokio::test]
async fn a_heartbeat_says_up_to_where_everything_was_told() {
    let world = World::new(SETTING);
    let (_stream, ear) = world.open(BOB, "notifications").await;
    world.tell([CREATED; 3]).await;
    for part in 0..HEARTBEAT_PARTS {
        world.live.heartbeat(part);
    }
    let expected = Delivery { position: Position::after(EPOCH, 3), message: Message::Heartbeat };
    assert_eq!(*ear.heard.lock().unwrap(), [expected]);
}

#[tokio::test]
async fn very_much_is_told_some_at_a_time() {
    let world = World::new(SETTING);
    let (_stream, ear) = world.open(BOB, "public").await;
    world.log.add([CREATED; 1_000]);
    let mut calls = 1;
    loop {
        let dispatched = world.live.dispatch().await.unwrap();
        let told = ear.heard.lock().unwrap().len();
        assert_eq!((dispatched.is_more, dispatched.ages.is_empty()), (told < 1_000, false));
        if !dispatched.is_more {
            break;
        }
        calls += 1;
    }
    assert!(calls > 4);
    let numbers = ear.heard.lock().unwrap().iter().map(|it| it.position.number).collect::<Vec<_>>();
    assert!(numbers.into_iter().eq(1..=1_000));
}

#[tokio::test]
async fn a_stream_that_is_ended_is_told_nothing_of_what_it_has_missed() {
    let world = World::new(SETTING);
    let (_other, _) = world.open(ADA, "public").await;
    world.tell([CREATED; 10]).await;
    let ear = Arc::default();
    let mut stream = world.try_open(member(BOB, Roles::USER), "public", at(0), &ear).await.unwrap();
    world.live.close();
    assert_eq!(stream.replay().await.unwrap(), None);
    assert_eq!(ear.end(), Some(EndReason::ShuttingDown));
}

#[tokio::test]
async fn what_only_a_later_release_knows_is_passed_over() {
    let world = World::new(SETTING);
    let (_stream, ear) = world.open(BOB, "feed,public,notifications").await;
    world.tell([Event::Unknown, CREATED]).await;
    assert_eq!(ear.take(), [Message::Public(POST, ADA)]);
}
