import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { hexlify, randomBytes } from 'ethers'
import { expect } from 'vitest'
import { LOCAL_CHAIN, type LocalChain } from '../dev/chain'
import { attestationIn, sent } from './newcomers'
import { GATE, TOWER } from './positions'
import { startTestWorld } from './world'

/** Answers of a service whose signer differs from that of other tests, and how they land. */

type Json = any
export const QUESTION = { chainId: LOCAL_CHAIN.id, from: GATE, to: TOWER }
/** Path of the compiled worker. `npm test` builds before it runs. */
export const WORKER = path.resolve('dist/api/compute/signers/pkcs11-worker.js')

/** Writes a new secret for SEAL_SECRET_FILE, and returns its file. */
export function writeSecret(folder: string): string {
  const file = path.join(folder, 'seal')
  writeFileSync(file, `${hexlify(randomBytes(32))}\n`)
  return file
}

/**
 * Sends an answer's transaction from a new account, and returns the attester that EAS then records. Throws if
 * it reverts.
 */
export async function land(chain: LocalChain, { transaction }: Json): Promise<string> {
  return (await attestationIn(chain, await sent(chain, transaction))).attester
}

/** Checks that the answers of a service with this signer land, in EAS and through the proxy. */
export async function answersLand(environment: NodeJS.ProcessEnv, attester: string): Promise<void> {
  const world = await startTestWorld({ ...environment, ATTESTER_ADDRESS: attester })
  try {
    expect((await world.get('/')).body.chains).toMatchObject([{ attester, ready: true }])
    expect((await world.get('/ready')).body.signer).toEqual({ status: 'ready' })
    const landedBy: Record<string, string> = { direct: attester, proxy: world.chain.proxy }
    for (const [submission, by] of Object.entries(landedBy)) {
      const asked = await world.post('/compute/v0/distance', {
        ...{ ...QUESTION, submission, include: ['transaction'] },
      })
      expect(asked).toMatchObject({ status: 200, body: { attestation: { attester } } })
      expect(await land(world.chain, asked.body)).toBe(by)
    }
    const batch = await world.post('/compute/v0/batch', {
      chainId: LOCAL_CHAIN.id,
      operations: Array.from({ length: 20 }, () => ({ operation: 'distance', from: GATE, to: TOWER })),
    })
    expect([batch.status, batch.body.results.length]).toEqual([200, 20])
    const [{ attestation, delegatedAttestation }] = batch.body.results
    const again = { chainId: LOCAL_CHAIN.id, attestation, delegatedAttestation, include: ['transaction'] }
    const resigned = await world.post('/compute/v0/resign', again)
    expect(await land(world.chain, resigned.body)).toBe(attester)
  } finally {
    await world.stop()
  }
}
