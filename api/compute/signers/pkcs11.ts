import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { SettingsError, type SignerSettings } from '../../../src/config'
import { addressOf, type Signer } from '../../../src/eas'
import { OutsideSigner, type Device, type OutsideOptions } from './outside'
import type { Opened, Signed, Token } from './pkcs11-worker'

type Pkcs11Settings = Extract<SignerSettings, { kind: 'pkcs11' }>

/** Number of digests sent to the worker at once, so that it need not wait for the next one. */
const PARALLEL = 4
/** Time limit for opening the token at the start, in milliseconds. A token on a network first connects. */
const OPEN_MS = 30_000

/** Creates a signer with a key in a PKCS#11 token. Throws a SettingsError if it cannot be opened in time. */
export async function pkcs11Signer(
  { readPin, module, token, key }: Pkcs11Settings,
  options: OutsideOptions,
  workerFile = path.join(__dirname, 'pkcs11-worker.js'),
  openMs = OPEN_MS,
): Promise<Signer & { close(): Promise<void> }> {
  const device = new TokenDevice({ module, token, key, pin: readPin() }, workerFile)
  const address = await addressOf(await device.openWithin(openMs))
  const signer = new OutsideSigner(address, device, options)
  await signer.try()
  return Object.assign(signer, { close: () => device.close() })
}

/** A token in its own thread: calls of PKCS#11 block, on a network without limit. */
class TokenDevice implements Device {
  readonly parallel = PARALLEL
  private worker: Worker | undefined
  private readonly waiting = new Map<number, (signed: Signed) => void>()
  private asked = 0
  private opening: Promise<Uint8Array> | undefined
  /** Set if the token refused the PIN, which is not tried again, as that locks a token. */
  private refused: SettingsError | undefined
  /** Ids of signatures that timed out. The worker gets no requests while it is busy with one. */
  private readonly late = new Set<number>()

  constructor(
    private readonly token: Token,
    private readonly workerFile: string,
  ) {}

  /** Opens the token, and returns the public key: x and y, 64 bytes. Throws a SettingsError. */
  async openWithin(limitMs: number): Promise<Uint8Array> {
    process.on('exit', this.endWhileCalling)
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      const problem =
        `SIGNER_URL: the token '${this.token.token}' did not open within ${Math.round(limitMs / 1_000)} s ` +
        `(${this.token.module}). Check that the module can reach it, and start again.`
      timer = setTimeout(() => reject(new SettingsError(problem)), limitMs)
    })
    const opening = this.openOnce().catch((error: unknown) => {
      process.off('exit', this.endWhileCalling)
      throw error
    })
    return Promise.race([opening, late]).finally(() => clearTimeout(timer))
  }

  /** A thread does not end during a call of PKCS#11, and the process does not exit before its threads. */
  private readonly endWhileCalling = (): void => {
    if (this.opening || this.waiting.size > 0 || this.late.size > 0) process.kill(process.pid, 'SIGKILL')
  }

  private openOnce(): Promise<Uint8Array> {
    return (this.opening ??= this.open().finally(() => (this.opening = undefined)))
  }

  private async open(): Promise<Uint8Array> {
    const worker = new Worker(this.workerFile, { workerData: this.token })
    const opened = await new Promise<Opened>((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', reject)
    })
    if ('problem' in opened) {
      await worker.terminate()
      const error = new SettingsError(opened.problem)
      if (opened.isFinal) this.refused = error
      throw error
    }
    worker.on('message', (signed: Signed) => this.settle(signed))
    const ended = (problem: string) => {
      // After an error, the thread also exits. Signatures that came in between wait for the next thread.
      if (this.worker !== worker) return
      this.worker = undefined
      this.late.clear()
      for (const id of this.waiting.keys()) this.settle({ id, problem })
    }
    worker.on('error', (error) => ended(error.message))
    worker.on('exit', () => ended('the thread that calls the token ended'))
    // Otherwise, the token's thread would keep the process alive after the server has stopped. A listener of
    // messages undoes it, so this comes last.
    worker.unref()
    this.worker = worker
    return opened.publicKey
  }

  async sign(digest: string, _typed: unknown, _isRight: unknown, timeoutMs: number): Promise<Uint8Array> {
    if (this.late.size > 0) throw new Error('the token has not finished an earlier call')
    if (this.refused) throw this.refused
    const id = this.asked++
    const signed = await new Promise<Signed>((resolve) => {
      const timer = setTimeout(() => {
        this.late.add(id)
        resolve({ id, problem: `no response of the token within ${Math.round(timeoutMs)} ms` })
      }, timeoutMs)
      this.waiting.set(id, (answer) => {
        clearTimeout(timer)
        resolve(answer)
      })
      this.opened().then(
        () => this.worker!.postMessage({ id, digest: Buffer.from(digest.slice(2), 'hex') }),
        (error: Error) => this.settle({ id, problem: error.message }),
      )
    }).finally(() => this.waiting.delete(id))
    if ('problem' in signed) throw new Error(signed.problem)
    return signed.signature
  }

  /** Opens the token again if its thread has ended. */
  private async opened(): Promise<void> {
    if (!this.worker) await this.openOnce()
  }

  private settle(signed: Signed): void {
    this.late.delete(signed.id)
    this.waiting.get(signed.id)?.(signed)
  }

  async close(): Promise<void> {
    await this.worker?.terminate()
    process.off('exit', this.endWhileCalling)
  }
}
