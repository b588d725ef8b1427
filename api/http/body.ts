import { isUtf8 } from 'node:buffer'
import secureJson from 'secure-json-parse'
import { withRoundableLengths } from '../../src/operations/lengths'
import { faultPosition, withoutMark } from '../../src/strict-json'
import { RequestError } from './problems'

/** Maximum nesting of a body. The deepest geometry collection, in a Feature, in a batch, needs half. */
const MAX_NESTING = 64

/**
 * Parses a JSON body. Its lengths round to centimetres as their decimal texts do (`readMeters`). Throws a
 * RequestError if it is empty, not UTF-8, not JSON, too deep or contains `__proto__`.
 */
export function parseBody(body: Buffer): unknown {
  if (body.length === 0) throw new RequestError('The body is empty. Send a JSON object.')
  if (!isUtf8(body)) throw new RequestError('The body is not valid UTF-8.')
  if (nestsTooDeep(body)) throw new RequestError(`The body is nested deeper than ${MAX_NESTING} levels.`)
  const text = body.toString()
  try {
    return secureJson.parse(withRoundableLengths(text), { protoAction: 'error', constructorAction: 'error' })
  } catch {
    const fault = jsonFault(withoutMark(text))
    throw new RequestError(
      fault === undefined
        ? 'The body must not contain the key __proto__, or the key constructor with a prototype.'
        : `The body is not valid JSON${fault}.`,
    )
  }
}

/** Counts brackets before the recursive parser reads the text. 5 MiB take 15 ms. */
function nestsTooDeep(json: Buffer): boolean {
  let depth = 0
  for (let i = 0; i < json.length; i++) {
    const byte = json[i]!
    if (byte === QUOTE) {
      while (++i < json.length && json[i] !== QUOTE) if (json[i] === BACKSLASH) i++
    } else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
      if (++depth > MAX_NESTING) return true
    } else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) depth--
  }
  return false
}
const [QUOTE, BACKSLASH, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = Buffer.from(
  '"\\[]{}',
) as unknown as [number, number, number, number, number, number]

/** Returns the parser's position of the first error in a text; undefined if the parser reports none. */
function jsonFault(text: string): string | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    const { message } = error as Error
    const position = faultPosition(error as Error)
    if (position !== undefined) return ` at character ${position + 1}`
    if (message.startsWith('Unexpected end')) return ': it ends prematurely'
    const [, token] = /^Unexpected token '([^])'/u.exec(message) ?? []
    return token === undefined ? '' : `: unexpected ${JSON.stringify(token)}`
  }
}
