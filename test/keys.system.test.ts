import { execFile, execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { Contract, getAddress, hexlify, randomBytes } from 'ethers'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { pkcs11Signer } from '../api/compute/signers/pkcs11'
import { LOCAL_CHAIN } from '../dev/chain'
import { freePort } from '../dev/services'
import { blankSettings } from '../dev/settings'
import { SettingsError, readSettings, type SignerSettings } from '../src/config'
import { recoverSigner } from '../src/eas'
import { startTestChain } from './chains'
import { temporaryFolder } from './database'
import { WORKER, answersLand, writeSecret } from './keys'
import { fund } from './newcomers'
import { sentence, testSentences } from './sentences'
import { MISSING_FOR_TOKENS, makeToken, type SoftToken } from './softhsm'
import { needing } from './needs'

/** Tests signers whose key is on a token (SoftHSM). */

let folder: string
let secret: string
beforeAll(() => {
  folder = temporaryFolder()
  secret = writeSecret(folder)
})

/** Runs a program with a signer whose token hangs in `block()`, and returns the process. */
function hangingToken(token: string, program: string) {
  // Opening a pipe that nobody writes to blocks a thread like a call of PKCS#11.
  const [pipe, worker] = ['pipe', 'worker.cjs'].map((name) => path.join(temporaryFolder(), name))
  execFileSync('mkfifo', [pipe!])
  writeFileSync(worker!, `const block = () => require('node:fs').openSync(${JSON.stringify(pipe)})\n${token}`)
  const script = `const signer = (timeoutMs, openMs) => require(process.argv[1]).pkcs11Signer(
    { module: 'm', token: 't', key: 'k', readPin: () => '' }, { timeoutMs }, process.argv[2], openMs,
  )\n${program}`
  const signers = path.join(path.dirname(WORKER), 'pkcs11.js')
  return promisify(execFile)(process.execPath, ['-e', script, signers, worker!])
}
test('a process whose token hangs at the start ends, although its thread cannot', async () => {
  const program = `signer(1, 50).catch((error) => { console.error(error.name); process.exit(2) })`
  await expect(hangingToken('block()', program)).rejects.toMatchObject({
    signal: 'SIGKILL',
    stderr: 'SettingsError\n',
  })
})
test('a process ends before the time limit of a call of the token that hangs', async () => {
  const token = `const { parentPort } = require('node:worker_threads')
    parentPort.postMessage({ publicKey: new Uint8Array(64).fill(1) })
    parentPort.once('message', ({ id }) => {
      parentPort.once('message', () => { require('node:fs').writeSync(2, 'hangs'); block() })
      parentPort.postMessage({ id, problem: 'first' })
    })`
  const program = `process.once('SIGTERM', () => process.exit(0))
    signer(600_000, 600_000).then((opened) => opened.try())`
  const running = hangingToken(token, program)
  running.child.stderr!.once('data', () => running.child.kill())
  await expect(running).rejects.toMatchObject({ signal: 'SIGKILL', stderr: 'hangs' })
})

needing(MISSING_FOR_TOKENS).describe('the signer with a PKCS#11 token', () => {
  let token: SoftToken
  const closing: (() => Promise<void>)[] = []
  beforeAll(() => {
    token = makeToken(folder, 'geo')
    token.makeKey('signer', '0a01')
    token.makeKey('twice', '0a02')
    token.makeKey('twice', '0a03')
    // prime256v1
    token.makeKey('another curve', '0a04', '06082a8648ce3d030107')
  })
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
  })
  const signerOf = async (changes: NodeJS.ProcessEnv = {}) => {
    const environment = { ...token.environment(), SEAL_SECRET_FILE: secret }
    const { signer } = readSettings({ ...environment, ...changes }, ['signer'])
    const opened = await pkcs11Signer(
      signer as Extract<SignerSettings, { kind: 'pkcs11' }>,
      { timeoutMs: 600_000 },
      WORKER,
    )
    closing.push(() => opened.close())
    return opened
  }

  test('never reads the private key, and makes canonical signatures by its address', async () => {
    expect(token.extract('signer')).toBe('CKR_ATTRIBUTE_SENSITIVE')
    const [byLabel, byId] = [await signerOf(), await signerOf(token.environment('id=%0a%01'))]
    expect([byLabel.address, byLabel.notReady()]).toEqual([byId.address, undefined])
    const digests = Array.from({ length: 100 }, () => hexlify(randomBytes(32)))
    const signatures = await Promise.all(
      digests.map((digest, i) =>
        byLabel.sign(digest, () => Promise.reject(new Error('not needed')) as never, `client ${i % 2}`),
      ),
    )
    for (const [i, signature] of signatures.entries())
      expect(await recoverSigner(digests[i]!, signature)).toBe(byLabel.address)
  })
  test('refuses signatures beyond its queue', async () => {
    const signer = await signerOf()
    const answers = await Promise.allSettled(
      Array.from({ length: 400 }, (_, i) =>
        signer.sign(hexlify(randomBytes(32)), () => undefined as never, `client ${i % 8}`),
      ),
    )
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(4 + 256)
    expect((answers.at(-1) as PromiseRejectedResult).reason).toEqual(sentence())
    expect(signer.notReady()).toBeUndefined()
  })
  test.each<[string, () => NodeJS.ProcessEnv, unknown]>([
    [
      'library',
      () => token.environment(undefined, { module: '/nowhere.so' }),
      sentence('SIGNER_URL: module-path'),
    ],
    ['token', () => token.environment(undefined, { token: 'other' }), sentence('SIGNER_URL: token')],
    ['label', () => token.environment('object=none'), sentence('SIGNER_URL')],
    ['id', () => token.environment('id=%ff'), sentence('SIGNER_URL')],
    ['label of two keys', () => token.environment('object=twice'), sentence('SIGNER_URL')],
    ['curve', () => token.environment('object=another%20curve'), sentence('SIGNER_URL')],
  ])('rejects another %s at the start', async (_, changes, problem) => {
    const refused = signerOf(changes())
    await expect(refused).rejects.toThrow(SettingsError)
    await expect(refused).rejects.toThrow(problem)
  })
  test('rejects an incorrect PIN, and tries none again until a login by hand', async () => {
    for (const [settings, named] of [
      [{ SIGNER_PKCS11_PIN_FILE: 'package.json' }, 'CKR_PIN_INCORRECT'],
      [{}, 'keys.md'],
    ] as const) {
      const opened = signerOf(settings)
      await expect(opened).rejects.toThrow(SettingsError)
      await expect(opened).rejects.toThrow(sentence('SIGNER_PKCS11_PIN_FILE', named))
    }
    token.logIn()
    expect((await signerOf()).notReady()).toBeUndefined()
  })
  test('can deploy a proxy', async () => {
    const chain = await startTestChain({ port: await freePort() })
    closing.push(() => chain.stop())
    const { address } = await signerOf()
    await fund(chain, address)
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['dist/api/deploy-proxy.js', '--chain', LOCAL_CHAIN.slug, '--yes'],
      {
        env: {
          ...{ ...process.env, ...blankSettings(), ...token.environment(), RPC_URL_BASE_SEPOLIA: chain.url },
          SEAL_SECRET_FILE: secret,
        },
      },
    )
    const [, proxy] = /^PROXY_BASE_SEPOLIA=(0x\w{40})$/m.exec(stdout)!
    const owner = new Contract(proxy!, ['function owner() view returns (address)'], chain.provider)
    expect(await owner.getFunction('owner').staticCall()).toBe(getAddress(address))
  })
  test('signs answers that land', async () => {
    const { address } = await signerOf()
    await answersLand({ ...token.environment(), SEAL_SECRET_FILE: secret }, getAddress(address))
  })
})

testSentences()
