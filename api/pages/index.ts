/**
 * Records as pages for browsers: attested-pages.ts has what pages of answers (room answers) share, map.ts
 * draws.
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
