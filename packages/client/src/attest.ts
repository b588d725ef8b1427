// SPDX-License-Identifier: MIT
import {
  attestationCall,
  contractError,
  getSchema,
  registerCall,
  ZERO_HASH,
  type AttestationData,
  type OnchainAttestation,
  type Schema,
} from './eas'
import {
  AttestationNotFoundError,
  ConnectionError,
  GeoError,
  LandingError,
  LostTransactionError,
  PartlyAttestedError,
  refuseUnknown,
} from './errors'
import type { Context } from './context'
import { invalidPlace } from './geojson'
import { attestationsIn } from './landed'
import { signOffchain, type OffchainFile } from './offchain'
import { contentOf, knownSchema, pathOf, type Place, type PlacePath, type SchemaName } from './place'
import { checkReadable, split } from './readable'
import { inTurn, readerOfSigner, refusal, transact } from './send'
import { walletOf, type Signer, type Wallet } from './signer'
import type { Chain, LocationRecord } from './types'
import { pause, untilAborted } from './waiting'

export interface AttestOptions {
  /** chain to attest on: its id or slug; default: the client's chain */
  chain?: number | string
  /** true: sign offchain attestations, which no transaction records */
  offchain?: boolean
  /**
   * location schema: `v0.1` (the default, with time, media and memo), `location-protocol`, the UID of another
   * schema, or its field list
   */
  schema?: SchemaName
  /** Registers the schema first if its chain does not have it, with one more transaction. */
  registerSchema?: boolean
  /** UID of an attestation to which the places refer */
  refUID?: string
  /**
   * true: do not ask the service whether it can read the place. A place that it cannot read becomes a record
   * without geometry.
   */
  unchecked?: boolean
  signal?: AbortSignal
  /** Called at each step, to show progress. */
  onStep?: (step: AttestStep) => void
}
export type AttestStep =
  | { step: 'checked' }
  | { step: 'registering'; transactionHash: string }
  | { step: 'sent'; transactionHash: string; places: number }

/** A place that is attested on its chain. It can be used as an Input on that chain. */
export interface Attested {
  uid: string
  chainId: number
  transactionHash: string
  blockNumber: number
  attestation: OnchainAttestation
  /**
   * Resolves with the record once the service returns it, usually after some seconds. Throws a
   * ConnectionError after `timeout` seconds, 600 by default.
   */
  indexed(options?: { signal?: AbortSignal; timeout?: number }): Promise<LocationRecord>
}
/**
 * A place that is attested offchain. It can be used as an Input; `attestation` is a file of EAS's explorer.
 */
export interface AttestedOffchain {
  uid: string
  chainId: number
  attestation: OffchainFile
}

/**
 * Maximum estimated gas of one transaction. Ethereum rejects transactions above 2^24 gas (EIP-7825); this is
 * lower because some chains include the gas of their layer 1.
 */
const BATCH_GAS = 12_000_000
/**
 * Estimated gas of a place: EAS stores each word of it (22,100 gas, EIP-2929). Measured on all versions of
 * EAS, a point uses 504,000 to 547,000 gas and a point with a memo of 5,000 characters 4.2 million, which is
 * 4 to 38 % less than the estimate.
 */
const PLACE_GAS = 210_000
const BYTE_GAS = 720
/** First and longest interval between two requests for a record, in milliseconds. */
const LOOK_MS = 250
const LOOK_MOST_MS = 5_000
const INDEXED_SECONDS = 600

/** Implements `Geo.attest`. */
export async function attestPlaces(
  context: Context,
  given: Place | readonly Place[],
  signer: Signer,
  options: AttestOptions = {},
): Promise<Attested | Attested[] | AttestedOffchain | AttestedOffchain[]> {
  refuseUnknown<AttestOptions>('attest', options, {
    ...{ chain: true, offchain: true, schema: true, registerSchema: true, refUID: true, unchecked: true },
    ...{ signal: true, onStep: true },
  })
  // A list of numbers is a position, not a list of places.
  const several = Array.isArray(given) && typeof given[0] !== 'number'
  const places = (several ? given : [given]) as readonly Place[]
  if (places.length === 0) throw invalidPlace('places', 'expected at least one')
  const wallet = walletOf(signer)
  const chain = await context.chain(options.chain, { signal: options.signal })
  const schema = await schemaOf(options.schema ?? 'v0.1', chain, wallet)
  const paths = places.map((place, i) => pathOf(place, several ? `places[${i}]` : 'place'))
  const contents = places.map((place, i) => contentOf(place, schema, options.refUID ?? ZERO_HASH, paths[i]!))
  const attesting = { context, signer, wallet, chain, schema, contents, paths, options }
  const made = await (options.offchain ? signAll(attesting) : sendAll(attesting))
  return several ? made : made[0]!
}

/** Returns a schema, which is read from the chain if the client does not know it. */
async function schemaOf(name: SchemaName, chain: Chain, wallet: Wallet): Promise<Schema> {
  const known = knownSchema(name)
  if (known) return known
  if (!/^0x[0-9a-fA-F]{64}$/.test(name))
    throw invalidPlace(
      'schema',
      `expected 'v0.1', 'location-protocol', the UID of a schema, or its text, got '${name}'`,
    )
  const reader = await readerOfSigner(wallet, chain, 'The place is')
  const found = await getSchema(reader, chain.schemaRegistry, name)
  if (!found) throw invalidPlace('schema', `no schema ${name} on ${chain.slug}`)
  return found
}

interface Attesting {
  context: Context
  signer: Signer
  wallet: Wallet
  chain: Chain
  schema: Schema
  contents: readonly AttestationData[]
  paths: readonly PlacePath[]
  options: AttestOptions
}

async function check({ context, chain, schema, contents, paths, options }: Attesting): Promise<void> {
  if (!options.unchecked) await checkReadable(context, chain, schema.uid, contents, paths, options.signal)
  options.onStep?.({ step: 'checked' })
}

async function sendAll(attesting: Attesting): Promise<Attested[]> {
  const { wallet, chain, schema, contents, options } = attesting
  const { signal } = options
  const reader = await untilAborted(readerOfSigner(wallet, chain, 'The place is'), signal)
  const registered = await untilAborted(getSchema(reader, chain.schemaRegistry, schema.uid), signal)
  if (!registered && !options.registerSchema)
    throw new LandingError(
      `The schema ${schema.uid} is not registered on ${chain.slug}. Anyone may register it: { ` +
        'registerSchema: true } registers it first. Nothing was sent.',
      'InvalidSchema',
    )
  await check(attesting)
  // One attester for all transactions, also if the user switches the account of the wallet meanwhile.
  const from = await untilAborted(wallet.address(), signal)
  const registration = registered ? undefined : await register(attesting, from)

  const done: Attested[] = []
  for (const batch of batchesOf(contents)) {
    let transactionHash: string | undefined
    const onSent = (hash: string) => {
      transactionHash = hash
      return options.onStep?.({ step: 'sent', transactionHash: hash, places: batch.length })
    }
    try {
      done.push(...(await send(attesting, from, batch, onSent)))
    } catch (error) {
      const { message } = error as Error
      // This transaction was not sent, but earlier ones were.
      const problem = message.replace(/ Nothing was sent\.$/, '')
      if (done.length === 0 && registration && error instanceof GeoError)
        error.message = `${problem} The schema is registered. ${registration}`
      if (done.length === 0) throw error
      throw new PartlyAttestedError(
        `At least the first ${done.length} of ${contents.length} places are attested. The state of ` +
          `the others is unknown. ${problem}`,
        done,
        transactionHash,
        { cause: error },
      )
    }
  }
  return done
}

/** Registers a schema. Returns a sentence that names the transaction, if one was sent. */
async function register(attesting: Attesting, from: string): Promise<string | undefined> {
  const { signer, wallet, chain, schema, options } = attesting
  const call = { to: chain.schemaRegistry, data: registerCall(schema) }
  const outcome = await inTurn(signer, options.signal, () =>
    transact(wallet, chain, call, {
      ...{ from, signal: options.signal },
      onSent: (transactionHash) => options.onStep?.({ step: 'registering', transactionHash }),
    }),
  )
  // AlreadyExists: another account has registered the schema in the meantime.
  if ('refused' in outcome && contractError(outcome.refused) !== 'AlreadyExists')
    throw await refusal(outcome, `The schema ${schema.uid} was not registered`)
  if (!('refused' in outcome)) return `The transaction for it is ${outcome.receipt.transactionHash}.`
  const { transactionHash } = outcome
  return (
    transactionHash && `The transaction ${transactionHash} failed, because another account registered it.`
  )
}

async function send(
  { context, signer, wallet, chain, schema, options: { signal } }: Attesting,
  from: string,
  contents: readonly AttestationData[],
  onSent: (transactionHash: string) => unknown,
): Promise<Attested[]> {
  const call = { to: chain.eas, data: attestationCall(schema.uid, contents) }
  const outcome = await inTurn(signer, signal, (release) =>
    transact(wallet, chain, call, { from, signal, release, onSent }),
  ).catch((error: unknown) => {
    // The transaction that replaced it is unknown, and no nonce of a place excludes a second attestation.
    if (error instanceof LostTransactionError && error.reason === 'replaced')
      error.message +=
        ' If you raised its fee in the wallet, that one may have attested the place: another try adds an attestation.'
    throw error
  })
  if ('refused' in outcome)
    throw await refusal(
      outcome,
      contents.length > 1 ? 'The places were not attested' : 'The place was not attested',
    )
  const { transactionHash, blockNumber } = outcome.receipt
  const wanted = contents.map((content) => ({ ...content, schema: schema.uid }))
  const found = await attestationsIn(outcome.receipt, wallet.reader(), chain, from, wanted, signal)
  return found.map((attestation) => ({
    ...{ uid: attestation.uid, chainId: chain.id, transactionHash, blockNumber, attestation },
    indexed: (waiting) => recordOf(context.records, attestation.uid, chain, waiting),
  }))
}

/** Splits attestations into consecutive lists that each fit in one transaction. */
function batchesOf(contents: readonly AttestationData[]): AttestationData[][] {
  const gas = ({ data }: AttestationData) => PLACE_GAS + BYTE_GAS * (data.length / 2)
  return split(contents, (batch) => batch.reduce((sum, content) => sum + gas(content), 0) <= BATCH_GAS)
}

async function signAll(attesting: Attesting): Promise<AttestedOffchain[]> {
  const { wallet, chain, schema, contents, options } = attesting
  if (!chain.domain)
    throw new GeoError(
      `The service does not know the version of EAS on ${chain.slug} at the ` +
        `moment${chain.reason ? ` (${chain.reason})` : ''}. Retry later. Nothing was signed.`,
    )
  await check(attesting)
  const signer = await untilAborted(wallet.address(), options.signal)
  const signed: AttestedOffchain[] = []
  for (const content of contents) {
    options.signal?.throwIfAborted()
    const time = Math.floor(Date.now() / 1000)
    const fields = { ...content, schema: schema.uid, time }
    const signing = signOffchain(wallet, signer, chain, chain.domain.version, fields)
    const one = await untilAborted(signing, options.signal)
    signed.push({ ...one, chainId: chain.id })
  }
  return signed
}

async function recordOf(
  records: Context['records'],
  uid: string,
  { slug }: Chain,
  { signal, timeout = INDEXED_SECONDS }: { signal?: AbortSignal; timeout?: number } = {},
): Promise<LocationRecord> {
  const end = performance.now() + timeout * 1000
  for (let wait = LOOK_MS; ; wait = Math.min(wait * 1.5, LOOK_MOST_MS)) {
    try {
      return await records.get(uid, { chain: slug, signal })
    } catch (error) {
      if (!(error instanceof AttestationNotFoundError)) throw error
    }
    if (performance.now() + wait > end)
      throw new ConnectionError(
        `The service has not indexed the record ${uid} of ${slug} after ${timeout} s. The ` +
          'attestation is on its chain. geo.ready() shows how far the chain is indexed.',
      )
    await pause(wait, signal)
  }
}
