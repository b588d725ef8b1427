DROP TABLE "webhook_dead_letter";
DROP TABLE "webhook_message";
DROP TABLE "webhook_subscription";
