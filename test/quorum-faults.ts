import { AbiCoder, type Wallet } from 'ethers'
import type { QuorumAnswer } from '../src/eas'
import {
  decodeResult,
  encodeBooleanResult,
  encodeNumericResult,
  quorumDigest,
  quorumDomain,
} from '../src/eas'
import { signContent } from './operators'
import { faults, type Fault } from './rpc-proxy'

/** Faults of operators: dishonest ones, and honest ones whose RPC endpoint lies or lags. */

/** Request, and an honest operator's response to it. */
export interface Exchange {
  request: Record<string, any>
  status: number
  response: any
}
/** Facts about a question, from which lies are made. */
export interface Known {
  /** claims of the true answer; for a question about revoked places, the claims as if nothing were revoked */
  claims: { result: bigint | boolean; inputRefs: string[]; operation: string }
  schema: string
  isValid: boolean
  attacker: string
  /** UID of another place */
  otherPlace: string
  /** result on a sphere, for distances */
  onSphere: bigint | boolean
}
/**
 * Lie of a dishonest operator: a content that it signs, or a refusal; undefined if it returns the honest
 * response.
 */
type Lie = (honest: Exchange, known: Known) => QuorumAnswer | { refusal: string } | undefined

const changed =
  (change: (claims: ReturnType<typeof claimsOf>, known: Known) => object): Lie =>
  ({ status, response }, known) =>
    status === 200
      ? {
          ...response.answer,
          data: encoded({ ...claimsOf(response.answer), ...change(claimsOf(response.answer), known) }),
        }
      : undefined

/** Lies of six kinds. Operators with the same lie sign the same bytes. */
export const LIES = {
  'another result': changed(({ result }) => ({
    result: typeof result === 'bigint' ? result + 1n : !result,
  })),
  'another revocation state': ({ request, status }, { claims, schema, isValid }) => {
    if (isValid) return { refusal: 'revoked' }
    if (status === 200) return undefined
    const { recipient, expirationTime, deadline, epoch, timestamp } = request
    const data = encoded({ ...claims, timestamp })
    const refUID = `0x${'0'.repeat(64)}`
    return { ...{ schema, recipient, expirationTime, revocable: true, refUID }, ...{ data, deadline, epoch } }
  },
  'another kernel': changed((_, { onSphere }) => ({ result: onSphere })),
  'another recipient': ({ status, response }, { attacker }) =>
    status === 200 ? { ...response.answer, recipient: attacker } : undefined,
  'another time': changed(({ timestamp }) => ({ timestamp: timestamp + 3600 })),
  'another input': changed(({ inputRefs }, { otherPlace }) => ({
    inputRefs: [otherPlace, ...inputRefs.slice(1)],
  })),
} satisfies Record<string, Lie>
export type LieName = keyof typeof LIES

/** Response of a dishonest operator. */
export async function lied(
  name: LieName,
  honest: Exchange,
  known: Known,
  operator: { wallet: Wallet; index: number; quorum: string },
): Promise<{ status: number; response: object } | undefined> {
  const content = LIES[name](honest, known)
  if (content === undefined) return undefined
  if ('refusal' in content)
    return {
      status: 400,
      response: { type: 'invalid-input', title: 'x', status: 400, detail: 'x', ...content },
    }
  const { wallet, index, quorum } = operator
  const chainId = honest.request.chainId as number
  const signature = await signContent(wallet, { chainId, quorum }, content)
  const digest = quorumDigest(quorumDomain(chainId, quorum), content)
  const { result, ...claims } = claimsOf(content)
  const response = {
    ...{ ...claims, result: Number(result), answer: content, operator: wallet.address, index },
    ...{ quorum, digest, signature },
  }
  return { status: 200, response }
}

export function claimsOf({ data }: Pick<QuorumAnswer, 'data'>) {
  return decodeResult(data)! as {
    result: bigint | boolean
    units?: string
    inputRefs: string[]
    timestamp: number
    operation: string
  }
}
function encoded({
  result,
  ...context
}: {
  result: bigint | boolean
  inputRefs: string[]
  timestamp: number
  operation: string
}): string {
  return typeof result === 'bigint'
    ? encodeNumericResult(result, 'centimeters', context)
    : encodeBooleanResult(result, context)
}

const GET_ATTESTATION = '0xa3112a64'
const ATTESTATION =
  'tuple(bytes32 uid, bytes32 schema, uint64 time, uint64 expirationTime, uint64 revocationTime, bytes32 refUID, address recipient, address attester, bool revocable, bytes data)'
/** Changes the attestations that `getAttestation` returns. */
const attestations =
  (change: (attestation: Record<string, unknown>) => object): Fault =>
  ({ method, params }) =>
    method === 'eth_call' && String(params[0].data).startsWith(GET_ATTESTATION)
      ? {
          ask: async (ask) => {
            const coder = AbiCoder.defaultAbiCoder()
            const [found] = coder.decode([ATTESTATION], await ask(method, params))
            return coder.encode([ATTESTATION], [{ ...found.toObject(), ...change(found) }])
          },
        }
      : undefined

/** Faults of an operator's RPC endpoint. */
export const RPC_FAULTS: Readonly<Record<string, (random: () => number) => Fault[]>> = {
  lags: (random) => [faults.lagging(1 + Math.floor(random() * 12))],
  'conceals revocations': () => [
    attestations(() => ({ revocationTime: 0n })),
    faults.logsWithout('0xf930a6e2523c9cc298691873087a740550b8fc85a0680830414c148ed927f615'),
  ],
  'invents revocations': () => [attestations(() => ({ revocationTime: 1n })), faults.logsForged],
  'alters attestations': () => [attestations(({ data }) => ({ data: `${String(data).slice(0, -2)}01` }))],
  'cuts logs': () => [faults.logsCutEverywhere],
  'forges headers': () => [faults.headersForged],
  'knows no attestations': () => [faults.bodiesUnknown],
  'returns other blocks': (random) => [faults.anotherBlock(random)],
  'is of another chain': () => [faults.anotherChain],
  'fails with status 500': () => [faults.http(500)],
  'drops connections': () => [faults.dropped],
}
