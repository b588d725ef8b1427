// SPDX-License-Identifier: MIT
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { domainSeparator } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, afterEach, expect, vi } from 'vitest'
import { hunt } from '../../../../test/seed'
import { MemoryLog, seededKey } from '../../../../test/tlog'
import { encodeNumericResult } from '../../../../src/eas'
import { ATTEST_FIELDS } from '../../../../src/eas/layouts'
import { encodeEntry, formatNote, formatVerifierKey, signNote, type Entry } from '../../../../src/tlog'
import { EXIT } from '../exit'
import { geoHere } from '../../test/here'

const folder = mkdtempSync(path.join(tmpdir(), 'geo-malformed-'))
afterAll(() => rmSync(folder, { recursive: true }))
afterEach(() => void vi.unstubAllGlobals())

const address = (n: number) => `0x${n.toString(16).padStart(40, '0')}` as const
const hash = (n: number) => `0x${n.toString(16).padStart(64, '0')}` as const
const domainOf = (chainId: number) => ({
  ...{ name: 'EAS', version: '1.4.0', chainId, verifyingContract: address(100 + chainId) },
})

/** Entry of an answer, signed for chain 1. */
async function signedEntry(operation: string): Promise<Uint8Array> {
  const account = privateKeyToAccount(hash(1))
  const claims = { inputRefs: [hash(1), hash(2)], timestamp: 1, operation }
  const entry: Omit<Entry, 'signature'> = {
    ...{ kind: 'answer', time: 1, chainId: 1, attester: account.address.toLowerCase(), layout: 'v2' },
    ...{ separator: domainSeparator({ domain: domainOf(1) }), schema: hash(3), recipient: address(4) },
    ...{ expirationTime: 0, revocable: true, refUID: hash(0), nonce: 0, deadline: 9 },
    data: encodeNumericResult(1n, 'centimeters', claims),
  }
  const signature = await account.signTypedData({
    ...{ domain: domainOf(1), types: { Attest: ATTEST_FIELDS.v2 }, primaryType: 'Attest' },
    message: { ...entry, value: 0 },
  })
  return encodeEntry({ ...entry, signature })
}

const JUNK: readonly unknown[] = [null, true, -1, 0.5, 1e300, '', 'x', [], [null], {}, { toString: 1 }]

hunt(
  'a malformed response is not an internal error of the monitor',
  100,
  async ({ cases, random }) => {
    const below = (limit: number) => Math.floor(random() * limit)
    const oneOf = <Item>(items: readonly Item[]) => items[below(items.length)]!
    /** Replaces, removes or repeats a random part of a file. */
    const brokenBytes = (bytes: Uint8Array): Buffer => {
      const [from, to] = [below(bytes.length), below(bytes.length)].toSorted((a, b) => a - b) as [
        number,
        number,
      ]
      const part = oneOf([[], [below(256)], bytes.subarray(from, to), new Uint8Array(32 * below(600))])
      return Buffer.concat([bytes.subarray(0, from), Buffer.from(part), bytes.subarray(below(2) ? from : to)])
    }
    const brokenText = (text: string) => brokenBytes(Buffer.from(text)).toString()
    /** Replaces a random part of a JSON value. */
    const brokenJson = (value: unknown): unknown => {
      if (typeof value === 'string' && below(2)) return brokenText(value)
      if (typeof value !== 'object' || value === null || below(5) === 0) return oneOf(JUNK)
      const copy = structuredClone(value) as Record<string, unknown>
      const key = oneOf(Object.keys(copy))
      copy[key] = brokenJson(copy[key])
      return copy
    }

    const log = new MemoryLog(await seededKey('log', 'ed25519', 1))
    const entries = await Promise.all(['distance', 'contains', 'x:1'].map(signedEntry))
    log.append(...Array.from({ length: 300 }, (_, at) => entries[at] ?? Buffer.from([at])))
    await log.sign()
    const checkpoint = formatNote(log.note)
    await log.append(...log.entries.slice(0, 250)).sign()
    const witness = formatVerifierKey(await seededKey('w.example', 'cosignature', 2))
    const policy = `log ${formatVerifierKey(log.key)}\nwitness w ${witness} http://w\nquorum none\n`
    writeFileSync(path.join(folder, 'log.policy'), policy)
    const chains = [1, 2].map((id) => ({
      ...{ id, slug: `chain-${id}`, eas: address(100 + id), attester: address(1), domain: domainOf(id) },
      ...{ otherAttesters: [address(2)], proxy: { address: address(7), domain: domainOf(id) } },
    }))
    const documents: Record<string, object> = {
      '/': { chains, defaultSchemas: {} },
      '/log/v0/': { origin: 'log', policy },
      '/quorum/v0': [{ chainId: 1, quorum: address(9) }],
    }
    const kinds = [
      ...Object.keys(documents),
      'witness',
      'checkpoint',
      'tile',
      'tile/entries',
      'note',
      'entry',
    ]

    for (let at = 0; at < cases; at++) {
      const broken = oneOf(kinds)
      // A log can also sign a malformed checkpoint, and a tree with malformed entries.
      const served = broken === 'note' || broken === 'entry' ? log.copy() : log
      if (broken === 'entry')
        await served.append(...entries.map((each) => brokenBytes(each).subarray(0, 60_000))).sign()
      if (broken === 'note') {
        const text = `${brokenText(log.note.text).trimEnd()}\n`
        served.note = { text, signatures: [await signNote(text, log.key)] }
      }
      const stop = new AbortController()
      let requests = 0
      vi.stubGlobal('fetch', async (input: Request | string) => {
        const { host, pathname } = new URL(input instanceof Request ? input.url : input)
        // The monitor reads a log that may still catch up with a witness for a minute.
        if (++requests > 40) stop.abort()
        if (documents[pathname]) {
          const isBroken = pathname === broken
          const text = JSON.stringify(isBroken ? brokenJson(documents[pathname]) : documents[pathname])
          const body = isBroken && below(9) === 0 ? brokenText(text) : text
          return new Response(body, { headers: { 'content-type': 'application/json' } })
        }
        const file = host === 'w' ? 'checkpoint' : pathname.replace('/log/v0/', '')
        const content = (host === 'w' ? log : served).read(file)
        if (!content) return new Response('', { status: 404 })
        const isBroken = host === 'w' ? broken === 'witness' : file.startsWith(broken) && below(2) === 0
        return new Response(isBroken ? new Uint8Array(brokenBytes(content)) : new Uint8Array(content))
      })
      writeFileSync(path.join(folder, 'state.json'), JSON.stringify({ version: 3, raised: [], checkpoint }))
      const options = [
        ...(below(2) ? ['--log-policy', 'log.policy'] : []),
        ...(below(2) ? ['--state', 'state.json'] : []),
      ]
      const monitor = ['log', 'monitor', '--once', '--every', '0', '--url', 'http://own', ...options]
      const { code, stderr } = await geoHere(monitor, { signal: stop.signal, cwd: folder })
      expect([broken, code, code === EXIT.fault && stderr]).toEqual([broken, code, false])
    }
  },
  ['slow'],
)
