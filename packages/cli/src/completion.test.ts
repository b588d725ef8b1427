// SPDX-License-Identifier: MIT
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { completionScript, SHELLS } from './completion'
import { buildProgram } from './program'
import { needing } from '../../../test/needs'

/** Runs the completion scripts in the shells that are installed. */
const program = buildProgram('0.0.0', async () => {}, process)
const folder = mkdtempSync(path.join(tmpdir(), 'geo-completion-'))
const script = (shell: string) => path.join(folder, `geo.${shell}`)
beforeAll(() => {
  for (const shell of SHELLS) writeFileSync(script(shell), completionScript(program, shell))
  writeFileSync(path.join(folder, 'place.geojson'), '{}')
})
afterAll(() => rmSync(folder, { recursive: true }))
const has = (shell: string) => spawnSync(shell, ['--version']).status === 0
const run = (shell: string, code: string) => {
  const { stdout, stderr, status } = spawnSync(shell, ['-c', code], { cwd: folder, encoding: 'utf8' })
  expect([status, stderr]).toEqual([0, ''])
  return stdout.split('\n').filter(Boolean)
}

/** Words on the command line, of which the last is being completed, and the expected offers. */
const CASES: [string[], string[] | RegExp][] = [
  [
    ['geo', 'record'],
    ['record', 'records'],
  ],
  [['geo', ''], /^distance\n[^]*completion\nhelp$/],
  [['geo', 'distance', '--sub'], ['--submission']],
  [
    ['geo', 'distance', '--submission', ''],
    ['direct', 'proxy'],
  ],
  [['geo', 'distance', '1,2', '3,4', '--submission', 'p'], ['proxy']],
  [['geo', '--json', 'records', '--format', 'n'], ['ndjson']],
  [['geo', 'batch', '--la'], ['--land']],
  [['geo', 'watch', '--js'], ['--json']],
  [
    ['geo', 'completion', ''],
    ['bash', 'zsh', 'fish'],
  ],
]
/** Words for which the script offers nothing, so that the shell completes files. */
const FILES = [
  ['geo', 'distance', 'pla'],
  ['geo', 'land', '--key-file', ''],
  ['geo', 'records', '-o', 'pla'],
]

needing(has('bash') ? [] : ['bash']).describe('the completion of bash', () => {
  const complete = (words: string[]) =>
    run(
      'bash',
      `. '${script('bash')}'; COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _geo; printf '%s\\n' "\${COMPREPLY[@]}"`,
    )
  test.each(CASES)('completes %j', (words, expected) => {
    const offered = complete(words)
    if (expected instanceof RegExp) expect(offered.join('\n')).toMatch(expected)
    else expect(offered.sort()).toEqual([...expected].sort())
  })
  test.each(FILES)('leaves %j %j %j to the completion of files', (...words) =>
    expect(complete(words)).toEqual([]),
  )
  test('completes a value that is joined to its option', () => {
    // Bash splits this text into three words.
    expect(complete(['geo', 'records', '--format', '=', 'geoj'])).toEqual(['geojson'])
    expect(complete(['geo', 'records', '--format', '='])).toEqual([
      ...['table', 'json', 'ndjson', 'csv', 'geojson', 'geoparquet', 'geoparquet2', 'flatgeobuf'],
    ])
  })
  test('does not execute the words on the command line', () => {
    complete(['geo', '$(touch run)', ''])
    expect(run('bash', 'ls')).not.toContain('run')
    expect(run('bash', `. '${script('bash')}'; . '${script('bash')}'; complete -p geo`)).toEqual([
      'complete -o default -F _geo geo',
    ])
  })
})

needing(has('fish') ? [] : ['fish']).describe('the completion of fish', () => {
  const complete = (words: string[]) =>
    run('fish', `source '${script('fish')}'; complete -C '${words.join(' ')}'`).map(
      (line) => line.split('\t')[0]!,
    )
  test.each(CASES)('completes %j', (words, expected) => {
    const offered = complete(words)
    if (expected instanceof RegExp)
      expect(offered).toEqual(expect.arrayContaining(['distance', 'completion', 'help']))
    else expect(offered.sort()).toEqual([...expected].sort())
  })
  test.each(FILES)('leaves %j %j %j to the completion of files', (...words) =>
    expect(complete(words)).toContain('place.geojson'),
  )
})

needing(has('zsh') ? [] : ['zsh']).describe('the completion of zsh', () => {
  /** Terminal output of an interactive shell, by case. One shell serves all, because its set-up is slow. */
  let lists: string[]
  beforeAll(() => {
    // The prompt appears once the line editor accepts input.
    const shown = run(
      'zsh',
      `zmodload zsh/zpty; zpty -b z zsh -f -i
       zpty -w z "autoload -U compinit; compinit -u -D; source '${script('zsh')}'; LISTMAX=1000; bindkey '^I' list-choices; PS1=RE''ADY"
       zpty -r z line '*READY*'
       for words in ${CASES.map(([words]) => `'${words.join(' ')}'`).join(' ')}; do
         zpty -w -n z $words$'\\t'
         zpty -w z $'\\x15echo done'
         zpty -r z line '*done*READY*'; print -rn -- $line$'\\0'
       done
       zpty -d z`,
    )
    lists = shown.join('\n').split('\0')
  })
  /** Offers of a list, which follows the first erasure of the screen: `a  b`, or `a  -- description`. */
  const offersIn = (list: string) =>
    list
      .split('\x1b[J')[1]!
      .split('\x1b[A')[0]!
      .replaceAll('\x1b[K', '')
      .split(/\s*\n/)
      .flatMap((line) => line.split(/ +-- /)[0]!.split(/ +/))
  test.each(CASES.map((each, i) => [...each, i] as const))('completes %j', (words, expected, i) => {
    const offered = offersIn(lists[i]!)
    if (expected instanceof RegExp)
      expect(offered).toEqual(expect.arrayContaining(['distance', 'completion', 'help']))
    else expect(offered.sort()).toEqual([...expected].sort())
  })
})
