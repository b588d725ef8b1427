// SPDX-License-Identifier: MIT
import { AbiCoder, Signature, TypedDataEncoder, dataSlice, getAddress, keccak256 } from 'ethers'
import {
  LOCAL_PROXY_NAME,
  LOCAL_SIGNER_KEY,
  attest,
  localVersion,
  locationRequest,
  registerSchema,
  type LocalChain,
} from '../../../dev/chain'
import { BOOLEAN_RESULT_FIELDS } from '../../../src/eas'
import { LOCATION_SCHEMA, LOCATION_SCHEMAS } from '../../../src/location'
import type { TestWorld } from '../../../test/world'
import { artifact } from './forge'
import { PROXY_CODE, proxySignature } from './proxy'
import { ATTESTED, ESCROW, QUESTIONS, TYPED } from './questions'
import type { Attested, Place, Role, Schema } from './questions'
import { ACCOUNTS, Use, addressOf, ask, deploy, settings, type Json } from './submitting'

/** Fields of a boolean answer under other names, which a reader could take for the opposite. */
const DENIED_FIELDS = BOOLEAN_RESULT_FIELDS.replace('result', 'denied')
/** Seconds after its attestation at which the expiring location expires. */
const EXPIRES_AFTER = 300

/** DeliveryEscrow.recipientOf(1) */
function orderRecipient({ chain }: LocalChain): string {
  const order = AbiCoder.defaultAbiCoder().encode(['uint256', 'address', 'uint256'], [chain.id, ESCROW, 1])
  return getAddress(dataSlice(keccak256(order), 12))
}

/**
 * Input of forge's tests (World.sol): the chain, its contracts and attested locations, and the service's
 * answers about them. `other` is the chain of an answer that must not count on the first one.
 */
export async function recordAnswers(world: TestWorld, chain: LocalChain, other: LocalChain): Promise<object> {
  const start = (await chain.provider.getBlock('latest'))!.timestamp
  const { proxy } = chain
  const refs: Record<string, string> = {}
  const places: Record<string, object> = {}
  for (const [name, { by, to, geometry, observed = 0 }] of Object.entries<Attested>(ATTESTED)) {
    const expirationTime = name === 'expiring' ? start + EXPIRES_AFTER : 0
    const recipient = to === 'order' ? orderRecipient(chain) : addressOf(to)
    // Blocks are mined between observation and attestation, so the two times differ by some seconds.
    const eventTimestamp = (await chain.provider.getBlock('latest'))!.timestamp + observed
    const wanted = locationRequest(geometry, { recipient, expirationTime, eventTimestamp })
    const uid = await attest(chain, wanted, ACCOUNTS[by])
    const { time } = await (await chain.eas()).getFunction('getAttestation').staticCall(uid)
    places[name] = {
      ...{ uid, time: Number(time), attester: addressOf(by), recipient },
      ...{ expirationTime, data: wanted.data.data },
    }
    refs[name] = uid
  }
  for (const [name, geometry] of Object.entries(TYPED)) {
    const { inputRefs } = await ask(world, chain, 'intersects', { geometry1: geometry, geometry2: geometry })
    refs[name] = inputRefs[0]
  }

  const token = await deploy(
    chain,
    artifact('NearbyToken'),
    ...[settings(chain, proxy, Use.oncePerRecipient), refs.tower, addressOf('prover'), LOCATION_SCHEMA.uid],
  )
  const parcels = await deploy(
    chain,
    artifact('Harness.sol:ParcelRegistry'),
    settings(chain, proxy, Use.oncePerInputs),
  )
  const schemas: Record<Schema, string> = {
    token: await token.getFunction('schema').staticCall(),
    parcels: await parcels.getFunction('schema').staticCall(),
    denied: await registerSchema(chain, DENIED_FIELDS),
    tokenDenied: await registerSchema(chain, DENIED_FIELDS, await token.getAddress()),
  }
  const answers: Record<string, object> = {}
  for (const [name, { operation, inputs, radius, schema, to = 'account' }] of Object.entries(QUESTIONS)) {
    const inputOf = (place: Place) => (place in TYPED ? TYPED[place as keyof typeof TYPED] : refs[place])
    const answer = await ask(world, chain, operation, {
      ...Object.fromEntries(Object.entries(inputs).map(([key, place]) => [key, inputOf(place)])),
      ...(radius !== undefined && { radius }),
      ...(schema && { schema: schemas[schema] }),
      ...(to && { recipient: addressOf(to) }),
    })
    answers[name] = await signed(answer, chain, proxy)
  }
  const elsewhere = await ask(world, other, 'within', {
    ...{ geometry: TYPED.tower, target: TYPED.tower, radius: 500, recipient: addressOf('account') },
  })
  answers.otherChain = await signed(elsewhere, other, proxy)
  return {
    ...{ chainId: chain.chain.id, start, now: Math.floor(Date.now() / 1000) },
    ...{ eas: chain.chain.eas, registry: chain.chain.schemaRegistry, signerKey: LOCAL_SIGNER_KEY },
    easCode: `../../dev/contracts/eas-${localVersion(chain.chain)}.json`,
    ...{ proxy, proxyName: LOCAL_PROXY_NAME, proxyCode: `../../${PROXY_CODE}` },
    ...Object.fromEntries(Object.keys(ACCOUNTS).map((role) => [role, addressOf(role as Role)])),
    ...{ locationFields: LOCATION_SCHEMA.fields, deniedFields: DENIED_FIELDS },
    untimedFields: LOCATION_SCHEMAS.filter((each) => each !== LOCATION_SCHEMA).map(({ fields }) => fields),
    ...{ token: await token.getAddress(), parcels: await parcels.getAddress() },
    ...{ places, refs, answers, escrow: ESCROW, points: await points(world, chain) },
    ...hashes(other, elsewhere),
  }
}

/** An answer in the form for submission, with its signatures for EAS and for the proxy. */
async function signed(
  { attestation, delegatedAttestation: { deadline, signature } }: Json,
  chain: LocalChain,
  proxy: string,
): Promise<object> {
  const parts = (text: string) => {
    const { v, r, s } = Signature.from(text)
    return { v, r, s }
  }
  const domain = { chainId: chain.chain.id, proxy, deadline }
  return {
    ...{ schema: attestation.schema, recipient: attestation.recipient, data: attestation.data, deadline },
    signature: parts(signature),
    proxySignature: parts(await proxySignature(attestation, domain)),
  }
}

/** Points in 1e-7 degrees, and the references that the service returns for them. */
async function points(world: TestWorld, chain: LocalChain): Promise<object> {
  const longitudes = [0, 1, 9, 10, -1, -9, 180e7, -180e7, 150e7, 1e7, -70]
  const latitudes = [0, 9, 1, -10, 90e7, -90e7, 5, 100, 488_584_000, -1e7, 1_234_567]
  // Points all over the earth. The steps have no common factor with 360 degrees.
  for (let i = 1; i <= 20; i++) {
    longitudes.push(((i * 987_654_321) % 360e7) - 180e7)
    latitudes.push(((i * 123_456_789) % 180e7) - 90e7)
  }
  const refs: string[] = []
  for (const [i, longitude] of longitudes.entries()) {
    const from = { type: 'Point', coordinates: [longitude / 1e7, latitudes[i]! / 1e7] }
    refs.push((await ask(world, chain, 'distance', { from, to: TYPED.tower })).inputRefs[0])
  }
  return { longitudes, latitudes, refs }
}

/** EIP-712 hashes that the service signed for the other chain (EAS 1.3 or newer). */
function hashes({ chain }: LocalChain, { attestation: a, delegatedAttestation: d }: Json): object {
  const types = {
    Attest: [
      ...['address attester', 'bytes32 schema', 'address recipient', 'uint64 expirationTime'],
      ...['bool revocable', 'bytes32 refUID', 'bytes data', 'uint256 value', 'uint256 nonce'],
      'uint64 deadline',
    ].map((field) => ({ type: field.split(' ')[0]!, name: field.split(' ')[1]! })),
  }
  return {
    otherChainDomain: TypedDataEncoder.hashDomain({
      ...{ name: 'EAS', version: localVersion(chain), chainId: chain.id, verifyingContract: chain.eas },
    }),
    otherChainStructHash: TypedDataEncoder.hashStruct('Attest', types, {
      ...{ attester: d.attester, schema: a.schema, recipient: a.recipient, expirationTime: 0 },
      ...{ revocable: a.revocable, refUID: a.refUID, data: a.data, value: 0 },
      ...{ nonce: d.nonce, deadline: d.deadline },
    }),
  }
}
