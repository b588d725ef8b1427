import { CLOSED, RpcError, rpcClient } from '../../../src/rpc'
import type { AttestTypedData, Signer } from '../../../src/eas'
import { OutsideSigner, WrongSignature, type Device, type OutsideOptions } from './outside'

/**
 * The ways in which typed data is signed: the method, and whether it takes the data as JSON in a text. The
 * first is the common one, also of development nodes; then those of Web3Signer and of Clef.
 */
const WAYS = [
  { method: 'eth_signTypedData_v4', asText: false },
  { method: 'eth_signTypedData', asText: true },
  { method: 'account_signTypedData', asText: false },
]
/** Requests under way at a time: at 40 ms each, as a cloud takes, 800 signatures a second. */
const PARALLEL = 32

/**
 * A signer behind JSON-RPC. It is tried once, so that what it says is known early; where it does not answer
 * yet, it is asked again with each answer that is to be signed.
 */
export async function remoteSigner(url: string, address: string, options: OutsideOptions): Promise<Signer> {
  const signer = new OutsideSigner(address, new RemoteDevice(url, address), options)
  await signer.try()
  return signer
}

class RemoteDevice implements Device {
  readonly parallel = PARALLEL
  private readonly client: ReturnType<typeof rpcClient>
  private way: (typeof WAYS)[number] | undefined

  constructor(
    url: string,
    private readonly address: string,
  ) {
    // One call in a request.
    this.client = rpcClient({
      ...{ url, capacity: PARALLEL, maxBatchCallSize: 1, retryAttempts: 0, retrySchedule: [0], log: null },
    })
  }

  async sign(
    _digest: string,
    typed: () => AttestTypedData,
    isRight: (rs: Uint8Array) => Promise<boolean>,
    timeoutMs: number,
  ): Promise<Uint8Array> {
    const data = typed()
    const ends = performance.now() + timeoutMs
    const ask = async ({ method, asText }: (typeof WAYS)[number]) => {
      const timeout = Math.max(1, ends - performance.now())
      const params = [this.address, asText ? JSON.stringify(data) : data]
      const call = () => this.client.call<unknown>(method, params, { timeout })
      // A kept connection that the service has closed meanwhile.
      const answer = await call().catch((error: { code?: unknown }) => {
        if (CLOSED.has(error.code)) return call()
        throw error
      })
      return readSignature(answer)
    }
    if (this.way) return ask(this.way)
    let first: Error | undefined
    for (const way of WAYS)
      try {
        const rs = await ask(way)
        if (!(await isRight(rs))) throw new WrongSignature()
        this.way = way
        return rs
      } catch (error) {
        // One that does not answer at all would not do so in another way.
        if (!(error instanceof RpcError || error instanceof WrongSignature)) throw error
        // A wrong signature tells more than that a method is not known.
        if (!first || error instanceof WrongSignature) first = error
      }
    throw first!
  }
}

function readSignature(answer: unknown): Uint8Array {
  if (typeof answer !== 'string' || !/^(0x)?[0-9a-f]{128}([0-9a-f]{2})?$/i.test(answer))
    throw new WrongSignature('it answered with something else than a signature')
  return Buffer.from(answer.replace(/^0x/, ''), 'hex').subarray(0, 64)
}
