import { describe, expect, test } from 'vitest'
import { linkOf } from '../web/sheet/media-link'

const CIDS = [
  'bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi',
  'QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWTPBdG',
]

describe.each(CIDS)('media at %s', (cid) => {
  test.each([
    ...['', '/', '/a.jpg', '/a b/\u00fc.jpg', '/..a', '/a..', '/...', '/a/.hidden'],
    ...['/a?b=..'],
  ])('has a link below its CID for the path %j', (path) => {
    for (const data of [cid + path, `ipfs://${cid}${path}`]) {
      const { origin, pathname } = new URL(linkOf(data)!)
      expect([origin, pathname.startsWith(`/ipfs/${cid}`)]).toEqual(['https://ipfs.io', true])
    }
  })
  test.each([
    ['/my%20photo.jpg', '/my%20photo.jpg', '/my%2520photo.jpg'],
    ['/caf%C3%A9 2.jpg', '/caf%C3%A9%202.jpg', '/caf%25C3%25A9%202.jpg'],
    ['/100%', '/100%25', '/100%25'],
    ['/%2541%4', '/%2541%254', '/%252541%254'],
  ])('keeps the escapes of a URI, and escapes the percent signs of a path: %j', (path, ofUri, ofPath) => {
    expect(linkOf(`ipfs://${cid}${path}`)).toBe(`https://ipfs.io/ipfs/${cid}${ofUri}`)
    expect(linkOf(cid + path)).toBe(`https://ipfs.io/ipfs/${cid}${ofPath}`)
  })
  test.each(['/%2e%2e/x', '/.%2E', '/%2e/x', '/a%2F..%2f..', '/%2e%2e?x'])(
    'has no link for the encoded path %j of a URI, and one for it as a name',
    (path) => {
      expect(linkOf(`ipfs://${cid}${path}`)).toBeUndefined()
      expect(linkOf(cid + path)).toContain(`/ipfs/${cid}/`)
    },
  )
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
