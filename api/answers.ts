import { Signature, ZeroHash } from 'ethers'
import { decodeResult } from '../src/eas'
import { parseRecipient, type Attester, type SignedStatement, type Statement } from './attester'
import { OPERATIONS } from './operations'
import { invalid, readObject, unverified, type RequestBody } from './parameters'
import { ComputeProblem } from './problems'

/** What an answer says, beside its signed parts. */
export interface Says {
  result: number | boolean
  units?: string
  operation: string
  /** Unix seconds */
  timestamp: number
  inputRefs: string[]
}

type Signed = Omit<SignedStatement, 'delegatedAttestation'> & {
  delegatedAttestation: SignedStatement['delegatedAttestation'] & { resignToken: string }
}

/** What a compute endpoint answers (INTERFACE.md, Compute result); the token is what it needs to be signed again. */
export type ComputeResult = Says & Signed

/** What was found out, and is to be signed. */
export interface Finding {
  statement: Statement
  says: Says
  /** By input, what has to be looked at before it is signed again: `onchain` attestations, and offchain ones (`offchainSource`); `geojson` stays what it is. */
  sources: readonly string[]
}

/** An earlier answer as it came back: nothing of it is certain. */
export interface EarlierAnswer {
  statement: Statement
  signature: string
  attester: string
  nonce: number
  /** Unix seconds */
  deadline: number
  token: string | undefined
  /** What cannot be, whatever was signed */
  contradiction?: string
  said: Partial<Record<keyof Says, unknown>>
}

const SAYS_FIELDS = ['result', 'units', 'operation', 'timestamp', 'inputRefs']
const ANSWER_FIELDS = ['attestation', 'delegatedAttestation', ...SAYS_FIELDS]
/** What one batch may hold. */
export const MAX_OPERATIONS = 20
const TOKEN = /^([a-z0-9,-]{1,400})\.([\w-]{22})$/

/** Adds the token, which says what the inputs were, in a way that only we can say it: the references alone do not. */
export function withToken(
  attester: Attester,
  { attestation, delegatedAttestation }: SignedStatement,
  sources: readonly string[],
): Signed {
  const kinds = sources.join()
  return {
    attestation,
    delegatedAttestation: {
      ...delegatedAttestation,
      resignToken: `${kinds}.${attester.seal(sealed(attestation, kinds))}`,
    },
  }
}

/** What the inputs of an earlier answer were. Throws a ComputeProblem unless its token is the one that it was given. */
export function sourcesOf(attester: Attester, { statement, token }: EarlierAnswer): string[] {
  if (token === undefined)
    throw invalid('delegatedAttestation.resignToken: missing; expected the one of the earlier answer')
  const [, kinds, seal] = TOKEN.exec(token) ?? []
  if (kinds === undefined || attester.seal(sealed(statement, kinds)) !== seal)
    throw unverified('delegatedAttestation.resignToken: not the one that was given with this attestation')
  return kinds.split(',')
}

function sealed({ schema, recipient, revocable, data }: Statement, kinds: string): string {
  return [schema, recipient, revocable, data, kinds].join(':')
}

/** Reads an earlier answer and the chain that it was signed for. Throws a ComputeProblem for what is none. */
export function readEarlier(body: unknown): { chainId: unknown; answer: EarlierAnswer } {
  const { chainId, ...answer } = readObject(body, ['chainId', ...ANSWER_FIELDS])
  return { chainId, answer: readAnswer(answer) }
}

/** Earlier answers that are to be signed together again. */
export interface EarlierBatch {
  chainId: unknown
  answers: EarlierAnswer[]
  /** What came with them, to be held against what was signed. */
  said: { deadline?: unknown; multiAttestByDelegation?: unknown }
}

/** Reads the answer of a batch, or a list of answers. Throws a ComputeProblem, which names the place, for what is none. */
export function readEarlierBatch(body: unknown): EarlierBatch {
  const { chainId, results, ...said } = readObject(body, [
    'chainId',
    'results',
    'deadline',
    'multiAttestByDelegation',
  ])
  const answers = readList(results, 'results').map((result, i) => {
    try {
      return readAnswer(result)
    } catch (error) {
      throw error instanceof ComputeProblem ? error.within(`results[${i}]: `) : error
    }
  })
  return { chainId, answers, said }
}

/** As many things as one batch may hold. Throws a ComputeProblem. */
export function readList(value: unknown, name: string): unknown[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_OPERATIONS)
    throw invalid(`${name}: expected a list of 1 to ${MAX_OPERATIONS}`)
  return value
}

/** Reads an earlier answer, with or without what it said beside its signed parts. Throws a ComputeProblem for what is none. */
function readAnswer(answer: unknown): EarlierAnswer {
  const request = readObject(answer, ANSWER_FIELDS, 'answer')
  const attestation = readObject(
    request.attestation,
    ['schema', 'attester', 'recipient', 'data', 'signature', 'revocable', 'refUID'],
    'attestation',
  )
  const delegated = readObject(
    request.delegatedAttestation,
    ['signature', 'attester', 'deadline', 'nonce', 'resignToken'],
    'delegatedAttestation',
  )
  const bytes = (name: string, count: string, wanted: string): string => {
    const value = attestation[name]
    if (typeof value !== 'string' || !new RegExp(`^0x([0-9a-fA-F]{2}){${count}}$`).test(value))
      throw invalid(`attestation.${name}: expected ${wanted}`)
    return value
  }
  const recipient = parseRecipient(bytes('recipient', '20', 'an address'))
  if (recipient === undefined) throw invalid('attestation.recipient: its checksum is wrong')
  const { revocable, refUID = ZeroHash } = attestation
  if (typeof revocable !== 'boolean') throw invalid('attestation.revocable: expected true or false')
  const same = (field: string) => {
    const [one, other] = [attestation[field], delegated[field]]
    return (
      other === undefined ||
      (typeof one === 'string' && typeof other === 'string' && one.toLowerCase() === other.toLowerCase())
    )
  }
  const twice = ['signature', 'attester'].find((field) => !same(field))
  if (delegated.resignToken !== undefined && typeof delegated.resignToken !== 'string')
    throw invalid('delegatedAttestation.resignToken: expected a string')
  return {
    statement: {
      schema: bytes('schema', '32', 'a schema UID').toLowerCase(),
      recipient,
      revocable,
      data: bytes('data', '160,2048', 'the payload of a result, in hex').toLowerCase(),
    },
    signature: bytes('signature', '65', '65 bytes in hex'),
    attester: bytes('attester', '20', 'an address'),
    nonce: wholeNumber(delegated, 'nonce'),
    deadline: wholeNumber(delegated, 'deadline'),
    token: delegated.resignToken,
    ...(refUID !== ZeroHash && { contradiction: 'attestation.refUID: we sign none but the zero UID' }),
    ...(twice && { contradiction: `delegatedAttestation.${twice}: not the same as attestation.${twice}` }),
    said: Object.fromEntries(
      SAYS_FIELDS.filter((field) => request[field] !== undefined).map((field) => [field, request[field]]),
    ),
  }
}

function wholeNumber(delegated: RequestBody, name: string): number {
  const value = delegated[name]
  if (!Number.isSafeInteger(value) || (value as number) < 0)
    throw invalid(`delegatedAttestation.${name}: expected a whole number`)
  return value as number
}

/** Whether this attester signed the answer as it is. Throws UnavailableError. */
export async function isOurs(attester: Attester, answer: EarlierAnswer): Promise<boolean> {
  return (
    answer.attester.toLowerCase() === attester.address.toLowerCase() &&
    attester.signed(answer.statement, answer.nonce, answer.deadline, answer.signature)
  )
}

/** What a payload says, in the answer's units. Throws a ComputeProblem for one that no operation gives. */
export function readPayload(data: string): Says {
  const payload = decodeResult(data)
  const units =
    payload &&
    Object.values(OPERATIONS).find((operation) => operation.units?.payload === payload.units)?.units
  if (!payload || (payload.units !== undefined && !units))
    throw invalid('attestation.data: not the payload of a result')
  const { result, operation, timestamp, inputRefs } = payload
  return typeof result === 'bigint'
    ? {
        result: Number(result) / units!.perAnswerUnit,
        units: units!.answer,
        operation,
        timestamp,
        inputRefs: [...inputRefs],
      }
    : { result, operation, timestamp, inputRefs: [...inputRefs] }
}

/** The fields of what came with an answer that are not what was signed. */
export function otherThanSigned(says: Says, said: EarlierAnswer['said']): string[] {
  return Object.entries(said)
    .filter(([field, value]) => JSON.stringify(value) !== JSON.stringify(says[field as keyof Says]))
    .map(([field]) => field)
}

/** One `MultiDelegatedAttestationRequest` of EAS. */
export interface MultiAttestRequest {
  schema: string
  data: object[]
  signatures: { v: number; r: string; s: string }[]
  attester: string
  /** Unix seconds */
  deadline: number
}

/**
 * The parameter of EAS.multiAttestByDelegation: neighbours of one schema go together, as the contract counts nonces in this
 * order. `value` is a decimal string: ethers, viem and eas-sdk take it, and eas-sdk's sum of values fails on a number.
 */
export function multiAttestRequests(results: readonly SignedStatement[]): MultiAttestRequest[] {
  const requests: MultiAttestRequest[] = []
  for (const { attestation, delegatedAttestation } of results) {
    const { schema, attester, recipient, revocable, refUID, data, signature } = attestation
    const { v, r, s } = Signature.from(signature)
    if (requests.at(-1)?.schema !== schema)
      requests.push({ schema, data: [], signatures: [], attester, deadline: delegatedAttestation.deadline })
    const last = requests.at(-1)!
    last.data.push({ recipient, expirationTime: 0, revocable, refUID, data, value: '0' })
    last.signatures.push({ v, r, s })
  }
  return requests
}
