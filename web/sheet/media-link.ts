/** Pattern of a CID with an optional path. */
export const CID = /^(Qm[1-9A-HJ-NP-Za-km-z]{44}|b[a-z2-7]{50,})(\/.*)?$/

/** Segment of an encoded path that a browser or a gateway resolves. */
const DOTS = /(^|\/|%2f)(\.|%2e){1,2}(\/|%2f|$|[?#])/i

/**
 * URL of attested media; for IPFS, the URL at a public gateway. Undefined for texts that are not a URL, and
 * for a path that leaves its CID: browsers resolve `..` before the request, so the URL could name any page of
 * the gateway's host.
 */
export function linkOf(data: string): string | undefined {
  const isUri = data.startsWith('ipfs://')
  const path = isUri ? data.slice('ipfs://'.length) : data
  if (CID.test(path)) {
    // A URI contains its escapes already. In a path, a percent sign is a part of the name.
    const encoded = isUri ? encodeURI(path).replace(/%25(?=[0-9a-f]{2})/gi, '%') : encodeURI(path)
    return DOTS.test(encoded) ? undefined : `https://ipfs.io/ipfs/${encoded}`
  }
  return /^https?:\/\//i.test(data) && data.length < 2_000 && URL.canParse(data)
    ? new URL(data).href
    : undefined
}
