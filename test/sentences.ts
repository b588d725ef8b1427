import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'

/**
 * Tests assert an error by its kind, field and status. Its sentence is in test/sentences, in a file for each
 * test file, where a person reviews it: `npx vitest run <test> -u` writes it after an edit.
 */
const ROOT = path.resolve('.')

/** Sentence -> kind, field and rejected value -> names of the tests that saw it. */
type Seen = Map<string, Map<string, Set<string>>>
/** Sentences by test file. Test files that run in one worker share this module. */
const seenBy = new Map<string, Seen>()
const seenHere = (): Seen => {
  const file = expect.getState().testPath!
  let seen = seenBy.get(file)
  if (!seen) seenBy.set(file, (seen = new Map()))
  return seen
}

/** Parts of sentences that differ from run to run. */
const VOLATILE: [RegExp, string][] = [
  [/0x[0-9a-f]{40,}/gi, '0x…'],
  [/(127\.0\.0\.1|localhost):\d+/g, '$1:…'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00)/g, '<time>'],
  [/\w{3}, \d\d \w{3} \d{4} [\d:]+ GMT/g, '<date>'],
  [/\b(try again in|retry in) \d+ \w+/gi, '$1 <duration>'],
  [/\b0?1[5-9]\d{8}(\d{3})?\b/g, '<seconds>'],
  [new RegExp(`${tmpdir().replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}[\\w./\\\\-]+`, 'g'), '/tmp/…'],
]

/** `from.uid: `, `steps[1]: kind: `, `SIGNER_URL and SIGNER_KEY_FILE: `, `at character 5: ` */
const NAME = String.raw`(?:at (?:character \d+|/[\w/]*)|[\w$*-]+(?:\.[\w$*]+|\[\d+\])*)`
const FIELD = new RegExp(String.raw`^((?:${NAME}(?:(?:, | and | or )${NAME})*: )+)`)

type Name = string | number | RegExp

/**
 * Matches the sentence of an error, or an error by its message, and adds it to the sentences of the file.
 * @param field `from.uid` matches `from.uid: expected ...`, also after `Invalid input: `
 * @param names values that the sentence must name; they differ from run to run
 */
export function sentence(field = '', ...names: Name[]): any {
  return matcher(field, names, (text, kind) => {
    const shown = masked(text, [...names.map((name): [Name, string] => [name, '…']), ...VOLATILE])
    for (const line of shown.split('\n').map((line) => line.trim())) if (line) add(line, kind)
  })
}

function matcher(field: string, names: Name[], found: (text: string, kind: string) => void) {
  return {
    asymmetricMatch(value: unknown): boolean {
      const text = value instanceof Error ? value.message : value
      if (typeof text !== 'string' || !text.trim()) return false
      if (field && !text.split('\n').some((line) => `: ${line.trim()}`.includes(`: ${field}: `))) return false
      if (!names.every((name) => (name instanceof RegExp ? name.test(text) : text.includes(String(name)))))
        return false
      found(text, value instanceof Error && value.name !== 'Error' ? value.name : '')
      return true
    },
    toString: () => 'Sentence',
    toAsymmetricMatcher: () => `Sentence<${[field && `${field}: `, ...names].join(' … ')}>`,
  }
}

function masked(text: string, masks: readonly [Name, string][]): string {
  return masks.reduce(
    (shown, [name, mask]) =>
      name instanceof RegExp ? shown.replace(name, mask) : shown.replaceAll(String(name), mask),
    text,
  )
}

function add(line: string, kind: string): void {
  const field = FIELD.exec(line)?.[1] ?? ''
  const [, got] = /, got ([^;]*)/.exec(line) ?? []
  const words = line.slice(field.length).replace(/, got [^;]*/, ', got …')
  const about = [kind, field.slice(0, -2), got && `(${got})`].filter(Boolean).join(' ')
  const seen = seenHere()
  const places = seen.get(words) ?? new Map<string, Set<string>>()
  seen.set(words, places)
  const name = expect.getState().currentTestName?.split(' > ').pop() ?? ''
  places.set(about, (places.get(about) ?? new Set()).add(name))
}

/**
 * Registers the test of the file's sentences as its last test, because it reads what the others recorded.
 */
export function testSentences(): void {
  test('each sentence is the one in test/sentences', async ({ task, skip }) => {
    type Task = typeof task
    const testsIn = (tasks: typeof task.file.tasks): Task[] =>
      tasks.flatMap((other) =>
        other.type === 'suite' ? testsIn(other.tasks) : other.id === task.id ? [] : [other as Task],
      )
    const others = testsIn(task.file.tasks)
    const namesOf = (passed: boolean) =>
      new Set(
        others
          .filter(({ result }) => (result?.state === 'pass') === passed)
          .map(({ name }) => shortName(name)),
      )
    skip(
      others.some(({ result }) => result?.state === 'fail'),
      'a test of this file failed',
    )
    const name = path.relative(ROOT, task.file.filepath).replace(/\.test\.ts$/, '.txt')
    const file = path.join(ROOT, 'test/sentences', name)
    const rest = namesOf(false)
    if (rest.size === 0) return expect(page()).toMatchFileSnapshot(file)
    // Some tests were skipped, so the sentences of the others must be a part of the file, and these tests
    // must have seen the sentences that the file lists with their names.
    const known = readFileSync(file, 'utf8').split('\n')
    const seen = new Map([...seenHere()].map(([words, places]) => [printable(words), places]))
    expect([...seen.keys()].filter((words) => !known.includes(words))).toEqual([])
    const passed = [...namesOf(true)].filter((name) => !rest.has(name))
    const stale = known.flatMap((line, i) => {
      if (!line.startsWith(INDENT)) return []
      const words = known.slice(0, i).findLast((each) => !each.startsWith(INDENT))!
      const listed = ` | ${line.trim().replace(/^.*? <- /, '')} | `
      const tests = new Set(
        [...(seen.get(words)?.values() ?? [])].flatMap((each) => [...each].map(shortName)),
      )
      return passed
        .filter((name) => listed.includes(` | ${printable(name)} | `) && !tests.has(name))
        .map((name) => [words, name])
    })
    expect(stale).toEqual([])
  })
}

const INDENT = '    '
/** Name of a test as a file of sentences shows it. */
const shortName = (name: string) => masked(name, VOLATILE).replace(/\s+/g, ' ').slice(0, 80)

/** Each sentence with its kind, field and rejected value, and with the first three tests that saw it. */
function page(): string {
  const sorted = <T>(map: Map<string, T>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1))
  return sorted(seenHere())
    .map(([words, places]) => {
      const lines = sorted(places).map(([about, tests]) => {
        const names = [...tests].map(shortName)
        const first = names.length > 4 ? [...names.slice(0, 3), `${names.length - 3} more`] : names
        return `${INDENT}${[about, first.join(' | ')].filter(Boolean).join(' <- ')}\n`
      })
      return `${words}\n${lines.join('')}`
    })
    .map(printable)
    .join('')
}

function printable(text: string): string {
  return text.replace(/[^\P{C}\n]/gu, '\ufffd')
}
