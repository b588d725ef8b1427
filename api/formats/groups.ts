import { Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import { checksumAddress } from '../../src/eas'
import type { Schema } from '../http/openapi-components'
import { objectOf } from '../http/schema'
import {
  MAX_GROUPS,
  SUMS,
  type Dimension,
  type Group,
  type GroupBy,
  type GroupQuery,
  type Groups,
  type Measures,
  type SumName,
} from '../store'
import { csvFile, withMark } from './formats'

/** Statistics by group in JSON and CSV. */

type Dimensions = Readonly<Record<string, Dimension>>
/** Names of the sums in responses, and of the numbers of records that they leave out. */
const SUM_FIELDS = { area: 'area_square_meters', length: 'length_meters' } as const
const WITHOUT_FIELDS = { area: 'records_without_area', length: 'records_without_length' } as const

/** Writes a whole number of hundredths or ten-thousandths as an exact decimal. */
function decimal(value: bigint, decimals: number): string {
  const digits = String(value).padStart(decimals + 1, '0')
  const fraction = digits.slice(-decimals).replace(/0+$/, '')
  return digits.slice(0, -decimals) + (fraction && `.${fraction}`)
}

const shownKey = ({ dimension }: GroupBy, key: string | boolean | null) =>
  dimension.isAddress && typeof key === 'string' ? checksumAddress(key) : key

/**
 * Writes groups as JSON. Sums are exact decimals, which may have more digits than a double.
 * @param sumOf writes a sum: as a number, or as text for readers that would round it
 */
export function groupsJson(
  { shown, groups, total }: Groups,
  { by, sums }: GroupQuery,
  sumOf = (number: string) => number,
): string {
  const measures = ({ records, sums: values, without }: Measures, name = 'records') =>
    [
      `"${name}":${records}`,
      ...sums.map(
        (sum, i) =>
          `"${SUM_FIELDS[sum]}":${sumOf(decimal(values[i]!, SUMS[sum].decimals))},"${WITHOUT_FIELDS[sum]}":${without[i]!}`,
      ),
    ].join()
  const data = shown.map(
    ({ keys, ...group }) =>
      `{${by.map((each, i) => `"${each.name}":${JSON.stringify(shownKey(each, keys[i]!))},`).join('')}${measures(group)}}`,
  )
  const more = groups - shown.length
  const rest: Measures = {
    records: shown.reduce((left, { records }) => left - records, total.records),
    sums: total.sums.map((sum, i) => shown.reduce((left, group) => left - group.sums[i]!, sum)),
    without: total.without.map((all, i) => shown.reduce((left, group) => left - group.without[i]!, all)),
  }
  return `{"data":[${data.join()}],"groups":${groups},"rest":${more === 0 ? 'null' : `{"groups":${more},${measures(rest)}}`},${measures(total, 'total')}}`
}

/** Sends groups as JSON or CSV. @param what the grouped things, which name the file */
export function sendGroups(
  reply: FastifyReply,
  groups: Groups,
  query: GroupQuery & { format: 'json' | 'csv'; bom: boolean },
  what: string,
): FastifyReply {
  if (query.format === 'json')
    return reply.type('application/json; charset=utf-8').send(groupsJson(groups, query))
  const { by, sums } = query
  const columns = [
    ...by.map(({ name }) => name),
    'records',
    ...sums.flatMap((name) => [SUM_FIELDS[name], WITHOUT_FIELDS[name]]),
  ]
  const csv = csvFile(`${what}-groups`, columns, (rows: readonly Group[]) =>
    rows.map(({ keys, records, sums: values, without }) => ({
      ...Object.fromEntries(by.map((each, i) => [each.name, shownKey(each, keys[i]!)])),
      records,
      ...Object.fromEntries(
        sums.flatMap((name, i): [string, string | number][] => [
          [SUM_FIELDS[name], decimal(values[i]!, SUMS[name].decimals)],
          [WITHOUT_FIELDS[name], without[i]!],
        ]),
      ),
    })),
  )
  const { type, file, head, write } = query.bom ? withMark(csv) : csv
  return reply
    .type(type)
    .header('content-disposition', file)
    .send(head + write(groups.shown))
}

/** OpenAPI schema of groups. @param what the grouped things, such as `records` */
export function groupsSchema(dimensions: Dimensions, what: string): Schema {
  const records = Type.Integer({ description: `Number of ${what}.`, minimum: 0 })
  const sums = Object.fromEntries(
    (Object.keys(SUMS) as SumName[]).flatMap((name): [string, Schema][] => [
      [
        SUM_FIELDS[name],
        Type.Optional(
          Type.Number({
            description: `Sum of the ${name}s, with \`sum=${name}\`. An exact decimal, which may have more digits than a double.`,
            minimum: 0,
          }),
        ),
      ],
      [
        WITHOUT_FIELDS[name],
        Type.Optional(
          Type.Integer({
            description: `Number of ${what} without ${name === 'area' ? 'an area' : 'a length'}, which the sum leaves out.`,
            minimum: 0,
          }),
        ),
      ],
    ]),
  )
  const keys = Object.fromEntries(
    Object.entries(dimensions).map(([name, { description, type }]) => [
      name,
      Type.Optional(Type.Unsafe({ type: [type === 'boolean' ? 'boolean' : 'string', 'null'], description })),
    ]),
  )
  const groups = Type.Integer({ description: 'Number of groups.', minimum: 0 })
  const rest = objectOf('Groups beyond `top`, together; null if there are none.', {
    groups,
    records,
    ...sums,
  })
  return objectOf(`Counts of ${what} by group.`, {
    data: Type.Array(objectOf('A group: its dimensions, and its counts.', { ...keys, records, ...sums }), {
      description: 'The first groups.',
      maxItems: MAX_GROUPS,
    }),
    groups,
    rest: Type.Unsafe({ oneOf: [rest, { type: 'null' }] }),
    total: Type.Integer({ description: `Number of ${what} in all groups.`, minimum: 0 }),
    ...sums,
  })
}
