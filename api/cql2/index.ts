/**
 * CQL2 (OGC 21-065r2): filters as people and programs of GIS write them.
 *
 * text.ts and json.ts read its two encodings into one expression (expression.ts). What a property is, and
 * what an expression means for records, the room of records says.
 */

export { Cql2Error, type Comparison, type Expression, type Scalar } from './expression'
export { readJson } from './json'
export { readText } from './text'
