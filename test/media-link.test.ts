import { describe, expect, test } from 'vitest'
import { linkOf } from '../web/sheet/media-link'

const CIDS = [
  'bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi',
  'QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWTPBdG',
]

describe.each(CIDS)('media at %s', (cid) => {
  test.each([
    ...['', '/', '/a.jpg', '/a b/\u00fc.jpg', '/..a', '/a..', '/...', '/a/.hidden', '/%2e%2e/x'],
    ...['/a?b=..'],
  ])('has a link below its CID for the path %j', (path) => {
    for (const data of [cid + path, `ipfs://${cid}${path}`]) {
      const { origin, pathname } = new URL(linkOf(data)!)
      expect([origin, pathname.startsWith(`/ipfs/${cid}`)]).toEqual(['https://ipfs.io', true])
    }
  })
  test.each(['/..', '/../..', '/../../login', '/a/../..', '/./..', '/.', '/../?x', '/..#x', '//../..'])(
    'has no link for the path %j',
    (path) => {
      expect(linkOf(cid + path)).toBeUndefined()
      expect(linkOf(`ipfs://${cid}${path}`)).toBeUndefined()
    },
  )
})
test.each(['javascript:alert(1)', 'data:text/html,x', 'ipfs://x', 'file:///etc/passwd', '//example.org', ''])(
  'the media %j have no link',
  (data) => {
    expect(linkOf(data)).toBeUndefined()
  },
)
test('an http or https URL of media is its own link', () => {
  expect(linkOf('https://example.org/a/../b')).toBe('https://example.org/b')
})
