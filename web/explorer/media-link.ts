/** A CID, and a path below it. */
export const CID = /^(Qm[1-9A-HJ-NP-Za-km-z]{44}|b[a-z2-7]{50,})(\/.*)?$/

/**
 * URL of attested media: for IPFS, that of a public gateway. Undefined for other texts, and for a path that
 * leads out of its CID: browsers resolve `..` before the gateway sees it, to any page of its host.
 */
export function linkOf(data: string): string | undefined {
  const path = data.startsWith('ipfs://') ? data.slice('ipfs://'.length) : data
  if (CID.test(path))
    return /(^|\/)\.{1,2}(\/|$|[?#])/.test(path) ? undefined : `https://ipfs.io/ipfs/${encodeURI(path)}`
  return /^https?:\/\//i.test(data) && data.length < 2_000 && URL.canParse(data)
    ? new URL(data).href
    : undefined
}
