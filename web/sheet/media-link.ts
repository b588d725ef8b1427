/** Pattern of a CID with an optional path. */
export const CID = /^(Qm[1-9A-HJ-NP-Za-km-z]{44}|b[a-z2-7]{50,})(\/.*)?$/

/**
 * URL of attested media; for IPFS, the URL at a public gateway. Undefined for texts that are not a URL, and
 * for a path that leaves its CID: browsers resolve `..` before the request, so the URL could name any page of
 * the gateway's host.
 */
export function linkOf(data: string): string | undefined {
  const path = data.startsWith('ipfs://') ? data.slice('ipfs://'.length) : data
  if (CID.test(path))
    return /(^|\/)\.{1,2}(\/|$|[?#])/.test(path) ? undefined : `https://ipfs.io/ipfs/${encodeURI(path)}`
  return /^https?:\/\//i.test(data) && data.length < 2_000 && URL.canParse(data)
    ? new URL(data).href
    : undefined
}
