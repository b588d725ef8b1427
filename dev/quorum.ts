import './cache'
import '../src/chains-file'
import { fstatSync } from 'node:fs'
import path from 'node:path'
import { processSettings, SettingsError } from '../src/config'
import { onStop } from '../src/process'
import { attest, locationRequest, mined, testAccount } from './chain'
import { QUORUM_FOLDER } from './lock'
import { runCommands } from './quorum-commands'
import { startQuorumWorld, type QuorumWorld } from './quorum-world'
import { PlainError } from './services'
import { Steps } from './steps'

/** `npm run quorum`: runs five operators and a GeoQuorum until Ctrl-C, and lands one answer. */
async function main(): Promise<void> {
  const [folder, ...others] = process.argv.slice(2)
  if (others.length > 0 || folder?.startsWith('-')) {
    console.error('Usage: npm run quorum [-- FOLDER]    FOLDER is for databases and logs.')
    process.exit(2)
  }
  process.chdir(path.join(__dirname, '../..'))
  const started = performance.now()
  const steps = new Steps(process.stdout)
  const abort = new AbortController()
  const starting = startQuorumWorld({
    ...{ folder: path.resolve(folder ?? QUORUM_FOLDER), signal: abort.signal, step: steps.step },
    port: processSettings().port + PORTS_AFTER,
  })
  const stop = async (code: number) => {
    steps.stop()
    abort.abort(new PlainError('Stopped while starting.'))
    // A failed start has already stopped its parts.
    await starting.then((world) => world.stop()).catch(() => {})
    process.exit(code)
  }
  onStop(() => {
    console.log('Stopping ...')
    void stop(0)
  })
  try {
    const world = await starting
    const landed = await steps.step('An answer of three operators', landOne(world))
    steps.stop()
    console.log(`Running after ${((performance.now() - started) / 1000).toFixed(1)} s.\n`)
    console.log(welcome(world, landed))
    // The terminal may be closed meanwhile. Then there are no more commands.
    if (hasCommands()) void runCommands(process.stdin, world.operators, console.log).catch(() => {})
    console.error(await world.broken)
  } catch (error) {
    // The process exits once all parts have ended.
    if (abort.signal.aborted) return
    console.error(error instanceof PlainError ? error.message : error)
  }
  await stop(1)
}

/** True if the standard input is a terminal or a pipe, and not a file or /dev/null. */
function hasCommands(): boolean {
  const input = fstatSync(0)
  return process.stdin.isTTY || input.isFIFO() || input.isSocket()
}

/** Offset from the port of `npm start`, so that both can run at the same time. */
const PORTS_AFTER = 1_000
const PLACE = { type: 'Point', coordinates: [2.2945, 48.8584] } as const
const PAYER = testAccount(7)

/** Attests a place, asks the quorum about it, lands the answer, and reads it from the chain. */
async function landOne({ chain, operators, quorum, threshold }: QuorumWorld) {
  const { createGeo, sentenceOf } = await import('@geospatial-attestation/client')
  const place = await attest(chain, locationRequest({ ...PLACE, coordinates: [...PLACE.coordinates] }))
  const geo = createGeo({ url: operators[0]!.url, chain: chain.chain.id })
  const asked = await geo.quorum({
    ...{ operators: operators.map(({ url }) => url), k: threshold, contract: quorum },
  })
  const answer = await asked.within(place, [2.2949, 48.8583], 500, { recipient: testAccount(1).address })
  const { uid, transactionHash } = await asked.land(answer, PAYER.connect(chain.provider))
  // Reads the answer from the chain itself, independently of the operators and the client.
  const { attester, recipient } = (await (await chain.eas()).getFunction('getAttestation')(uid)) as {
    attester: string
    recipient: string
  }
  const { gasUsed } = await mined(chain, transactionHash)
  const sentence = sentenceOf(answer)
  return { place, uid, attester, recipient, sentence, signers: answer.signers, transactionHash, gasUsed }
}

function welcome(world: QuorumWorld, landed: Awaited<ReturnType<typeof landOne>>): string {
  const { chain, quorum, threshold, operators, witnesses } = world
  const file = (name: string) => path.relative('', name)
  const signed = operators.filter((_, i) => BigInt(landed.signers) & (1n << BigInt(i)))
  return [
    `  Local chain    ${chain.url} (${chain.chain.slug}, chain ${chain.chain.id})`,
    `  GeoQuorum      ${quorum}, ${threshold} of ${operators.length}`,
    ...operators.map(
      ({ url, rpc, options }, i) =>
        `  Operator ${i}     ${url}, key ${options.wallet.address}, RPC proxy ${rpc.url}, ` +
        `database at ${new URL(options.databaseUrl).host}, witness ${witnesses[i]!.url}`,
    ),
    `  Operators      ${file(world.operatorsFile)}, epochs: ${operators[0]!.url}/quorum/v0`,
    `  Logs           ${file(path.dirname(world.operatorsFile))}/logs/`,
    '',
    landed.sentence,
    `  signed by      operators ${signed.map((each) => operators.indexOf(each)).join(', ')}`,
    `  landed         ${landed.uid}`,
    `  transaction    ${landed.transactionHash}, ${landed.gasUsed} gas`,
    `  attester       ${landed.attester}, as EAS ${chain.chain.eas} returns it: the quorum`,
    `  recipient      ${landed.recipient}`,
    '',
    'How far is this place from Notre-Dame? Ask, and land the answer:',
    '',
    `npx geo distance ${landed.place} 2.3499,48.8530 --quorum ${file(world.operatorsFile)} --url ${operators[0]!.url} --land --key-file ${file(world.keyFile)} --rpc ${chain.url}`,
    '',
    ...(hasCommands() ? ['stop 2 and Enter stops operator 2, start 2 starts it again.'] : []),
    'Ctrl-C stops everything.',
  ].join('\n')
}

main().catch((error: Error) => {
  console.error(error instanceof SettingsError ? error.message : error)
  process.exit(error instanceof SettingsError ? 2 : 1)
})
