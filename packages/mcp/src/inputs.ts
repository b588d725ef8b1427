import type { Geo, Input } from '@geospatial-attestation/client'
import { z } from 'zod'
import { ToolInputError } from './errors'

/**
 * Input schemas. They say what a model needs to write, and are loose where the service itself says better
 * what would be right.
 */

const PLACE = 'UID of an attested place, [longitude, latitude], or GeoJSON'
/** So many numbers; `form` says what they are. */
export const numbers = (count: number, form: string) => {
  const error = `expected ${form}`
  return z.array(z.number({ error }), { error }).length(count, { error })
}
export const position = () => numbers(2, '[longitude, latitude]')
/** A distance. */
export const metres = (description: string) =>
  z.number({ error: 'expected a number of metres' }).describe(description)
/** Rows of a page. */
export const pageSize = ({ usual, most }: { usual: number; most: number }) => {
  const error = `expected a whole number from 1 to ${most}`
  return z.number({ error }).int({ error }).min(1, { error }).max(most, { error }).default(usual)
}
/** A place; `role` says which one. GeoJSON may come as JSON text, as some hosts write nested objects. */
export const place = (role: string) =>
  z
    .union([z.string(), position(), z.looseObject({})], { error: `expected a ${PLACE}` })
    .describe(`${role}: ${PLACE}`)
/** A polygon or a line, which no single position is; `types` names those that the tool takes. */
export const shape = (role: string, types: string) => {
  const form = `UID of an attested ${types}, or its GeoJSON`
  return z
    .union([z.string(), z.looseObject({})], { error: `expected a ${form}` })
    .describe(`${role}: ${form}`)
}
/** A chain by its slug or id, as a text. */
export const chain = (description: string) => {
  const error = 'expected the slug or id of a chain, such as base-sepolia or 84532'
  return z.union([z.string(), z.number()], { error }).transform(String).describe(description)
}

export type Place = z.output<ReturnType<typeof place>>

/** A place as the client takes it. Throws a ToolInputError for text that begins like JSON and is none. */
export function placeOf(value: Place): Input {
  const given = typeof value === 'string' ? fromText(value) : value
  return Array.isArray(given) ? { type: 'Point', coordinates: given as number[] } : (given as Input)
}

/** A position as people write it. */
const POSITION = /^\s*(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)\s*$/

function fromText(text: string): unknown {
  const position = POSITION.exec(text)
  if (position) return [Number(position[1]), Number(position[2])]
  if (!/^\s*[[{]/.test(text)) return text.trim()
  try {
    // Without a byte order mark.
    return JSON.parse(text.trim())
  } catch {
    throw new ToolInputError(`'${text.slice(0, 60)}' is no JSON: give a ${PLACE}.`)
  }
}

/** Slug of a chain that an input, or an answer, names by slug or id. */
export async function slugOf(geo: Geo, which: string | number): Promise<string> {
  return (await geo.chain(which)).slug
}
