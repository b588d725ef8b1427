import { readFileSync } from 'node:fs'
import { SettingsError } from '../../src/config'
import { parsePolicy, parseSignerKey, TlogError, type Policy, type SignerKey } from '../../src/tlog'

/** Reads the policy file that LOG names. Throws a SettingsError with the number of the line. */
export function readPolicyFile(file: string): Policy {
  let policy: Policy
  try {
    policy = parsePolicy(readFileSync(file, 'utf8'))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw tlogFault(`LOG: ${file}`, error)
    throw new SettingsError(
      `LOG: ${file} cannot be read (${code}). Set it to on, off or the path of a policy file.`,
    )
  }
  for (const [name, { url }] of policy.witnesses)
    if (url === undefined || !/^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : ''))
      throw new SettingsError(
        `LOG: ${file}: witness ${name}: expected an http(s) URL after its key, to which checkpoints are sent.`,
      )
  return policy
}

/** Reads the key in LOG_KEY. The SettingsError that it throws does not contain the key. */
export async function readKeyOfLog(read: () => string): Promise<SignerKey> {
  const key = await parseSignerKey(read()).catch((error: unknown) => {
    throw tlogFault('LOG_KEY', error)
  })
  if (key.type !== 'ed25519')
    throw new SettingsError('LOG_KEY: expected a key of a log (signature type 1), got one of a witness.')
  return key
}

function tlogFault(place: string, error: unknown): unknown {
  return error instanceof TlogError ? new SettingsError(`${place}: ${error.message}`) : error
}
