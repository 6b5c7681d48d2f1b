DROP TABLE notification_settings;
DROP TABLE notification_withdrawals;
DROP TABLE notification_actors;
DROP TABLE notifications;
