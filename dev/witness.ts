import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { Folder } from '../packages/witness/src/folder'
import { serve } from '../packages/witness/src/server'
import { Witness } from '../packages/witness/src/witness'
import type { SignerKey, VerifierKey } from '../src/tlog'

/** A witness of transparency logs in this process. */
export interface WitnessHere {
  readonly key: SignerKey
  readonly url: string
  stop(): Promise<void>
}

/** Starts a witness with a new key, which cosigns the checkpoints of these logs. */
export async function startWitness(
  name: string,
  logs: readonly VerifierKey[],
  folder: string,
): Promise<WitnessHere> {
  const files = new Folder(folder)
  const key = await files.create(name)
  const release = await files.lock()
  const clock = () => Math.floor(Date.now() / 1000)
  const witness = new Witness(key, logs, files, await files.checkpoints(key), clock, console.error)
  const server = serve(witness, console.error)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    key,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      const closed = once(server.close(), 'close')
      server.closeAllConnections()
      await closed
      release()
    },
  }
}
