import { AbiCoder, Interface, ZeroAddress, ZeroHash, type JsonRpcProvider } from 'ethers'
import type { FeatureCollection, Geometry } from 'geojson'
import { fieldTypes, schemaUid } from '../../src/eas'
import { LOCATION_PROTOCOL_SCHEMA, LOCATION_SCHEMA } from '../../src/location'
import { bringToPresent, mined, readJson, testAccount, type LocalChain } from './local-chain'

/** Attestations on a local chain. */

const EAS = new Interface(readJson('abi/EAS.json') as [])

/** Attestation request of a location schema, in the form of EAS's attest(). */
export function locationRequest(
  geometry: Geometry,
  options: {
    schema?: string
    memo?: string
    eventTimestamp?: number
    recipient?: string
    expirationTime?: number
  } = {},
) {
  const type = `geojson-${geometry.type.toLowerCase()}`
  const location = JSON.stringify(geometry)
  const schema = options.schema ?? LOCATION_SCHEMA.uid
  const encode = (fields: string, values: unknown[]) =>
    AbiCoder.defaultAbiCoder().encode(fieldTypes(fields), values)
  const data =
    schema === LOCATION_PROTOCOL_SCHEMA.uid
      ? encode(LOCATION_PROTOCOL_SCHEMA.fields, [
          '0.2.0',
          'http://www.opengis.net/def/crs/OGC/1.3/CRS84',
          type,
          location,
        ])
      : encode(LOCATION_SCHEMA.fields, [
          options.eventTimestamp ?? 0,
          'EPSG:4326',
          type,
          location,
          [],
          [],
          [],
          [],
          options.memo ?? '',
        ])
  return request(schema, data, options)
}

/** Attestation request with any payload. */
export function request(
  schema: string,
  data: string,
  options: { recipient?: string; expirationTime?: number } = {},
) {
  return {
    schema,
    data: {
      recipient: options.recipient ?? ZeroAddress,
      expirationTime: options.expirationTime ?? 0,
      revocable: true,
      refUID: ZeroHash,
      data,
      value: 0,
    },
  }
}

/** Sends an attestation and returns its UID after it is mined. */
export async function attest(
  chain: LocalChain,
  attestation: ReturnType<typeof request>,
  account = 0,
): Promise<string> {
  const [log] = await send(chain, account, EAS.encodeFunctionData('attest', [attestation]))
  return EAS.parseLog(log!)!.args.uid as string
}

/** Revokes an attestation of a location schema. */
export async function revoke(
  chain: LocalChain,
  uid: string,
  account = 0,
  schema = LOCATION_SCHEMA.uid,
): Promise<void> {
  await send(chain, account, EAS.encodeFunctionData('revoke', [{ schema, data: { uid, value: 0 } }]))
}

/** Registers a schema, whose fields may have a resolver, and returns its UID. */
export async function registerSchema(
  chain: LocalChain,
  fields: string,
  resolver = ZeroAddress,
  revocable = true,
): Promise<string> {
  const { hash } = await (await chain.registry()).getFunction('register').send(fields, resolver, revocable)
  await mined(chain, hash)
  return schemaUid(fields, resolver, revocable)
}

/** The last call that was sent to each chain. */
const lastCalls = new WeakMap<JsonRpcProvider, Promise<unknown>>()

/**
 * Sends a call of EAS by a test account and returns its logs after it is mined (EIP-7966). Plain JSON-RPC,
 * because ethers' signer makes five more calls per transaction. Concurrent calls are sent one after the
 * other: anvil gives two that arrive together the same nonce, and refuses one of them.
 */
async function send(
  { chain, provider }: LocalChain,
  account: number,
  data: string,
): Promise<{ topics: string[]; data: string }[]> {
  const from = testAccount(account).address
  // Fixed, so that nothing is estimated: large payloads cost more than the estimate.
  const gas = '0x1dcd6500'
  const call = () => provider.send('eth_sendTransactionSync', [{ from, to: chain.eas, data, gas }])
  const sent = (lastCalls.get(provider) ?? Promise.resolve()).then(call, call)
  lastCalls.set(provider, sent)
  const { status, transactionHash, logs } = (await sent) as {
    status: string
    transactionHash: string
    logs: { topics: string[]; data: string }[]
  }
  if (status !== '0x1') throw new Error(`transaction ${transactionHash} reverted`)
  return logs
}

/**
 * Attests every nth of the sample places from nine accounts, spread over the last 40 days. Every fourth uses
 * the four-string schema, every seventh has a recipient, every twentieth is revoked. Then the clock is set to
 * the present.
 */
export async function attestPlaces(
  chain: LocalChain,
  nth: number,
  onProgress: (done: number, total: number) => void,
): Promise<void> {
  const { features } = readJson('dev/places.geojson') as FeatureCollection<
    Geometry,
    { name: string; memo: string }
  >
  const places = features.filter((_, i) => i % nth === 0)
  const { provider } = chain
  const start = (await provider.getBlock('latest'))!.timestamp + 1
  const step = Math.floor((Date.now() / 1000 - 3600 - start) / places.length)
  for (const [i, place] of places.entries()) {
    const account = i % 9
    const time = start + i * step
    await provider.send('evm_setNextBlockTimestamp', [time])
    const schema = i % 4 === 3 ? LOCATION_PROTOCOL_SCHEMA.uid : LOCATION_SCHEMA.uid
    const memo = `${place.properties.name}: ${place.properties.memo}`
    const recipient = i % 7 === 6 ? testAccount((account + 1) % 9).address : testAccount(account).address
    const uid = await attest(
      chain,
      locationRequest(place.geometry, { schema, memo, eventTimestamp: time - 600, recipient }),
      account,
    )
    if (i % 20 === 19) await revoke(chain, uid, account, schema)
    onProgress(i + 1, places.length)
  }
  await bringToPresent(chain)
}
