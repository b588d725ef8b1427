import { useEffect, useState } from 'preact/hooks'
import { CHAINS } from '../src/chains'
import { localNodes } from './wallet/nodes'

/** Colours of chains, which differ on light and dark land, and for colour-blind people. */
const COLOURS = ['#2f6fde', '#8a4fd3', '#d9480f', '#0b8f6a', '#c2255c', '#946200', '#0c8599', '#5f6b7a']
const OTHER = COLOURS.at(-1)!

const known = new Map(
  CHAINS.map((chain, i) => [chain.slug, { ...chain, colour: COLOURS[i % COLOURS.length]! }]),
)

/** Slugs of the chains whose records may be shown, in their order. */
export const SLUGS: readonly string[] = CHAINS.filter(({ active }) => active).map(({ slug }) => slug)

/** Name of a chain in its usual spelling. */
export const chainName = (slug: string): string =>
  slug.replace(/(^|-)(\w)/g, (_, dash: string, letter: string) => (dash && ' ') + letter.toUpperCase())

export const chainColour = (slug: string): string => known.get(slug)?.colour ?? OTHER

/** Explorer pages about a chain's data; undefined for an unknown or a local chain, which have none. */
export function usePages(slug: string) {
  const chain = known.get(slug)
  const [nodes, setNodes] = useState<Awaited<ReturnType<typeof localNodes>>>()
  useEffect(() => void localNodes().then(setNodes), [slug])
  if (!chain || !nodes || chain.id in nodes) return undefined
  return {
    transaction: (hash: string) => `${chain.explorer}/tx/${hash}`,
    address: (address: string) => `${chain.explorer}/address/${address}`,
    attestation: (uid: string) => `${chain.attestations}/attestation/view/${uid}`,
  }
}

/** Kinds of location types, by the beginning of their names. The first match counts. */
export const KINDS = [
  { name: 'GeoJSON point', prefix: 'geojson-point', colour: '#2f6fde' },
  { name: 'GeoJSON line', prefix: 'geojson-line', colour: '#946200' },
  { name: 'GeoJSON area', prefix: 'geojson-polygon', colour: '#5c7c1a' },
  { name: 'GeoJSON', prefix: 'geojson', colour: '#1b4f9c' },
  { name: 'Coordinates', prefix: 'coordinate', colour: '#d9480f' },
  { name: 'Scaled coordinates', prefix: 'scaled', colour: '#c2255c' },
  { name: 'WKT', prefix: 'wkt', colour: '#8a4fd3' },
  { name: 'H3', prefix: 'h3', colour: '#0b8f6a' },
  { name: 'Geohash', prefix: 'geohash', colour: '#0c8599' },
] as const
export const OTHER_KIND = { name: 'Other', colour: OTHER } as const

export const kindOf = (locationType: string): { name: string; colour: string } =>
  KINDS.find(({ prefix }) => locationType.toLowerCase().startsWith(prefix)) ?? OTHER_KIND
