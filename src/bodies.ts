import type { RpcClient } from '@subsquid/rpc-client'
import { DataConsistencyError } from '@subsquid/util-internal-ingest-tools'
import * as eas from './abi/EAS'
import * as multicall from './abi/Multicall3'
import { hashesToUid, type UidFields } from './eas'

/** What EAS stores of an attestation, hex lower-case; without what can change later (the revocation). */
export interface AttestationBody extends UidFields {
  uid: string
}

/** The same on every chain that has it. */
const MULTICALL3 = '0xca11bde05977b3631167028862be2a173976ca11'
/** Bodies asked for in one eth_call: 100 of usual size stay well under the response limits of public nodes. */
const PAGE_SIZE = 100
const ZERO_UID = `0x${'0'.repeat(64)}`

/**
 * The chain does not know an attestation that it just announced: reorganised away, or the node that answered lags.
 * evm-processor takes such an error for what it is and asks for the head again (up to 100 times, 100 ms apart).
 */
export class MissingBodyError extends DataConsistencyError {}

/** A node answered something that cannot be true. The batch is stopped whole; the process is restarted. */
export class FalseBodyError extends Error {
  override readonly name = 'FalseBodyError'
}

/** Reads attestation bodies from one chain's EAS. */
export class BodyReader {
  private hasMulticall: Promise<boolean> | undefined

  constructor(
    private readonly rpc: RpcClient,
    private readonly easAddress: string,
  ) {}

  /**
   * The bodies of these attestations, each proven by recomputing its UID from its content.
   * `times` are the Unix seconds of the blocks that announced them, which a body must repeat.
   * Read at `latest`, as public nodes lack older state. Throws MissingBodyError or FalseBodyError.
   */
  async read(times: ReadonlyMap<string, bigint>): Promise<Map<string, AttestationBody>> {
    const uids = [...times.keys()]
    const pages = Array.from({ length: Math.ceil(uids.length / PAGE_SIZE) }, (_, i) => uids.slice(i * PAGE_SIZE, (i + 1) * PAGE_SIZE))
    const read = await Promise.all(pages.map((page) => this.readAsAllowed(page)))
    const bodies = read.flat().map((body, i) => proveBody(body, uids[i]!, times.get(uids[i]!)!))
    return new Map(bodies.map((body) => [body.uid, body]))
  }

  /** A page that the node refuses (its gas or answer is capped, and bodies may be large) is read by halves, down to single ones. */
  private async readAsAllowed(uids: string[]): Promise<eas.GetAttestationReturn[]> {
    try {
      return await this.readPage(uids)
    } catch (error) {
      if (uids.length === 1 || error instanceof FalseBodyError) throw error
      const half = Math.ceil(uids.length / 2)
      return [...(await this.readAsAllowed(uids.slice(0, half))), ...(await this.readAsAllowed(uids.slice(half)))]
    }
  }

  private async readPage(uids: string[]): Promise<eas.GetAttestationReturn[]> {
    const calls = uids.map((uid) => ({ target: this.easAddress, allowFailure: false, callData: eas.functions.getAttestation.encode({ uid }) }))
    // A single one goes to EAS itself, without Multicall's copies of it in memory.
    const answers = uids.length > 1 && (await (this.hasMulticall ??= this.findMulticall()))
      ? multicall.functions.aggregate3
          .decodeResult(await this.ethCall(MULTICALL3, multicall.functions.aggregate3.encode({ calls })))
          .map((result) => result.returnData)
      : await this.rpc.batchCall<string>(calls.map((call) => ({ method: 'eth_call', params: [{ to: call.target, data: call.callData }, 'latest'] })))
    if (answers.length !== uids.length) throw new FalseBodyError(`asked for ${uids.length} attestations, the node answered ${answers.length}`)
    return answers.map((answer) => eas.functions.getAttestation.decodeResult(answer))
  }

  private ethCall(to: string, data: string): Promise<string> {
    return this.rpc.call<string>('eth_call', [{ to, data }, 'latest'])
  }

  private async findMulticall(): Promise<boolean> {
    return (await this.rpc.call<string>('eth_getCode', [MULTICALL3, 'latest'])) !== '0x'
  }
}

/** Throws unless the body's content hashes to its UID and its time is that of the announcing block. */
export function proveBody(body: AttestationBody, uid: string, blockSeconds: bigint): AttestationBody {
  if (body.uid === ZERO_UID) throw new MissingBodyError(`attestation ${uid} is announced by a log but not known to the contract`)
  if (body.uid !== uid) throw new FalseBodyError(`asked for attestation ${uid}, the node answered ${body.uid}`)
  if (body.time !== blockSeconds) throw new FalseBodyError(`attestation ${uid} says time ${body.time}, its block ${blockSeconds}`)
  if (!hashesToUid(body, uid)) throw new FalseBodyError(`the content of attestation ${uid} does not hash to its UID`)
  return body
}
