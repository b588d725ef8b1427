import Fastify from 'fastify'
import { describe, expect, test } from 'vitest'
import { anchorOf } from '../../test/documents'
import { recordsErrorHandler } from '../http/problems'
import { manualRoutes, readManual } from './manual'
import { manualPageRoutes } from './manual-pages'
import { manualSearch } from './manual-search'

const pages = readManual('docs')

test('the manual has no dead link on any page', async () => {
  expect(pages.length).toBeGreaterThan(20)
  const app = Fastify()
  manualRoutes(app, pages)
  const texts = new Map<string, string>()
  for (const { address } of pages) {
    const { statusCode, body } = await app.inject(address)
    expect([address, statusCode]).toEqual([address, 200])
    texts.set(address, body.replace(/^( *)```[^]*?^\1```$/gm, ''))
  }
  const anchorsOf = (text: string) =>
    [...text.matchAll(/^#{1,6} (.+)$/gm)].map(
      ([, heading]) => `#${anchorOf(heading!.replace(/[`*]/g, '').trim())}`,
    )
  const anchors = new Map([...texts].map(([address, text]) => [address, ['', ...anchorsOf(text)]]))
  let links = 0
  for (const [address, text] of texts)
    for (const [link, target] of text.matchAll(/\]\(([^)]*)\)/g)) {
      const { origin, pathname, hash } = new URL(target!, `http://service${address}`)
      if (origin !== 'http://service') continue
      links++
      expect(anchors.get(pathname), `${link} of ${address}`).toContain(decodeURIComponent(hash))
    }
  expect(links).toBeGreaterThan(50)
})

test('the manual names a file that it does not show by its path in the repository', () => {
  const { text } = pages.find(({ address }) => address.endsWith('/contracts.md'))!
  expect(text).toContain('(../reference/compute.md#answer)')
  expect(text).toContain('NearbyToken.sol (`packages/contracts/examples/NearbyToken.sol` in the repository)')
})

describe('the pages of the manual for browsers', () => {
  const app = Fastify({ routerOptions: { ignoreTrailingSlash: true } })
  manualPageRoutes(app, pages)
  const bodyOf = async (address: string) => {
    const { statusCode, headers, body } = await app.inject(address)
    expect([address, statusCode, headers['content-type']]).toEqual([address, 200, 'text/html; charset=utf-8'])
    expect(headers['content-security-policy']).toContain("form-action 'self'")
    return body
  }
  const linksOf = (body: string) => [...body.matchAll(/ href="([^"]*)"/g)].map(([, target]) => target!)

  test('link only pages and anchors that exist, outside their header', async () => {
    const shown = new Map<string, string>()
    for (const { address } of pages) shown.set(address.slice(0, -3), await bodyOf(address.slice(0, -3)))
    shown.set('/manual', await bodyOf('/manual'))
    let links = 0
    for (const [address, body] of shown)
      for (const target of linksOf(body.slice(body.indexOf('<main>')))) {
        const { origin, pathname, hash } = new URL(target, `http://service${address}`)
        if (origin !== 'http://service') continue
        links++
        expect(shown.get(pathname), `${target} of ${address}`).toBeDefined()
        if (hash) expect(shown.get(pathname)).toContain(` id="${decodeURIComponent(hash.slice(1))}"`)
      }
    expect(links).toBeGreaterThan(200)
  })

  test('are listed with the tutorial first', async () => {
    const [first] = linksOf((await bodyOf('/manual')).split('<h2>Guides</h2>')[1]!)
    expect(first).toBe('manual/guide/first-steps')
  })

  test('are pages of the manual in the header, whatever their names', async () => {
    for (const address of [
      '/manual',
      '/manual/guide/attest',
      '/manual/guide/playground',
      '/manual/guide/log',
    ])
      expect(await bodyOf(address)).toMatch(/<a [^>]*aria-current="page">Manual<\/a>/)
  })

  test('are the targets of /guide and of the guides below it', async () => {
    for (const [address, target] of [
      ['/guide', '/manual'],
      ['/guide/client', '/manual/guide/client'],
      ['/guide/client/', '/manual/guide/client'],
    ] as const) {
      const { statusCode, headers } = await app.inject(address)
      const { pathname } = new URL(headers.location!, `http://service${address}`)
      expect([address, statusCode, pathname]).toEqual([address, 308, target])
      await bodyOf(pathname)
    }
    expect((await app.inject('/guide/unknown')).statusCode).toBe(404)
  })

  test('are found first by words of their headings, in any letter case and by prefixes', async () => {
    const [first] = linksOf((await bodyOf('/manual?q=GEOMETR+typed+client')).split('<ul>')[1]!)
    expect(first).toMatch(/^manual\/reference\/client#geometries$/)
    const body = await bodyOf('/manual?q=antimeri+ring')
    expect(body).toMatch(/<mark>antimeri<\/mark>/i)
    for (const target of linksOf(body.split('<ul>')[1]!).filter((link) => link.includes('#'))) {
      const [address, anchor] = target.split('#')
      expect(await bodyOf(`/${address}`)).toContain(` id="${decodeURIComponent(anchor!)}"`)
    }
  })

  test('are shown around the searched words, in whole words and without marks of Markdown', () => {
    const filler = Array.from({ length: 60 }, (_, i) => `word${i}`).join(' ')
    const text = [
      '# Title',
      `> ${filler} **needle** \\<number\\> \`a*b\` [linked](x.md) ${filler}`,
      '## Table',
      '| one | two |\n|---|---|\n| needle | a \\| b |',
      '## Program',
      '```js\nconst needle = 2 * 3\n```',
    ].join('\n\n')
    const search = manualSearch([{ section: 'guide', address: '/manual/guide/x.md', title: 'Title', text }])
    const shown = search('needle').map(({ excerpt }) => excerpt.map((part) => part.text).join(''))
    expect(shown.sort()).toEqual([
      'const needle = 2 * 3',
      'one two needle a | b',
      expect.stringMatching(/^… word\d+ .* word59 needle <number> a\*b linked word0 word1 .* word\d+ …$/),
    ])
  })

  test('are not found by an unknown word, and show the searched words escaped', async () => {
    const body = await bodyOf(`/manual?q=${encodeURIComponent('<b>"xyzzy"')}`)
    expect(body).toContain('No section contains all words of “&#60;b&#62;&#34;xyzzy&#34;”')
    expect(body).not.toContain('<b>')
    expect(await bodyOf('/manual?q=a&q=b')).toContain('<h2>Guides</h2>')
  })
})

test('one client can use only a share of the searches of the manual', async () => {
  const app = Fastify()
  app.setErrorHandler(recordsErrorHandler('https://x.example'))
  // After each search, the thread does other work for a time that grows with the pages.
  manualPageRoutes(app, pages.slice(0, 2), 600_000)
  const order: string[] = []
  const ask = async (remoteAddress: string) => {
    const { statusCode } = await app.inject({ url: '/manual?q=a+b+c+d+e', remoteAddress })
    order.push(remoteAddress)
    return statusCode
  }
  const greedy = Array.from({ length: 30 }, () => ask('192.0.2.1'))
  const other = ask('192.0.2.2')
  const served = (await Promise.all(greedy)).filter((status) => status === 200)
  expect([served.length, await other]).toEqual([9, 200])
  // All searches of this client but its first come after the search of the other client, or were refused.
  expect(order.indexOf('192.0.2.2')).toBeLessThan(30 - 7)
})
