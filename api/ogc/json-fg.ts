import { featureText } from '../formats'
import type { RecordResult } from '../store'
import { link, type Link, type OgcAddresses } from './documents'
import { COLLECTION, type Profile } from './parameters'

/** Features and Geometries JSON (OGC 21-045r1): GeoJSON with the time and the type of the features. */

export const JSON_FG_CONFORMANCE = ['core', 'types-schemas'].map(
  (name) => `http://www.opengis.net/spec/json-fg-1/1.0/conf/${name}`,
)
const BEGINNING = '{"type":"Feature",'

/**
 * Writes a feature in a profile. Its time is that of the attestation's block, by which `datetime` selects.
 * `place` is null, because `geometry` has all of it.
 */
export function profileText(row: RecordResult, profile: Profile): string {
  const text = featureText(row)
  if (profile === 'rfc7946') return text
  // Strings in JSON contain no unescaped quotation mark, and nested objects follow the time.
  const [, time] = /"timestamp":"([^"]+)"/.exec(row.text)!
  return `${BEGINNING}"time":{"timestamp":"${time}"},"place":null,${text.slice(BEGINNING.length)}`
}

/** Members of a document's root in a profile. */
export function profileHead(profile: Profile, at: OgcAddresses): object {
  return profile === 'rfc7946'
    ? {}
    : {
        conformsTo: JSON_FG_CONFORMANCE,
        featureType: COLLECTION,
        featureSchema: at.schema('schema'),
      }
}

/** Links that name the profile of a document. */
export function profileLinks(profile: Profile): Link[] {
  const href = `http://www.opengis.net/def/profile/OGC/0/${profile}`
  return profile === 'rfc7946' ? [] : [link(href, 'profile', 'text/html', 'Profile of this document')]
}
