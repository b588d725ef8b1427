import type { LocationRecord } from '@geospatial-attestation/client'
import { locationGeometry, type LocationTexts } from '@geospatial-attestation/client/kernel'
import type { Details, Event } from './full'

/** True if the page shows the content of the attestation: its texts, geometry, times, accounts and proofs. */
export async function shows(
  record: LocationRecord,
  details: Details,
  payload: LocationTexts,
  event: Event,
): Promise<boolean> {
  const same = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()
  const time = Number(event.time)
  const geometry = (await locationGeometry(payload)) ?? null
  const [longitude, latitude] = geometry?.type === 'Point' ? geometry.coordinates : [null, null]
  return (
    record.memo === payload.memo &&
    record.location === payload.location &&
    record.location_type === payload.locationType &&
    record.srs === payload.srs &&
    isEqual(details.geometry, geometry) &&
    record.longitude === longitude &&
    record.latitude === latitude &&
    isEqual(record.media_data, payload.mediaData) &&
    isEqual(record.media_types, payload.mediaTypes) &&
    isEqual(record.recipe_types, payload.recipeTypes) &&
    isEqual(record.recipe_payloads, payload.recipePayloads.map(base64Of)) &&
    isEqual(record.attributes ?? null, payload.attributes) &&
    same(record.prover, event.attester) &&
    same(record.subject, event.recipient) &&
    Date.parse(record.timestamp) === time * 1000 &&
    Date.parse(record.event_timestamp) === (payload.eventTimestamp ?? time) * 1000 &&
    same(details.schemaUid, event.schemaUid) &&
    same(details.refUid, event.refUid) &&
    details.revocable === event.revocable &&
    BigInt(details.expirationTime) === BigInt(event.expirationTime)
  )
}

const base64Of = (bytes: Uint8Array) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))

/** Compares JSON values. The order of an object's members does not count: Postgres changes it. */
const isEqual = (a: unknown, b: unknown) => sorted(a) === sorted(b)
const sorted = (json: unknown) =>
  JSON.stringify(json, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
