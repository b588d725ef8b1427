/**
 * CQL2 (OGC 21-065r2): filters as people and GIS programs write them.
 *
 * text.ts and json.ts parse its two encodings into one expression (expression.ts). The room of queries
 * defines the properties and the meaning of an expression for records.
 */

export { Cql2Error, shownName, type Comparison, type Expression, type Scalar } from './expression'
export { readJson } from './json'
export { readText } from './text'
