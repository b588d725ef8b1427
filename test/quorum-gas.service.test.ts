// @module-tag slow
import { Contract, Wallet, concat } from 'ethers'
import { beforeAll, describe, expect, test } from 'vitest'
import { deployQuorum, mined } from '../dev/chain'
import { inOrder } from '../dev/operators'
import { chainNamed } from '../src/chains'
import { QUORUM_ABI } from '../src/eas'
import { signContent, THRESHOLD } from './operators'
import { startTestWorld, type TestWorld } from './world'

/**
 * Measures the additional gas of an answer of three of five operators, compared with an answer of one signer
 * with the same content, calldata included. The signer's first answer writes the slot of its nonce; later
 * ones change it. The digest of a quorum always writes a new slot.
 */
const wallets = inOrder([1, 2, 3, 4, 5].map((i) => `0x${`${i}`.repeat(64)}`))

const MOST = [
  ['sepolia', 24_000, 41_000],
  ['base-sepolia', 22_000, 39_000],
  ['celo', 22_000, 39_000],
  ['base', 22_000, 39_000],
] as const
let world: TestWorld
beforeAll(async () => {
  world = await startTestWorld({ CHAINS: MOST.map(([slug]) => slug).join() })
})

describe('an answer of three of five', () => {
  test.each(MOST)(
    'lands on the EAS of %s for at most %d gas more than a first answer, and %d more than a later one',
    async (slug, mostOfFirst, mostOfLater) => {
      const { id } = chainNamed(slug)!
      const chain = world.chains.get(slug)!
      const account = await chain.provider.getSigner(9)
      const quorum = await deployQuorum(chain, {
        ...{ operators: wallets.map(({ address }) => address), threshold: THRESHOLD },
      })
      const point = (lng: number) => ({ type: 'Point', coordinates: [lng, 48.8584] })
      const landAlone = async () => {
        const { body } = await world.post('/compute/v0/distance', {
          ...{ chainId: id, from: point(2), to: point(3), recipient: Wallet.createRandom().address },
          include: ['transaction'],
        })
        const { hash } = await account.sendTransaction(body.transaction as object)
        const { gasUsed } = await mined(chain, hash)
        return { gas: Number(gasUsed), content: body.attestation }
      }
      const [first, later] = [await landAlone(), await landAlone()]
      const { schema, recipient, revocable, refUID, data } = later.content
      const deadline = (await chain.provider.getBlock('latest'))!.timestamp + 600
      const content = { schema, recipient, expirationTime: 0, revocable, refUID, data, deadline, epoch: 1 }
      const signatures = await Promise.all(
        wallets.slice(0, THRESHOLD).map((each) => signContent(each, { chainId: id, quorum }, content)),
      )
      const land = new Contract(quorum, QUORUM_ABI, account).getFunction('land')
      const together = await mined(chain, (await land.send(content, 7, concat(signatures))).hash)
      const [ofFirst, ofLater] = [first, later].map(({ gas }) => Number(together.gasUsed) - gas)
      expect(ofFirst).toBeLessThanOrEqual(mostOfFirst)
      expect(ofLater).toBeLessThanOrEqual(mostOfLater)
    },
  )
})
