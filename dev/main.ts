import { COMPILE_CACHE } from './cache'
import '../src/chains-file'
import path from 'node:path'
import { SettingsError, processEnvironment } from '../src/config'
import { onStop } from '../src/process'
import { LOCAL_CHAIN } from './chain'
import { withoutPassword } from './local-settings'
import { LOCAL_FOLDER } from './lock'
import { PlainError } from './services'
import { Steps } from './steps'
import { startWorld, type World } from './world'

/** `npm start`: runs everything until Ctrl-C, with local parts unless settings name others. */
async function main(): Promise<void> {
  process.chdir(path.join(__dirname, '../..'))
  const started = performance.now()
  const steps = new Steps(process.stdout)
  const abort = new AbortController()
  const starting = startWorld({
    environment: { NODE_COMPILE_CACHE: COMPILE_CACHE, ...processEnvironment() },
    folder: path.resolve(LOCAL_FOLDER),
    samples: true,
    keep: true,
    signal: abort.signal,
    report: steps.note,
    step: steps.step,
    progress: steps.progress,
  })
  const stop = async () => {
    steps.stop()
    console.log('Stopping ...')
    abort.abort()
    // A start that failed has stopped its parts itself.
    await starting.then((world) => world.stop()).catch(() => {})
    process.exit(0)
  }
  onStop(() => void stop())

  const world = await starting.catch((error: Error) => {
    if (abort.signal.aborted) return new Promise<never>(() => {})
    throw error
  })
  steps.stop()
  console.log(`Running after ${((performance.now() - started) / 1000).toFixed(1)} s.\n`)
  console.log(await welcome(world))
  restartOnRequest(world)
  const reason = await world.broken
  console.error(reason)
  await world.stop()
  process.exit(1)
}

/** Ends the services whose code dev/dev.mjs has rebuilt. The world restarts a service that ends. */
function restartOnRequest({ services }: World): void {
  process.on('message', (names: readonly string[]) => {
    for (const [name, service] of services)
      if (names.some((each) => name.startsWith(each))) void service.stop()
  })
}

/** Lists the URLs of all parts, and a request that can be copied. */
async function welcome(world: World): Promise<string> {
  const { settings, chain, chains } = world
  const { slug, id } = chain?.chain ?? LOCAL_CHAIN
  const base = `http://${settings.host}:${settings.port}`
  const lines = [
    `  Map            ${base} (in a browser), questions: ${base}/playground, places: ${base}/attest`,
    `  Records        ${base}/api/v0/location-records?bbox=-10,35,30,60&limit=3`,
    `  Statistics     ${base}/api/v0/location-records/stats`,
    `  GraphQL        ${base}/graphql`,
    `  Agents (MCP)   ${base}/mcp`,
    `  Maps, GIS      ${base}/ogc`,
    `  Documentation  ${base}/manual, API: ${base}/docs`,
    `  Health         ${base}/health, how far each chain is: ${base}/ready`,
    `  Database       ${withoutPassword(settings.databaseUrl)}`,
    ...[...chains.values()].map(
      (each) =>
        `  Local chain    ${each.url} (${each.chain.slug}, chain ${each.chain.id}; test accounts unlocked)`,
    ),
    `  Logs           ${LOCAL_FOLDER}/logs/`,
    '',
  ]
  const point = await aPoint(base, slug)
  if (point)
    lines.push(
      `How far is "${point.memo.split(':')[0]}" (attested as ${point.uid.slice(0, 10)}...) from ` +
        'the Eiffel Tower? Ask, and get a signed answer:',
      '',
      `curl -s ${base}/compute/v0/distance -H 'content-type: application/json' -d '{"chainId":${id},"from":"${point.uid}","to":{"type":"Point","coordinates":[2.2945,48.8584]}}'`,
      '',
    )
  else if (!chain)
    lines.push(
      `The history of ${settings.chains.map((c) => c.chain.slug).join(', ')} is being indexed; places appear gradually.`,
      '',
    )
  lines.push('Ctrl-C stops everything.')
  return lines.join('\n')
}

interface SampleRecord {
  uid: string
  memo: string
  revoked: boolean
  longitude: number | null
}

async function aPoint(base: string, slug: string): Promise<SampleRecord | undefined> {
  const response = await fetch(`${base}/api/v0/location-records?chain=${slug}&bbox=-10,35,30,60&limit=100`)
  if (!response.ok) return undefined
  const { data } = (await response.json()) as { data: SampleRecord[] }
  return data.find((record) => !record.revoked && record.longitude !== null && record.memo !== '')
}

main().catch((error: Error) => {
  console.error(error instanceof PlainError || error instanceof SettingsError ? error.message : error)
  process.exit(error instanceof SettingsError ? 2 : 1)
})
