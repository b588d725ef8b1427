import { CLOSED, RpcError, rpcClient } from '../../../src/rpc'
import type { AttestTypedData, Signer } from '../../../src/eas'
import { OutsideSigner, WrongSignature, type Device, type OutsideOptions } from './outside'

/** Methods that sign typed data, the most common first, then those of Web3Signer and of Clef. */
const WAYS = [
  { method: 'eth_signTypedData_v4', asText: false },
  { method: 'eth_signTypedData', asText: true },
  { method: 'account_signTypedData', asText: false },
]
/** Maximum number of concurrent requests: 800 signatures/s at the 40 ms of a cloud service. */
const PARALLEL = 32

/** Creates a signer behind JSON-RPC, and tries it once, so that its errors are reported early. */
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
    // Sends one call per request.
    this.client = rpcClient({
      ...{ url, capacity: PARALLEL, maxBatchCallSize: 1, retryAttempts: 0, log: null },
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
      const params = [this.address, asText ? JSON.stringify(data) : data]
      const call = () =>
        this.client.call<unknown>(method, params, { timeout: Math.max(1, ends - performance.now()) })
      // Repeats the call if the service has closed an idle connection in the meantime.
      const answer = await call().catch((error: { code?: unknown }) => {
        if (CLOSED.has(error.code)) return call()
        throw error
      })
      return readSignature(answer)
    }
    const known = this.way
    let problem: Error | undefined
    for (const way of known ? [known, ...WAYS.filter((each) => each !== known)] : WAYS)
      try {
        const rs = await ask(way)
        if (!(await isRight(rs))) throw new WrongSignature()
        this.way = way
        return rs
      } catch (error) {
        // A service that does not respond at all would not respond to another method either.
        if (!(error instanceof RpcError || error instanceof WrongSignature)) throw error
        // A refusal by a rule or a rate limit is no reason to try the other methods. A service that has been
        // replaced does not know the method, or signs differently.
        if (way === known && weightOf(error) === REFUSED) throw error
        if (!problem || weightOf(error) > weightOf(problem)) problem = error
      }
    throw problem!
  }
}

const [UNKNOWN_METHOD, REFUSED, WRONG] = [0, 1, 2]
/** Ranks errors of methods: the most informative one is reported. */
function weightOf(error: Error): number {
  if (!(error instanceof RpcError)) return WRONG
  return error.code === -32601 ? UNKNOWN_METHOD : REFUSED
}

function readSignature(answer: unknown): Uint8Array {
  if (typeof answer !== 'string' || !/^(0x)?[0-9a-f]{128}([0-9a-f]{2})?$/i.test(answer))
    throw new WrongSignature('its response is not a signature')
  return Buffer.from(answer.replace(/^0x/, ''), 'hex').subarray(0, 64)
}
