// SPDX-License-Identifier: MIT
import { existsSync } from 'node:fs'
import path from 'node:path'
import { privatePlace, type Input, type PrivatePlace } from '@geospatial-attestation/client'
import type { Files } from './context'
import { UsageError } from './exit'
import { createFile } from './files'
import { fileNamed } from './key'
import { jsonLine } from './output'

/** Implements `--private`: salts places of a question, so that their references reveal nothing. */

interface Kept {
  /** as the user named it */
  file: string
  path: string
  place: PrivatePlace
}

/** Adds salts to the `inputs` that `given` names, as `name=file` or `file`. Never overwrites a file. */
export function makePrivate(
  inputs: Input[],
  names: readonly string[],
  given: readonly string[],
  at: Files['at'],
): Kept[] {
  const kept: Kept[] = []
  for (const value of given) {
    const bare = names.filter((_, i) => isGeoJson(inputs[i]))
    const named = names.find((name) => value.startsWith(`${name}=`))
    const file = named === undefined ? value : value.slice(named.length + 1)
    if (named === undefined && bare.length > 1)
      throw new UsageError(
        `--private must name one of the places: ${bare.map((name) => `--private ${name}=${file}`).join(' or ')}.`,
      )
    const index = names.indexOf(named ?? bare[0] ?? names[0]!)
    const input = inputs[index]
    if (!isGeoJson(input))
      throw new UsageError(
        isPrivate(input)
          ? `The place ${names[index]} is private already: it has a salt.`
          : '--private requires a position or GeoJSON: an attestation is public.',
      )
    if (file === '') throw new UsageError('--private requires a file for the place and its salt.')
    const found = path.resolve(at(file))
    if (existsSync(found) || kept.some((other) => other.path === found))
      throw new UsageError(
        `${fileNamed(file)} exists and may be the only copy of a salt. Name another file, or use ` +
          'this file as the place.',
      )
    inputs[index] = privatePlace(input)
    kept.push({ file, path: found, place: inputs[index] })
  }
  return kept
}

/** Stores private places, each in a file that only its owner can read. Throws a UsageError. */
export async function keepPrivate(kept: readonly Kept[], note: (line: string) => void): Promise<void> {
  for (const { file, path: found, place } of kept) {
    await createFile(found, `${jsonLine(place)}\n`, 0o600).catch((error: NodeJS.ErrnoException) => {
      throw new UsageError(
        `Could not write the salt to ${fileNamed(file)} (${error.code}). The answer proves nothing ` +
          'without the salt, so it is not shown.',
      )
    })
    note(
      `Wrote the place and its salt to ${file}. Without this file nobody can prove what the answer is about.`,
    )
  }
}

export const isPrivate = (input: Input | undefined): input is PrivatePlace =>
  typeof input === 'object' && 'salt' in input

const isGeoJson = (input: Input | undefined): input is PrivatePlace['geometry'] =>
  typeof input === 'object' && 'type' in input
