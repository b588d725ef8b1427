/**
 * Changes of records that are sent to subscribers, as Standard Webhooks.
 *
 * subscriptions.ts defines subscriptions and reads WEBHOOKS_FILE. deliverer.ts holds the subscriptions of
 * this process, each in a state of delivery.ts. reader.ts reads changes for them through the room stream,
 * posts.ts sends one message at a time to each, and keeper.ts writes the progress, under the lease of
 * lease.ts. message.ts creates a message's bytes, id and signature, and computes the time of its next
 * attempt. store.ts has the SQL statements. routes.ts is the admin API.
 */
export { Deliverer, type DelivererOptions } from './deliverer'
export { webhookAdminRoutes, type WebhookAdminParts } from './routes'
export { WebhookStore } from './store'
export { readWebhooksFile, type GivenSubscription } from './subscriptions'
