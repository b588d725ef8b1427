// SPDX-License-Identifier: MIT
import type { Input } from '@geospatial-attestation/client'
import { z } from 'zod'
import { cut } from '../../../src/cut'
import { ToolInputError } from './errors'

/** Input schemas: what a model has to write. Checks are left to the service if its messages are better. */

const PLACE = 'UID of an attested place, [longitude, latitude], or GeoJSON'
/** A list of exactly `count` numbers; `form` names them. */
export const numbers = (count: number, form: string) => {
  const error = `expected ${form}`
  return z.array(z.number({ error }), { error }).length(count, { error })
}
export const position = () => numbers(2, '[longitude, latitude]')
/** A distance in metres. */
export const metres = (description: string) =>
  z.number({ error: 'expected a number of metres' }).describe(description)
/** Number of items on a page. */
export const pageSize = ({ usual, most }: { usual: number; most: number }) => {
  const error = `expected a whole number from 1 to ${most}`
  return z.number({ error }).int({ error }).min(1, { error }).max(most, { error }).default(usual)
}
/** A position as people write it, such as "13.4, 52.5". */
const POSITION = /^\s*(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)\s*$/
/** Text of a UID, JSON or position. Models also write names of places, for which the API has no advice. */
const placeText = (form: string) =>
  z.string().refine((text) => /^\s*(0x|[[{])/i.test(text) || POSITION.test(text), {
    error: ({ input }) =>
      `expected a ${form}, got '${cut(String(input), 60)}'; names of places are not looked up`,
  })
/**
 * A place; `role` states its part in the question. GeoJSON may be a JSON string, since some hosts write
 * nested objects as strings.
 */
export const place = (role: string) =>
  z
    .union([placeText(PLACE), position(), z.looseObject({})], { error: `expected a ${PLACE}` })
    .describe(`${role}: ${PLACE}`)
/** A polygon or a line, for which a position is not accepted; `types` names the accepted types. */
export const shape = (role: string, types: string) => {
  const form = `UID of an attested ${types}, or its GeoJSON`
  return z
    .union([placeText(form), z.looseObject({})], { error: `expected a ${form}` })
    .describe(`${role}: ${form}`)
}
/** A chain by its slug or id, converted to a string. */
export const chain = (description: string) => {
  const error = 'expected the slug or id of a chain, such as base-sepolia or 84532'
  return z.union([z.string(), z.number()], { error }).transform(String).describe(description)
}

export type Place = z.output<ReturnType<typeof place>>

/** Converts a place to an input. Throws a ToolInputError for text that starts like JSON but is not. */
export function placeOf(value: Place): Input {
  const given = typeof value === 'string' ? fromText(value) : value
  return Array.isArray(given) ? { type: 'Point', coordinates: given as number[] } : (given as Input)
}

function fromText(text: string): unknown {
  const position = POSITION.exec(text)
  if (position) return [Number(position[1]), Number(position[2])]
  if (!/^\s*[[{]/.test(text)) return text.trim()
  try {
    // `trim` also removes a byte order mark.
    return JSON.parse(text.trim())
  } catch {
    throw new ToolInputError(`'${cut(text, 60)}' is not valid JSON: expected a ${PLACE}.`)
  }
}
