import type { Logger } from 'pino'
import { SettingsError, type Settings } from '../../../src/config'
import { checksumAddress, keySigner, sealOf, type Seal, type Signer } from '../../../src/eas'
import { pkcs11Signer } from './pkcs11'
import { remoteSigner } from './remote'

/** Identity that signs for the service, the same on every chain. */
export interface Identity {
  readonly signer: Signer
  /** Other addresses of this service, lower-case, such as those before and after a change of the key. */
  readonly others: readonly string[]
  /** Keys of seals. The first one makes new seals; seals of all of them are accepted. */
  readonly seals: readonly [Seal, ...Seal[]]
}

/** Time limit for a signature by a token or a service, in milliseconds, including the wait for a slot. */
const TIMEOUT_MS = 5_000

type IdentitySettings = Pick<Settings, 'signer' | 'attesterAddress' | 'otherAttesters' | 'readSealSecrets'>

/** Loads the identity, as the only reader of secrets. Throws a SettingsError if the key does not fit. */
export async function loadIdentity(settings: IdentitySettings, logger?: Logger): Promise<Identity> {
  const { attesterAddress: expected, readSealSecrets } = settings
  const { signer, ownSeals } = await load(settings, logger)
  if (expected && expected !== signer.address)
    throw new SettingsError(
      `ATTESTER_ADDRESS is ${checksumAddress(expected)}, but the signer's key belongs to ${checksumAddress(signer.address)}: correct one of them`,
    )
  const [first, ...more] = [...(readSealSecrets?.() ?? []).map(sealOf), ...ownSeals]
  return { signer, others: settings.otherAttesters, seals: [first!, ...more] }
}

async function load(
  { signer: settings, attesterAddress }: IdentitySettings,
  logger?: Logger,
): Promise<{ signer: Signer; ownSeals: Seal[] }> {
  const onChange = (problem: string | undefined, detail?: string) =>
    problem === undefined
      ? logger?.info('the signer signs again')
      : logger?.error({ problem, detail }, 'the signer does not sign')
  const outside = { timeoutMs: TIMEOUT_MS, onChange }
  switch (settings!.kind) {
    case 'key': {
      const key = settings!.readKey()
      return { signer: await keySigner(key), ownSeals: [sealOf(key)] }
    }
    case 'pkcs11':
      return { signer: await pkcs11Signer(settings!, outside), ownSeals: [] }
    case 'remote':
      return { signer: await remoteSigner(settings!.url, attesterAddress!, outside), ownSeals: [] }
  }
}
