import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CHAINS, settingSuffix } from './chains'

const ACTIVE = CHAINS.filter(({ active }) => active)
/** Chain that runs by default (docker-compose.yml). Each other chain has a profile. */
const FIRST = CHAINS[0]

/** Texts about the chains in other files, in the order of the table: file, pattern, expected matches. */
const COPIES: [file: string, pattern: RegExp, expected: string[]][] = [
  [
    'docker-compose.yml',
    /^ {2}indexer-.*(\n {4}.*)*/gm,
    CHAINS.map((chain) =>
      [
        `  indexer-${chain.slug}:`,
        '    <<: *service',
        `    command: node lib/indexer/main.js ${chain.slug}`,
        ...(chain === FIRST ? [] : [`    profiles: [${chain.slug}]`]),
      ].join('\n'),
    ),
  ],
  [
    'squid.yaml',
    /^ {4}RPC_URL_.*|^ {4}- name:.*|.*lib\/indexer\/main\.js.*/gm,
    [
      ...ACTIVE.map((chain) => {
        const name = `RPC_URL_${settingSuffix(chain)}`
        return `    ${name}: \${{ secrets.${name}${chain === FIRST ? '' : ` || ''`} }}`
      }),
      ...ACTIVE.flatMap(({ slug }) => [
        `    - name: ${slug}`,
        `      cmd: [node, lib/indexer/main.js, ${slug}]`,
      ]),
    ],
  ],
]

test.each(COPIES)('%s names every chain of src/chains.ts', (file, pattern, expected) => {
  const found = [...readFileSync(file, 'utf8').matchAll(pattern)].map(([text]) => text)
  expect(found, `${file} must have these lines:\n${expected.join('\n')}\n`).toEqual(expected)
})

test('commands.json lists a command for the indexer of every chain', () => {
  const { commands } = JSON.parse(readFileSync('commands.json', 'utf8')) as { commands: object }
  const found = Object.fromEntries(Object.entries(commands).filter(([name]) => name.startsWith('process:')))
  const expected = Object.fromEntries(
    CHAINS.map(({ slug }) => [
      `process:${slug}`,
      {
        description: `Run the indexer of ${slug}`,
        deps: ['build', 'migration:apply'],
        cmd: ['npm', 'run', 'index', '--', slug],
      },
    ]),
  )
  const text = JSON.stringify(expected, null, 2)
  expect(found, `commands.json must have these commands:\n${text}\n`).toEqual(expected)
})

test('the table of chains has no two chains with the same id, name or endpoint setting', () => {
  for (const values of [
    CHAINS.map(({ id }) => String(id)),
    CHAINS.flatMap(({ slug, aliases }) => [slug, ...aliases]),
    CHAINS.map(settingSuffix),
  ])
    expect(new Set<unknown>(values).size).toBe(values.length)
})
