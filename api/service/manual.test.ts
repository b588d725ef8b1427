import Fastify from 'fastify'
import { expect, test } from 'vitest'
import { anchorOf } from '../../test/documents'
import { manualRoutes, readManual } from './manual'

test('has no dead link on any page', async () => {
  const pages = readManual('docs')
  expect(pages.length).toBeGreaterThan(20)
  const app = Fastify()
  manualRoutes(app, pages)
  const textOf = async (address: string) => {
    const { statusCode, body } = await app.inject(address)
    expect([address, statusCode]).toEqual([address, 200])
    return body.replace(/^( *)```[^]*?^\1```$/gm, '')
  }
  let links = 0
  for (const { address } of pages)
    for (const [link, target] of (await textOf(address)).matchAll(/\]\(([^)]*)\)/g)) {
      const { origin, pathname, hash } = new URL(target!, `http://service${address}`)
      if (origin !== 'http://service') continue
      links++
      const headings = [...(await textOf(pathname)).matchAll(/^#{1,6} (.+)$/gm)]
      const anchors = headings.map(([, heading]) => `#${anchorOf(heading!.replace(/[`*]/g, '').trim())}`)
      expect(['', ...anchors], `${link} of ${address}`).toContain(decodeURIComponent(hash))
    }
  expect(links).toBeGreaterThan(50)
})

test('names a file that is not shown by its path in the repository', () => {
  const { text } = readManual('docs').find(({ address }) => address.endsWith('/contracts.md'))!
  expect(text).toContain('(../reference/compute.md#answer)')
  expect(text).toContain('NearbyToken.sol (`packages/contracts/examples/NearbyToken.sol` in the repository)')
})
