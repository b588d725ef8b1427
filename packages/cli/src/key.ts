// SPDX-License-Identifier: MIT
import { open, type FileHandle } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import type { PrivateKeyAccount } from 'viem/accounts'
import { decoded, type Context, type Files } from './context'
import { KeyError } from './exit'

/** Reads the key that signs, from a file that only its owner can read. No message contains any part of it. */

export interface KeyOptions {
  keyFile?: string
  /** file with the passphrase of a keystore */
  passphraseFile?: string
}
export interface KeySurroundings
  extends Pick<Context, 'env' | 'stdin' | 'stderr' | 'signal'>, Pick<Files, 'at'> {
  /** called for Ctrl-C during a prompt on the terminal */
  interrupt: () => void
}

const HEX_KEY = /^(0x)?[0-9a-fA-F]{64}$/
const WORDS = /^\s*([a-z]+\s+){11,}[a-z]+\s*$/i

/** Returns a file name for a message. A name that may contain a key or a mnemonic is not shown. */
export function fileNamed(file: string): string {
  return /(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/i.test(file) || WORDS.test(file)
    ? '(name not shown)'
    : `'${file}'`
}

/** Reads the account of the key file. Throws a KeyError that states the remedy. */
export async function readAccount(
  { keyFile, passphraseFile }: KeyOptions,
  surroundings: KeySurroundings,
): Promise<PrivateKeyAccount> {
  if (!keyFile)
    throw new KeyError(
      'This command requires a key. Name its file with --key-file or GEO_KEY_FILE: 0x and 64 hex ' +
        'digits, or a keystore (JSON, version 3).',
    )
  const content = (await readSecret(keyFile, '--key-file', surroundings)).trim()
  const keystore = HEX_KEY.test(content) ? undefined : keystoreOf(content, keyFile)
  const key = keystore ? await decrypted(keystore, keyFile, passphraseFile, surroundings) : content
  const { privateKeyToAccount } = await import('viem/accounts')
  let account
  try {
    account = privateKeyToAccount(`0x${key.replace(/^0x/, '')}`)
  } catch {
    throw new KeyError(`'${keyFile}' contains a number that is not a key of secp256k1. Use another key.`)
  }
  // The checksum of a keystore does not cover its initialisation vector.
  const named = keystore?.address?.replace(/^0x/, '').toLowerCase()
  if (named && named !== account.address.slice(2).toLowerCase())
    throw new KeyError(
      `'${keyFile}' is damaged: its key is that of ${account.address}, but it names 0x${named}. Restore the file.`,
    )
  return account
}

/** Reads a file that only its owner can read. Throws a KeyError if others can. */
async function readSecret(file: string, option: string, { at }: KeySurroundings): Promise<string> {
  if (HEX_KEY.test(file.trim()) || WORDS.test(file))
    throw new KeyError(
      `${option} expects the path of a file, but this looks like a key. Do not write keys on a ` +
        'command line: other users see it in the list of processes, and the shell stores it. Write ' +
        'the key into a file that only you can read. Use another key if this one protects money.',
    )
  let handle: FileHandle | undefined
  try {
    handle = await open(at(file))
    const found = await handle.stat()
    const { mode } = found
    if (found.isDirectory())
      throw new KeyError(
        `${fileNamed(file)} (${option}) is not a file. Name the file of the ` +
          `${option === '--key-file' ? 'key' : 'passphrase'}.`,
      )
    if (process.platform !== 'win32' && mode & 0o077)
      throw new KeyError(
        `Other users can access '${file}' (mode ${(mode & 0o777).toString(8)}). Run chmod 600 ` +
          `${quoted(file)} and try again. Nothing was signed.`,
      )
    return decoded(await handle.readFile())
  } catch (error) {
    if (error instanceof KeyError) throw error
    const { code } = error as NodeJS.ErrnoException
    throw new KeyError(
      code === 'ENOENT'
        ? `File not found: ${fileNamed(file)} (${option}).`
        : `Could not read the file ${fileNamed(file)} (${option}, ${code}).`,
    )
  } finally {
    await handle?.close()
  }
}

function quoted(file: string): string {
  return /^[\w./-]+$/.test(file) ? file : `'${file.replaceAll("'", `'\\''`)}'`
}

type Keystore = Parameters<typeof import('ox/Keystore').decrypt>[0] & { address?: string }

/** Parses a keystore. geth writes `crypto`, ethers `Crypto`. */
function keystoreOf(content: string, file: string): Keystore {
  try {
    const {
      Crypto,
      crypto = Crypto,
      ...rest
    } = JSON.parse(content) as Keystore & { Crypto?: Keystore['crypto'] }
    if (rest.version === 3 && crypto?.cipher === 'aes-128-ctr') return { ...rest, crypto }
  } catch {
    // The statement after this block throws an error without the file's content.
  }
  throw new KeyError(
    `'${file}' does not contain a key: expected 0x and 64 hex digits, or a keystore (JSON, ` +
      'version 3, aes-128-ctr).',
  )
}

async function decrypted(
  keystore: Keystore,
  file: string,
  passphraseFile: string | undefined,
  surroundings: KeySurroundings,
): Promise<string> {
  const passphrase = passphraseFile
    ? (await readSecret(passphraseFile, '--passphrase-file', surroundings)).replace(/\r?\n$/, '')
    : surroundings.env.GEO_PASSPHRASE || (await asked(`Passphrase of ${file}: `, surroundings))
  const { decrypt, toKey } = await import('ox/Keystore')
  try {
    return decrypt(keystore, toKey(keystore, { password: passphrase }))
  } catch {
    throw new KeyError(
      `Could not decrypt '${file}': the passphrase is incorrect, or the keystore is damaged.`,
    )
  }
}

/** Asks for a passphrase on the terminal, without echo. */
async function asked(
  question: string,
  { stdin: input, stderr, signal, interrupt }: KeySurroundings,
): Promise<string> {
  if (!input.isTTY || !stderr.isTTY)
    throw new KeyError(
      'The keystore requires a passphrase, but there is no terminal for the prompt. Name its file ' +
        'with --passphrase-file, or set GEO_PASSPHRASE.',
    )
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input, output: unseen, terminal: true })
  // In raw mode the terminal sends Ctrl-C as a key, not as a signal.
  terminal.on('SIGINT', interrupt)
  stderr.write(question)
  try {
    return await terminal.question('', { signal })
  } catch {
    signal.throwIfAborted()
    throw new KeyError('No passphrase was entered. Nothing was signed.')
  } finally {
    terminal.close()
    stderr.write('\n')
  }
}
