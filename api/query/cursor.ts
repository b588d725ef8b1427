import { LAST_INSTANT } from './iso-8601'
import type { RecordPosition } from '../store/model'

/** Of any cursor: ours have 200 characters at most. */
export const MAX_CURSOR_LENGTH = 300
const CURSOR = /^(?:(?<tag>[\w-]{12}) )?(?<at>\d{1,15}) (?<id>[a-z\d-]{1,40}-0x[0-9a-f]{64})$/

/**
 * A position in a list of records as a cursor: text for a URL, opaque to clients.
 * @param tag 12 characters that name the list, where a cursor must not be used with another
 */
export function cursorText({ at, id }: RecordPosition, tag?: string): string {
  return Buffer.from(`${tag === undefined ? '' : `${tag} `}${at} ${id}`).toString('base64url')
}

/** Reads what cursorText wrote; undefined for any other text. */
export function readCursor(text: string): { position: RecordPosition; tag: string | undefined } | undefined {
  if (text.length > MAX_CURSOR_LENGTH) return undefined
  const { tag, at, id } = CURSOR.exec(Buffer.from(text, 'base64url').toString())?.groups ?? {}
  if (id === undefined || Number(at) > LAST_INSTANT) return undefined
  const position = { at: Number(at), id }
  // The same bytes have other spellings in base64, and the same number has others with zeros before it.
  return cursorText(position, tag) === text ? { position, tag } : undefined
}
