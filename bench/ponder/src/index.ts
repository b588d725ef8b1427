import { ponder } from 'ponder:registry'
import { attestationEvent, locationRecord } from 'ponder:schema'
import { decodeAbiParameters, parseAbiParameters } from 'viem'

/** Schema v0.1. For other schemas, only the event is stored. */
const LOCATION_SCHEMA = '0xba4171c92572b1e4f241d044c32cdf083be9fd946b8766977558ca6378c824e2'
const FIELDS = parseAbiParameters(
  'uint256 eventTimestamp, string srs, string locationType, string location, string[] recipeType, bytes[] recipePayload, string[] mediaType, string[] mediaData, string memo',
)

ponder.on('EAS:Attested', async ({ event, context }) => {
  const { uid, schemaUID, attester, recipient } = event.args
  // An attestation's payload never changes, so it is read at the latest block, which needs no old state.
  // Ponder predicts such calls after some of them, sends many in advance, and caches the results.
  const body = await context.client.readContract({
    abi: context.contracts.EAS.abi,
    address: context.contracts.EAS.address,
    functionName: 'getAttestation',
    args: [uid],
    cache: 'immutable',
  })
  await context.db.insert(attestationEvent).values({
    id: event.id,
    kind: 'attested',
    uid,
    schema: schemaUID,
    attester,
    recipient,
    refUid: body.refUID,
    time: body.time,
    expirationTime: body.expirationTime,
    revocable: body.revocable,
    data: body.data,
    block: event.block.number,
    transaction: event.transaction.hash,
    logIndex: event.log.logIndex,
  })
  if (schemaUID !== LOCATION_SCHEMA) return
  const payload = decode(body.data)
  if (!payload) return
  const [
    eventTimestamp,
    srs,
    locationType,
    location,
    recipeTypes,
    recipePayloads,
    mediaTypes,
    mediaData,
    memo,
  ] = payload
  const [longitude, latitude] = point(location)
  await context.db.insert(locationRecord).values({
    uid,
    schema: schemaUID,
    attester,
    recipient,
    time: body.time,
    expirationTime: body.expirationTime,
    revoked: false,
    eventTimestamp,
    srs,
    locationType,
    location,
    recipeTypes: [...recipeTypes],
    recipePayloads: [...recipePayloads],
    mediaTypes: [...mediaTypes],
    mediaData: [...mediaData],
    memo,
    longitude,
    latitude,
  })
})

ponder.on('EAS:Revoked', async ({ event, context }) => {
  const { uid, schemaUID, attester, recipient } = event.args
  await context.db.insert(attestationEvent).values({
    id: event.id,
    kind: 'revoked',
    uid,
    schema: schemaUID,
    attester,
    recipient,
    block: event.block.number,
    transaction: event.transaction.hash,
    logIndex: event.log.logIndex,
  })
  if (await context.db.find(locationRecord, { uid }))
    await context.db.update(locationRecord, { uid }).set({ revoked: true })
})

function decode(data: `0x${string}`) {
  try {
    return decodeAbiParameters(FIELDS, data)
  } catch {
    return undefined
  }
}

/** Longitude and latitude of a GeoJSON Point; nulls for other geometries. */
function point(location: string): [number | null, number | null] {
  try {
    const { type, coordinates } = JSON.parse(location) as { type: string; coordinates: number[] }
    return type === 'Point' ? [coordinates[0]!, coordinates[1]!] : [null, null]
  } catch {
    return [null, null]
  }
}
