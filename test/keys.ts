import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { Interface, hexlify, parseEther, randomBytes } from 'ethers'
import { expect } from 'vitest'
import { LOCAL_CHAIN, mined, type LocalChain } from '../dev/chain'
import { GATE, TOWER } from './positions'
import { startTestWorld } from './world'

/** Answers of a service whose signer differs from that of other tests, and how they land. */

type Json = any
export const QUESTION = { chainId: LOCAL_CHAIN.id, from: GATE, to: TOWER }
/** Path of the compiled worker. `npm test` builds before it runs. */
export const WORKER = path.resolve('dist/api/compute/signers/pkcs11-worker.js')
const ATTESTED = new Interface([
  'event Attested(address indexed recipient, address indexed attester, bytes32 uid, bytes32 indexed schemaUID)',
])

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
  const from = hexlify(randomBytes(20))
  await chain.provider.send('anvil_setBalance', [from, `0x${parseEther('1').toString(16)}`])
  await chain.provider.send('anvil_impersonateAccount', [from])
  const { to, data } = transaction
  const { logs } = await mined(chain, await chain.provider.send('eth_sendTransaction', [{ from, to, data }]))
  const log = logs.find(
    ({ address, topics }) =>
      address.toLowerCase() === chain.chain.eas && topics[0] === ATTESTED.getEvent('Attested')!.topicHash,
  )
  return (await (await chain.eas()).getFunction('getAttestation').staticCall(log!.data)).attester
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
