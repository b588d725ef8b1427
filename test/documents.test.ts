import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { CONFORMANCE } from '../api/ogc/documents'
import { JSON_FG_CONFORMANCE } from '../api/ogc/json-fg'
import { TILES_CONFORMANCE } from '../api/ogc/tiles'
import { CHAINS } from '../src/chains'
import { anchorOf, differences, headingsOf, isLike, pagesUnder, parseShown, proseOf } from './documents'
import { rowsOf, shellCommands, shellWords } from './documents'

/** Links and anchors of the documents, and the citations of documents in the code. */
const PAGES = [
  ...['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md'],
  ...['src/geodesy/README.md', 'bench/README.md', 'db/README.md'],
  ...['packages/cli/README.md', 'packages/contracts/README.md', 'packages/witness/README.md'],
  ...pagesUnder('docs'),
]
const SOURCES = /\.(ts|mts|mjs|js|json|graphql|sql|ya?ml)$|^\.env\.example$|^Dockerfile$|^\.ci\/run$/

/** Relative links of a page, each as [link, path, anchor]. */
const linksOf = (page: string) =>
  [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link]) => link!)
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link): [string, string, string | undefined] => {
      const [file, anchor] = link.split('#')
      return [link, file ? path.posix.join(path.posix.dirname(page), file) : page, anchor]
    })
const anchors = new Map<string, string[]>()
function isAnchor(page: string, anchor: string): boolean {
  if (!anchors.has(page)) anchors.set(page, headingsOf(page).map(anchorOf))
  return anchors.get(page)!.includes(anchor)
}

test.each(PAGES)('every relative link and anchor of %s has a target', (page) => {
  expect(
    linksOf(page)
      .filter(([, file, anchor]) => !existsSync(file) || (anchor !== undefined && !isAnchor(file, anchor)))
      .map(([link]) => link),
  ).toEqual([])
})
test.each(PAGES.filter((page) => page !== 'CHANGELOG.md'))(
  'every source file that %s names exists',
  (page) => {
    const named = [...proseOf(page).matchAll(/`((?:src|api|test|dev|db|bench|packages)\/[\w./-]*\w\.\w+)`/g)]
    expect(named.map(([, file]) => file!).filter((file) => !existsSync(file))).toEqual([])
  },
)
test('every page is reached from README.md', () => {
  const reached = new Set(['README.md'])
  for (const page of reached)
    for (const [, file] of linksOf(page))
      if (file.endsWith('.md') && existsSync(file) && statSync(file).isFile()) reached.add(file)
  expect(PAGES.filter((page) => !reached.has(page))).toEqual([])
})
test('README.md is an index of at most 120 lines', () => {
  expect(readFileSync('README.md', 'utf8').split('\n').length).toBeLessThanOrEqual(121)
})

describe('facts in documents', () => {
  const codesIn = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code!)
  test('docs/reference/ogc.md lists the declared conformance classes', () => {
    const listed = rowsOf('docs/reference/ogc.md', 'standard').flatMap(([, specification, classes]) =>
      codesIn(classes!).map(
        (name) => `http://www.opengis.net/spec/${codesIn(specification!).join()}/conf/${name}`,
      ),
    )
    expect(listed).toEqual([...CONFORMANCE, ...JSON_FG_CONFORMANCE, ...TILES_CONFORMANCE])
  })
  test.each(pagesUnder('docs/spec'))('%s rounds decimals, not doubles', (page) => {
    expect(readFileSync(page, 'utf8')).not.toContain('Math.round(')
  })
  test('docs/spec/facts.md lists the chains with their first blocks and finality', () => {
    const count = (cell: string) => Number(cell.replaceAll(',', ''))
    expect(
      rowsOf('docs/spec/facts.md', 'id').map(([id, slug, aliases, , , firstBlock, finality]) => ({
        ...{ id: Number(id), slug: codesIn(slug!).join(), aliases: codesIn(aliases!) },
        ...{ firstBlock: count(firstBlock!), finality: count(finality!) },
      })),
    ).toEqual(
      CHAINS.map(({ id, slug, aliases, firstBlock, finality }) => ({
        ...{ id, slug, aliases, firstBlock, finality },
      })),
    )
  })
})

describe('documents that the code cites', () => {
  const files = [
    ...readdirSync('.', { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name),
    '.ci/run',
    ...['src', 'api', 'dev', 'test', 'bench', 'db', 'docs'].flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => path.posix.join(folder, file)),
    ),
  ].filter((file) => SOURCES.test(file) && !/node_modules|package-lock\.json$/.test(file))
  /** Mentions of a page, each as [file, page, text after it]. Line breaks of a comment count as spaces. */
  const texts = files.map((file) => ({ file, text: readFileSync(file, 'utf8') }))
  const citing = texts.filter(({ text }) => text.includes('docs/'))
  const mentions = citing.flatMap(({ file, text }) =>
    [
      ...text
        .replace(/\n *(?:\*|\/\/|#|--) ?/g, ' ')
        .matchAll(/\b(docs\/[\w/-]+\.(?:md|mjs))(?:#([\w-]+)| (\d+))?/g),
    ].map(([, page, anchor, section]) => ({ file, page: page!, anchor, section })),
  )

  test('exist, with their anchors and sections', () => {
    expect(mentions.length).toBeGreaterThan(20)
    expect(
      mentions.filter(
        ({ page, anchor, section }) =>
          !existsSync(page) ||
          (anchor && !isAnchor(page, anchor)) ||
          (section && !headingsOf(page).some((heading) => heading.startsWith(`${section}. `))),
      ),
    ).toEqual([])
  })
  test('belong to this project', () => {
    expect(
      texts.filter(({ text }) =>
        /\b(?:INTERFACE|GEODESY|TRUST|FACTS|LANDING|DESIGN|STYLE)(?:\.md| \d|: [A-Z])/.test(text),
      ),
    ).toEqual([])
  })
})

describe('the comparison of shown and real responses', () => {
  const differ = (shown: string, real: unknown) => differences(parseShown(shown), real, () => {})
  test('accepts any text, members or entries only at `...`', () => {
    expect(differ('{"a": "0x12...ef", ...}', { a: '0x12cdef', b: 1 })).toEqual([])
    expect(differ('{"a": 1} // a comment', { a: 1, b: 2 })).toEqual(['.b: answered, but not shown'])
    expect(differ('[1, 2, ...]', [1, 2, 3])).toEqual([])
    expect(differ('[1, 2]', [1, 2, 3])).toHaveLength(1)
    expect(differ('{"a": "12...9"}', { a: '1' })).toHaveLength(1)
    expect(isLike('a (...) b', 'a (x\ny) b')).toBe(true)
  })
  test('compares varying values by their form', () => {
    expect(differ('{"timestamp": 1, "uid": "0xab"}', { timestamp: 2, uid: '0xcd' })).toEqual([])
    expect(differ('{"timestamp": 1}', { timestamp: '2' })).toHaveLength(1)
    expect(differ('{"uid": "0xab"}', { uid: '0xabcd' })).toHaveLength(1)
    expect(differ('{"result": 1.25}', { result: 1.26 })).toEqual(['result: 1.25 is shown, 1.26 answered'])
  })
  test('reads commands as a shell does', () => {
    expect(shellCommands("a -d '{\n}' \\\n b  # c's\n# d\ne")).toEqual(["a -d '{\n}'   b", 'e'])
    expect(shellWords(`curl -H 'a: b' "x\\"y" http://h/?q=1#f`)).toEqual([
      'curl',
      '-H',
      'a: b',
      'x"y',
      'http://h/?q=1#f',
    ])
  })
})
