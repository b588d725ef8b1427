/**
 * Changes of records that are sent to subscribers, as Standard Webhooks.
 *
 * subscriptions.ts says what a subscription is and reads WEBHOOKS_FILE. deliverer.ts holds the subscriptions
 * of this process, each in a state of delivery.ts: reader.ts reads changes for them by the room stream,
 * posts.ts sends one message at a time to each, keeper.ts writes how far they got, under the lease of
 * lease.ts. message.ts makes a message's bytes, id and signature, and says when it is tried again. store.ts
 * has the statements; routes.ts is the admin API.
 */
export { Deliverer, type DelivererOptions } from './deliverer'
export { webhookAdminRoutes, type WebhookAdminParts } from './routes'
export { WebhookStore } from './store'
export { readWebhooksFile, type GivenSubscription } from './subscriptions'
