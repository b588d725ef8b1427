/**
 * Changes of records that are sent to subscribers, as Standard Webhooks. deliverer.ts holds the subscriptions
 * of this process, each in a state of delivery.ts. reader.ts reads changes for them through the room stream,
 * posts.ts sends one message at a time to each, and keeper.ts writes the progress, under the lease of
 * lease.ts. routes.ts is the admin API.
 */
export { Deliverer, type DelivererOptions } from './deliverer'
export { webhookAdminRoutes, type WebhookAdminParts } from './routes'
export { type GivenSubscription, WebhookStore } from './store'
export { readWebhooksFile } from './subscriptions'
