/**
 * Attestations as pages for browsers, in the layout of http/pages.ts: attested-pages.ts is the list of
 * records and of answers, pages.ts a record, map.ts draws.
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
export { drawMap } from './map'
export { type Feature, featureBody, headline, listPage, recordPage, titleOf } from './pages'
