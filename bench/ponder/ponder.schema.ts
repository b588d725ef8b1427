import { onchainTable } from 'ponder'

export const attestationEvent = onchainTable('attestation_event', (t) => ({
  id: t.text().primaryKey(),
  kind: t.text().notNull(),
  uid: t.hex().notNull(),
  schema: t.hex().notNull(),
  attester: t.hex().notNull(),
  recipient: t.hex().notNull(),
  refUid: t.hex(),
  time: t.bigint(),
  expirationTime: t.bigint(),
  revocable: t.boolean(),
  data: t.hex(),
  block: t.bigint().notNull(),
  transaction: t.hex().notNull(),
  logIndex: t.integer().notNull(),
}))

export const locationRecord = onchainTable('location_record', (t) => ({
  uid: t.hex().primaryKey(),
  schema: t.hex().notNull(),
  attester: t.hex().notNull(),
  recipient: t.hex().notNull(),
  time: t.bigint().notNull(),
  expirationTime: t.bigint().notNull(),
  revoked: t.boolean().notNull(),
  eventTimestamp: t.bigint().notNull(),
  srs: t.text().notNull(),
  locationType: t.text().notNull(),
  location: t.text().notNull(),
  recipeTypes: t.text().array().notNull(),
  recipePayloads: t.text().array().notNull(),
  mediaTypes: t.text().array().notNull(),
  mediaData: t.text().array().notNull(),
  memo: t.text().notNull(),
  longitude: t.doublePrecision(),
  latitude: t.doublePrecision(),
}))
