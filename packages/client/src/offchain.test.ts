// SPDX-License-Identifier: MIT
import { Signature } from 'ethers'
import { expect, test } from 'vitest'
import vectors from '../../../test/vectors/offchain-vectors.json'
import { offchainInput, type OffchainFile } from './offchain'

const { sig, signer } = vectors.vectors.find(({ id }) => id === 'public-valid-v2-base-sepolia')!
  .document as unknown as { sig: Record<string, any>; signer: string }
const inputOf = (signature: unknown) => offchainInput({ ...sig, signature } as never)

test('the client recovers the signer from every form of a signature that the service reads', async () => {
  const { serialized, compactSerialized, yParityAndS, r, s, v } = Signature.from(sig.signature)
  const parts = [
    { r, s, v },
    { r, s, v: v - 27 },
    { r, s, v: String(v) },
    { r, yParityAndS },
  ]
  for (const signature of [...parts, { r, vs: yParityAndS }, serialized, compactSerialized]) {
    const { attestation } = await inputOf(signature)
    expect((attestation as OffchainFile).signer.toLowerCase()).toBe(signer.toLowerCase())
    expect((attestation as OffchainFile).sig.signature).toEqual(signature)
  }
})
test('the client requires a named signer if the signature has an unknown form', async () => {
  const { serialized, r } = Signature.from(sig.signature)
  for (const signature of [null, 7, {}, { r }, { r, vs: 7 }, { r, vs: '0x1' }, '', '0x', `${serialized}00`])
    await expect(inputOf(signature)).rejects.toMatchObject({ name: 'InvalidInputError' })
})
