/**
 * Attestations as HTML pages, in the layout of http/pages.ts: attested-pages.ts has the list of records and
 * of answers, pages.ts a record, and map.ts draws.
 */

export {
  attestedListPage,
  attestedRow,
  cell,
  conditionsInWords,
  either,
  listAbove,
  orderOf,
  REVOKED,
  revokedNote,
  shortened,
  shortHex,
} from './attested-pages'
export { drawMap, type Geometry } from './map'
export { type Feature, featureBody, headline, listPage, recordPage, titleOf } from './pages'
