// SPDX-License-Identifier: MIT
import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { offchainInput, type Input, type OffchainSource } from '@geospatial-attestation/client'
import { cut } from '../../../src/cut'
import { degreesProblem } from '../../../src/geodesy/degrees'
import { decoded, type Files } from './context'
import { UsageError } from './exit'
import { fileNamed } from './key'
import { UID } from './readers'

/** Reads the argument of a geometry: `lng,lat`, a UID, a file, or `-` for standard input. */

/** Numbers with commas, which are meant as a position even if the position is not valid. */
const NUMBERS = /^[-+\d.e,\s]+$/i
const FORMS =
  'Expected a position as lng,lat, a UID (0x and 64 hex digits), the path of a file with GeoJSON, a private place or an offchain attestation, or - for standard input'

/** Creates a function that reads standard input. Its second call throws a UsageError. */
export function standardInput(stream: NodeJS.ReadableStream): () => Promise<string> {
  let read = false
  return async () => {
    if (read)
      throw new UsageError('Standard input can be read only once. Name a file instead of the second -.')
    read = true
    return decoded(await buffer(stream))
  }
}

type Sources = Pick<Files, 'at'> & { readonly stdin: () => Promise<string> }

/** Reads the input that an argument names. Throws a UsageError if it cannot be read as an input. */
export async function readInput(argument: string, { stdin, at }: Sources): Promise<Input> {
  const given = argument.trim()
  if (given === '-') {
    const content = (await stdin()).trim()
    return written(content) ?? inputOfJson(content, 'Standard input')
  }
  const direct = written(given)
  if (direct !== undefined) return direct
  return inputOfJson(await readText(given, at, FORMS), `'${given}'`)
}

/** Reads a text file. Its UsageError for a missing file ends with `otherwise`. */
export async function readText(
  file: string,
  at: Files['at'],
  otherwise = 'Name an existing file',
): Promise<string> {
  const bytes = await readFile(at(file)).catch((error: NodeJS.ErrnoException) => {
    const named = fileNamed(file.slice(0, 200))
    if (error.code === 'ENOENT' || error.code === 'ENAMETOOLONG')
      throw new UsageError(`File not found: ${named}. ${otherwise}.`)
    throw new UsageError(`Could not read the file ${named} (${error.code}).`)
  })
  return decoded(bytes)
}

export async function readSource(file: string, { stdin, at }: Sources, otherwise?: string): Promise<string> {
  return file === '-' ? stdin() : readText(file, at, otherwise)
}

/** Parses JSON; undefined if the text is not JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Returns true if an argument is a UID, and false if it is a file name. Throws a UsageError for an argument
 * that only starts like a UID.
 * @param file kind of file that the argument may name
 */
export function isUid(argument: string, file: string): boolean {
  if (UID.test(argument)) return true
  if (/^0x[0-9a-f]*$/i.test(argument)) throw noUid(argument, `, or the file of ${file}`)
  return false
}

function noUid(text: string, otherwise = ''): UsageError {
  return new UsageError(`'${cut(text, 80)}' is not a UID: expected 0x and 64 hex digits${otherwise}.`)
}

/** Parses a position or a UID; undefined for other text. Throws a UsageError for an invalid one. */
export function written(text: string): string | { type: 'Point'; coordinates: number[] } | undefined {
  if (/^0x/i.test(text)) {
    if (UID.test(text)) return text
    throw noUid(text)
  }
  if (!text.includes(',') || !NUMBERS.test(text)) return undefined
  const coordinates = text.split(',').map((part) => (part.trim() ? Number(part) : NaN))
  const [lng = NaN, lat = NaN] = coordinates
  if (coordinates.some(Number.isNaN) || coordinates.length < 2 || coordinates.length > 3)
    throw new UsageError(`'${text}' is not a position: expected lng,lat in degrees, such as 13.3777,52.5163.`)
  const problem = degreesProblem(lng, lat)
  if (problem !== undefined) throw new UsageError(`'${text}' is not a position: ${problem}.`)
  return { type: 'Point', coordinates }
}

/** Parses GeoJSON, an offchain attestation, or another input of the service. Throws a UsageError. */
async function inputOfJson(content: string, from: string): Promise<Input> {
  const value = parsed(content)
  if (typeof value === 'object' && value !== null) {
    if ('sig' in value || ('message' in value && 'domain' in value))
      return offchainInput(value as OffchainSource)
    const isPlace = ['type', 'uid', 'attestation', 'salt'].some((name) => name in value)
    if (isPlace) return value as Input
    // An onchain attestation in the format of EAS's explorer and its GraphQL API.
    if ('id' in value && typeof value.id === 'string' && UID.test(value.id))
      throw new UsageError(
        `${from} is an onchain attestation in an explorer's format. Use its UID, ${value.id}.`,
      )
  }
  throw new UsageError(
    `${from} does not contain a place: expected GeoJSON (a geometry, a Feature, a ` +
      'FeatureCollection of one feature), a private place or an offchain attestation.',
  )
}
