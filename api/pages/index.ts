/** Attestations as HTML pages: attested-pages.ts has the lists, pages.ts a record, and map.ts draws. */

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
