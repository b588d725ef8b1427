import type { Condition, DecidedPlace, Bbox } from './model'
import { boxesOf, boxSql, meets, reaches } from './sql-places'

/**
 * What a record has to be, as SQL that is true for such records, and false or null for others. Columns come
 * from the table of queryables, everything else is a parameter.
 * @param value adds a parameter and returns its placeholder
 */
export function conditionSql(condition: Condition<DecidedPlace>, value: (v: unknown) => string): string {
  const joined = (parts: readonly Condition<DecidedPlace>[], word: string) =>
    `(${parts.map((part) => conditionSql(part, value)).join(word)})`
  const box = (each: Bbox) => boxSql(each, value)
  if ('all' in condition) return joined(condition.all, ' AND ')
  if ('any' in condition) return joined(condition.any, ' OR ')
  if ('always' in condition) return condition.always ? 'true' : 'false'
  if ('box' in condition) {
    const within = boxesOf(condition.box).map((each) => meets('geom', box(each)))
    return `${condition.not ? 'NOT ' : ''}(${within.join(' OR ')})`
  }
  if ('place' in condition) {
    const { reach, ids } = condition.place
    const known = `id = ANY(${value(ids)})`
    // By what is known not to meet it, not by what is known to: records may have come since.
    return condition.not ? `(geom IS NOT NULL AND (NOT ${reaches(reach, box)} OR ${known}))` : known
  }
  if ('attribute' in condition) return attributeSql(condition, value)
  const { column } = condition
  if ('isNull' in condition) return `${column} IS ${condition.isNull ? '' : 'NOT '}NULL`
  if ('is' in condition) return condition.is ? column : `NOT ${column}`
  const not = 'not' in condition && condition.not
  if ('like' in condition) return `${column} ${not ? 'NOT ' : ''}LIKE ${value(condition.like)}`
  if ('oneOf' in condition) return `${column} ${not ? '<> ALL' : '= ANY'}(${value(condition.oneOf)})`
  const { compare, to } = condition
  // Texts in the order of their code points, whatever the order of the database.
  const collation = typeof to === 'string' && compare !== '=' && compare !== '<>' ? ' COLLATE "C"' : ''
  return `${column}${collation} ${compare} ${value(to)}`
}

/** By containment where that says it, as it has an index. JSON's null is null. */
function attributeSql(
  condition: Extract<Condition<DecidedPlace>, { attribute: readonly string[] }>,
  value: (v: unknown) => string,
): string {
  const { attribute } = condition
  const path = () => `${value(attribute)}::text[]`
  const text = () => `(attributes #>> ${path()})`
  if ('isNull' in condition) return `${text()} IS ${condition.isNull ? '' : 'NOT '}NULL`
  if ('oneOf' in condition) {
    const contains = condition.oneOf.map((each) => {
      const object = attribute.reduceRight<unknown>((inner, name) => ({ [name]: inner }), each)
      return `attributes @> ${value(JSON.stringify(object))}::jsonb`
    })
    return condition.not
      ? `(${text()} IS NOT NULL AND NOT (${contains.join(' OR ')}))`
      : `(${contains.join(' OR ')})`
  }
  const type = `jsonb_typeof(attributes #> ${path()})`
  if ('like' in condition)
    return `CASE WHEN ${type} = 'string' THEN ${text()} END ${condition.not ? 'NOT ' : ''}LIKE ${value(condition.like)}`
  const { compare, to } = condition
  const isNumber = `${type} = 'number' OR ${text()} ~ '^-?[0-9]{1,78}$'`
  return `CASE WHEN ${isNumber} THEN ${text()}::numeric END ${compare} ${value(String(to))}::numeric`
}
