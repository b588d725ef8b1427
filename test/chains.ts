import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import {
  LOCAL_CHAIN,
  localVersion,
  startLocalChain,
  type LocalChain,
  type LocalChainOptions,
} from '../dev/chain'
import { freePort } from '../dev/services'
import { ACTIVE_SLUGS, CHAINS, type Chain } from '../src/chains'
import { atEnd } from './ends'

/** Starts local chains with deployed contracts. Their states are created once and stay between runs. */

/**
 * Slugs of the chains on which a test of every version of EAS runs: the first chain with each version, from
 * the oldest. Below the effort of `npm run test:all`, only the oldest and the newest version are tested.
 */
export function testedSlugs(effort: number): string[] {
  const versions = CHAINS.map(localVersion)
  const sorted = [...new Set(versions)].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
  const tested = effort < 1 ? [sorted[0]!, sorted.at(-1)!] : sorted
  return tested.map((version) => CHAINS[versions.indexOf(version)]!.slug)
}

/** Pairs of a tested chain and a value: each chain and each value occurs, but not each combination. */
export function testedWith<T>(effort: number, values: readonly T[]): [slug: string, value: T][] {
  const slugs = testedSlugs(effort)
  const count = Math.max(slugs.length, values.length)
  return Array.from({ length: count }, (_, i) => [slugs[i % slugs.length]!, values[i % values.length]!])
}

/** Chains with a prepared state. On other chains, tests deploy the contracts. */
const PREPARED = CHAINS.filter(({ slug }) => ACTIVE_SLUGS.includes(slug) || slug === 'base')
/** Files that the states depend on. */
const SOURCES = [
  ...readdirSync('dev/chain').map((name) => `dev/chain/${name}`),
  'src/chains.ts',
  'src/location/payload.ts',
  'package-lock.json',
  ...readdirSync('dev/contracts').map((name) => `dev/contracts/${name}`),
]

const key = () => {
  const hash = createHash('sha256')
  for (const file of SOURCES) hash.update(readFileSync(file))
  return hash.digest('hex').slice(0, 16)
}
/** Age after which states of older sources are removed: a week. */
const OLD_MS = 7 * 86_400_000
const FOLDER = path.join('node_modules/.cache/chains', key())
/** State that a chain starts with; undefined for a chain whose contracts are deployed each time. */
export function preparedState({ slug }: Chain): string | undefined {
  const file = path.join(FOLDER, `${slug}.json`)
  return existsSync(file) ? path.resolve(file) : undefined
}

/** Creates the missing states. */
export async function prepareChains(): Promise<void> {
  mkdirSync(FOLDER, { recursive: true })
  const parent = path.dirname(FOLDER)
  for (const name of readdirSync(parent))
    if (Date.now() - statSync(path.join(parent, name)).mtimeMs > OLD_MS)
      rmSync(path.join(parent, name), { recursive: true, force: true })
  await Promise.all(
    PREPARED.filter((chain) => !preparedState(chain)).map(async (chain) => {
      const made = path.resolve(FOLDER, `${chain.slug}.${process.pid}`)
      const local = await startLocalChain({ chain, port: await freePort(), stateFile: made })
      await local.stop()
      renameSync(made, path.resolve(FOLDER, `${chain.slug}.json`))
    }),
  )
}

/**
 * Starts a local chain like `startLocalChain`, from a prepared state if there is one. The node has no states
 * of earlier blocks, and refuses calls at those blocks. It is stopped after the file's tests.
 */
export async function startTestChain(options: Omit<LocalChainOptions, 'stateFile'>): Promise<LocalChain> {
  const loadedFrom = options.loadedFrom ?? preparedState(options.chain ?? LOCAL_CHAIN)
  const chain = await startLocalChain({ ...options, ...(loadedFrom && { loadedFrom }) })
  atEnd(() => chain.stop())
  return chain
}
