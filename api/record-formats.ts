import { getAddress } from 'ethers'
import { LRUCache } from 'lru-cache'
import type { RecordRow } from './store-records'

/** Checksummed forms of addresses: making one takes 20 us, and a page of records has 200. */
const checksums = new LRUCache<string, string>({ max: 50_000 })

function checksummed(address: string): string {
  let known = checksums.get(address)
  if (known === undefined) checksums.set(address, (known = getAddress(address)))
  return known
}

/** A record as JSON text (INTERFACE.md, Location record); addresses get their checksum on the way out. */
export function recordText({ uid, chain, prover, subject, rest }: RecordRow): string {
  return `{"uid":"${uid}","chain":"${chain}","prover":"${checksummed(prover)}","subject":"${checksummed(subject)}",${rest.slice(1)}`
}

/** A record as a GeoJSON Feature's text (RFC 7946): its id is `<chain>-<uid>`, its properties are the record. Of a row that was read with its geometry. */
export function featureText(row: RecordRow): string {
  return `{"type":"Feature","id":"${row.chain}-${row.uid}","geometry":${row.geometry},"properties":${recordText(row)}}`
}
