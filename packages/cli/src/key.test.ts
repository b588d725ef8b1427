// SPDX-License-Identifier: MIT
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { afterAll, expect, test } from 'vitest'
import { KeyError } from './exit'
import { fileNamed, readAccount } from './key'

const folder = mkdtempSync(path.join(tmpdir(), 'geo-key-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Test vectors of the Web3 Secret Storage Definition. */
const COMMON = { id: '3198bc9c-6672-5ab3-d995-4942343ae5b6', version: 3 }
const VECTORS = {
  pbkdf2: {
    crypto: {
      cipher: 'aes-128-ctr',
      cipherparams: { iv: '6087dab2f9fdbbfaddc31a909735c1e6' },
      ciphertext: '5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46',
      kdf: 'pbkdf2',
      kdfparams: {
        c: 262144,
        dklen: 32,
        prf: 'hmac-sha256',
        salt: 'ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd',
      },
      mac: '517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2',
    },
    ...COMMON,
  },
  scrypt: {
    crypto: {
      cipher: 'aes-128-ctr',
      cipherparams: { iv: '83dbcc02d8ccb40e466191a123791e0e' },
      ciphertext: 'd172bf743a674da9cdad04534d56926ef8358534d458fffccd4e6ad2fbde479c',
      kdf: 'scrypt',
      kdfparams: {
        ...{ dklen: 32, n: 262144, p: 8, r: 1 },
        salt: 'ab0c7876052600dd703518d6fc3fe8984592145b591fc8fb5c6d43190334ba19',
      },
      mac: '2103ac29920d71da29f15d75b4a16dbe95cfd7ff8faea1056c33131d846e3097',
    },
    ...COMMON,
  },
}
const ADDRESS = '0x008AeEda4D805471dF9b2A5B0f38A0C3bCBA786b'

const SURROUNDINGS = {
  ...{ stdin: process.stdin, stderr: process.stderr, signal: new AbortController().signal },
  env: { GEO_PASSPHRASE: 'testpassword' },
  at: (file: string) => file,
  interrupt: () => {},
}

/** Reads the account of a keystore. */
function accountOf(name: string, keystore: object) {
  const keyFile = path.join(folder, `${name}.json`)
  writeFileSync(keyFile, JSON.stringify(keystore))
  chmodSync(keyFile, 0o600)
  return readAccount({ keyFile }, SURROUNDINGS)
}

test.each(Object.entries(VECTORS))(
  'the key reader reads a keystore with %s',
  { tags: ['slow'] },
  async (kdf, keystore) => {
    const address = ADDRESS.slice(2).toLowerCase()
    expect((await accountOf(kdf, { ...keystore, address })).address).toBe(ADDRESS)
  },
)

test(
  'the key reader rejects a keystore whose key is not that of its address',
  { tags: ['slow'] },
  async () => {
    const { crypto, ...rest } = VECTORS.pbkdf2
    const damaged = { ...crypto, cipherparams: { iv: crypto.cipherparams.iv.replace('6', '7') } }
    const keystore = { ...rest, crypto: damaged }
    expect((await accountOf('unnamed', keystore)).address).not.toBe(ADDRESS)
    await expect(accountOf('damaged', { ...keystore, address: ADDRESS })).rejects.toThrow(KeyError)
  },
)

test('the key reader reads a key in UTF-16, as PowerShell writes it', async () => {
  const keyFile = path.join(folder, 'utf-16.txt')
  writeFileSync(keyFile, Buffer.from(`\ufeff0x${'1'.repeat(64)}\r\n`, 'utf16le'), { mode: 0o600 })
  expect((await readAccount({ keyFile }, SURROUNDINGS)).address).toMatch(/^0x/)
})

test('the key reader hides a file name that may contain a key', () => {
  const key = 'ab'.repeat(32)
  for (const file of [
    key,
    `0x${key}`,
    `folder/0x${key}.txt`,
    'test test test test test test test test test test test junk',
  ])
    expect(fileNamed(file)).toBe('(name not shown)')
  expect(fileNamed('folder/key.txt')).toBe("'folder/key.txt'")
})

test('the key reader ends at Ctrl-D instead of waiting for a passphrase', async () => {
  const keyFile = path.join(folder, 'prompt.json')
  writeFileSync(keyFile, JSON.stringify(VECTORS.scrypt), { mode: 0o600 })
  const terminal = () => Object.assign(new PassThrough(), { isTTY: true as const })
  const [stdin, stderr] = [terminal(), terminal()]
  const reading = readAccount({ keyFile }, { ...SURROUNDINGS, stdin, stderr, env: {} })
  stdin.write('\x04')
  await expect(reading).rejects.toThrow(KeyError)
})
