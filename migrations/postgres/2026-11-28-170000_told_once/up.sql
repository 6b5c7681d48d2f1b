-- Who took an act back and acts again on the same day is no event either: the recipient was told of it before.
-- contract: it is called as before; the release before leaves what is an event to it
CREATE OR REPLACE FUNCTION gather_notice(
    notice_id uuid, notice_kind smallint, recipient uuid, actor uuid, act_id uuid, subject_post uuid, subject_comment uuid,
    subject uuid, acted_on integer, acted_at timestamptz
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    told uuid;
BEGIN
    IF EXISTS (
        SELECT FROM notification_settings s WHERE s.user_id = recipient AND s.kind = notice_kind AND (s.policy = 2 OR NOT EXISTS (
            SELECT FROM follows f WHERE f.follower_id = recipient AND f.followed_id = actor))
        UNION ALL SELECT FROM mutes m WHERE m.muter_id = recipient AND m.muted_id = actor
        UNION ALL SELECT FROM blocks b WHERE b.user_id = recipient AND b.other_id = actor
    ) THEN
        RETURN;
    END IF;
    INSERT INTO notifications
        (id, recipient_id, kind, post_id, comment_id, day, target_id, created_at, updated_at, count, is_empty, is_read)
    VALUES (notice_id, recipient, notice_kind, subject_post, subject_comment, acted_on, subject, acted_at, acted_at, 1, false, false)
    ON CONFLICT (day, kind, target_id) WHERE day IS NOT NULL DO UPDATE SET count = notifications.count + 1, is_empty = false,
        -- Who took the same act back on this day and acts again is counted, and that is all.
        (is_read, updated_at) = (
            SELECT notifications.is_read AND w.is_again, CASE WHEN w.is_again THEN notifications.updated_at
                ELSE greatest(notifications.updated_at, excluded.updated_at) END
            FROM (SELECT EXISTS (SELECT FROM notification_withdrawals
                WHERE notification_id = notifications.id AND actor_id = actor) AS is_again) w)
    RETURNING id INTO told;
    INSERT INTO notification_actors (notification_id, id, actor_id) VALUES (told, act_id, actor);
    INSERT INTO events (kind, user_id, notification_id, detail) SELECT 5, recipient, told, notice_kind
        WHERE NOT EXISTS (SELECT FROM notification_withdrawals WHERE notification_id = told AND actor_id = actor);
END $$;
