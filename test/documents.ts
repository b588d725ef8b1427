import { readFileSync, readdirSync } from 'node:fs'
import path from 'node:path'

/** Reads documents for tests: pages, their fenced blocks and headings, and the responses that they show. */

/** A fenced block of a page. */
export interface Block {
  readonly language: string
  readonly text: string
  /** number of its first line, from 1 */
  readonly line: number
}

/** Every page under a folder, as a path from the project's folder. */
export function pagesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => path.posix.join(folder, file.replaceAll('\\', '/')))
    .sort()
}

/** Fenced blocks of a page, in order. Those inside list items have no indent. */
export function blocksOf(page: string): Block[] {
  const blocks: Block[] = []
  let open: { indent: number; language: string; line: number; lines: string[] } | undefined
  for (const [i, line] of readFileSync(page, 'utf8').split('\n').entries()) {
    const fence = /^( *)```(\S*)/.exec(line)
    if (open && fence) {
      blocks.push({ language: open.language, text: open.lines.join('\n'), line: open.line })
      open = undefined
    } else if (open) open.lines.push(line.slice(open.indent))
    else if (fence) open = { indent: fence[1]!.length, language: fence[2]!, line: i + 2, lines: [] }
  }
  return blocks
}

/** Text of a page without its fenced blocks. */
export function proseOf(page: string): string {
  return readFileSync(page, 'utf8').replace(/^( *)```[^]*?^ *```$/gm, '')
}

/** Headings of a page, without Markdown marks. */
export function headingsOf(page: string): string[] {
  return [...proseOf(page).matchAll(/^#{1,6} (.+)$/gm)].map((match) => match[1]!.replace(/[`*]/g, '').trim())
}

/** Rows of the first table of a page whose head starts with this name, as their cells. */
export function rowsOf(page: string, name: string): string[][] {
  const table = new RegExp(`^\\| ${name} \\|.*\\n\\|[-|]+\\n((?:\\|.*\\n)*)`, 'm').exec(proseOf(page))
  return [...table![1]!.matchAll(/^\| (.*) \|$/gm)].map(([, cells]) =>
    cells!.split('|').map((cell) => cell.trim()),
  )
}

/** Anchor of a heading, in GitHub's form. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

/** Commands of a script, each on one line and without comments. A quoted text may span several lines. */
export function shellCommands(script: string): string[] {
  const commands = ['']
  for (const [part] of script.matchAll(/(?<=^|\s)#[^\n]*|\\\n|'[^']*'|"(?:\\.|[^"\\])*"|\\.|\s|[^\s'"\\]+/g))
    if (part === '\n') commands.push('')
    else if (part === '\\\n') commands[commands.length - 1] += ' '
    else if (!part.startsWith('#')) commands[commands.length - 1] += part
  return commands.map((command) => command.trim()).filter(Boolean)
}

/** Splits a command line into words by the shell's quoting rules. */
export function shellWords(command: string): string[] {
  return [...command.matchAll(/(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+/g)].map(([word]) =>
    word.replace(/'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)/g, (_, single, double, escaped) =>
      single !== undefined ? single : double !== undefined ? double.replace(/\\(["\\$`])/g, '$1') : escaped,
    ),
  )
}

/**
 * Fields whose values differ from run to run. Only their form is compared: the length of hex strings, and the
 * digits of times. After a page shows a UID, later requests use the UID of the service's response instead.
 */
const VARYING = new Set([
  ...['uid', 'id', 'timestamp', 'event_timestamp', 'created_at', 'updated_at', 'computed_at', 'timeStamp'],
  ...['deadline', 'nonce', 'signature', 'data', 'resignToken', 'transactionHash', 'blockNumber'],
  ...['block_hash', 'block_number', 'transaction_hash', 'transaction_url', 'attestation_url'],
  ...['blockTimestamp', 'next_cursor', 'endCursor', 'cursor', 'href', 'version', 'signed', 'current'],
  ...['leaf', 'by', 'size'],
  ...['head_block', 'indexed_block', 'head_time', 'indexed_time', 'lag_seconds', 'lag_blocks'],
])

/** `...` in a shown response: any further members of an object, or entries of a list. */
const REST = Symbol('...')
type Shown = string | number | boolean | null | typeof REST | Shown[] | { [name: string]: Shown }

/** Parses a shown response: JSON with comments, trailing commas, and `...` for omitted parts. */
export function parseShown(text: string): Shown {
  const token =
    /\s*(?:\/\/[^\n]*\s*|,\s*)*("(?:[^"\\]|\\.)*"|\.\.\.|[[\]{}:]|-?\d[\d.eE+-]*|true|false|null)/y
  let peeked: string | undefined
  const next = () => {
    const text = peeked ?? read()
    peeked = undefined
    return text
  }
  const peek = () => (peeked ??= read())
  const read = () => {
    const at = token.lastIndex
    const found = token.exec(text)?.[1]
    if (found === undefined) throw new SyntaxError(`expected JSON at: ${text.slice(at, at + 60)}`)
    return found
  }
  const value = (): Shown => {
    const first = next()
    if (first === '...') return REST
    if (first === '[') {
      const entries: Shown[] = []
      while (peek() !== ']') entries.push(value())
      next()
      return entries
    }
    if (first === '{') {
      const members: Record<string, Shown> = {}
      while (peek() !== '}') {
        const name = next()
        if (name === '...') members['...'] = REST
        else {
          if (next() !== ':') throw new SyntaxError(`expected a colon after ${name}`)
          members[JSON.parse(name) as string] = value()
        }
      }
      next()
      return members
    }
    return JSON.parse(first) as Shown
  }
  return value()
}

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
/** True if a text equals the shown one, in which `...` stands for any text. */
export function isLike(shown: string, real: string): boolean {
  return new RegExp(`^${shown.split('...').map(escaped).join('[^]*')}$`).test(real)
}
const form = (text: string) =>
  text.replace(/0x[0-9a-fA-F]+/g, (hex) => 'x'.repeat(hex.length)).replace(/\d/g, '9')

/**
 * Differences between a real and the shown response, by path. Calls `onUid` with each shown UID and the real
 * one.
 */
export function differences(
  shown: Shown,
  real: unknown,
  onUid: (shown: string, real: string) => void,
  at = '',
): string[] {
  const wrong = [`${at || 'the answer'}: ${JSON.stringify(shown)} is shown, ${JSON.stringify(real)} answered`]
  const name = at.split('.').at(-1)!
  if (shown === REST) return []
  if (Array.isArray(shown)) {
    if (!Array.isArray(real)) return wrong
    const open = shown.at(-1) === REST
    const listed = open ? shown.slice(0, -1) : shown
    if (open ? real.length < listed.length : real.length !== listed.length) return wrong
    return listed.flatMap((entry, i) => differences(entry, real[i], onUid, `${at}.${i}`))
  }
  if (shown !== null && typeof shown === 'object') {
    if (real === null || typeof real !== 'object' || Array.isArray(real)) return wrong
    const { '...': open, ...members } = shown
    const unknown = open ? [] : Object.keys(real).filter((key) => !Object.hasOwn(members, key))
    return [
      ...unknown.map((key) => `${at}.${key}: answered, but not shown`),
      ...Object.entries(members).flatMap(([key, member]) =>
        differences(member, (real as Record<string, unknown>)[key], onUid, at ? `${at}.${key}` : key),
      ),
    ]
  }
  if (typeof shown === 'string') {
    if (typeof real !== 'string') return wrong
    if (shown.includes('...')) return isLike(shown, real) ? [] : wrong
    if (name === 'uid') onUid(shown, real)
    return shown === real || (VARYING.has(name) && form(shown) === form(real)) ? [] : wrong
  }
  return shown === real || (VARYING.has(name) && typeof shown === typeof real) ? [] : wrong
}

/**
 * Differences between real and shown lines. `...` within a line matches any text; `...` as the last line
 * matches any further lines.
 */
export function lineDifferences(shown: string, real: string): string[] {
  const lines = shown.trim().split('\n')
  const open = lines.at(-1) === '...'
  const listed = open ? lines.slice(0, -1) : lines
  const got = real.trim().split(/\r?\n/)
  if (!open && got.length !== listed.length)
    return [`${listed.length} lines are shown, ${got.length} answered:\n${real.slice(0, 2_000)}`]
  return listed.flatMap((line, i) =>
    isLike(line, got[i] ?? '') ? [] : [`line ${i + 1}: ${line} is shown, ${got[i]} answered`],
  )
}
