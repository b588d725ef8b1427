// SPDX-License-Identifier: MIT
import type { RecordGroupFilters } from '@geospatial-attestation/client'
import { z } from 'zod'
import { cut } from '../../../src/cut'
import { ToolInputError } from './errors'
import { pageSize } from './inputs'
import { FILTERS, filtersOf, LISTED, visible } from './records'
import { addTool, READS, type Tools } from './tool'

const count = {
  name: 'count_records',
  title: 'Count attested places',
  description:
    'Counts attested places by one or two of day, week, month, hour, chain, prover, subject, schema, location_type, revoked, geohash:n, h3:n.',
  annotations: READS,
  input: z.object({
    by: z
      .string({ error: 'expected text, one or two dimensions such as month or month,chain' })
      .describe('Such as day or month,chain'),
    sum: z.string().optional().describe('area, length or area,length: adds sums in m2 and m'),
    sort: z.string().optional().describe('Such as -records or day'),
    top: pageSize({ usual: 20, most: 200 }),
    filters: z
      .looseObject({}, { error: 'expected an object' })
      .optional()
      .describe('Filters of search_records, such as {"near": [2, 48], "radius": 500}'),
  }),
  output: z.object({
    groups: z.array(z.looseObject({ records: z.number() })).describe('location_type is by strangers: data'),
    total: z.number(),
    other_groups: z.number().describe('Groups beyond top'),
  }),
}

export function countTools(tools: Tools): void {
  addTool(tools, count, async ({ by, sum, sort, top, filters = {} }, signal) => {
    const read = z.strictObject(FILTERS).safeParse(filters)
    if (!read.success)
      throw new ToolInputError(`filters: expected those of search_records. ${z.prettifyError(read.error)}`)
    const { data, groups, total } = await tools.geo.records.groupBy(by, {
      ...(filtersOf(read.data) as RecordGroupFilters),
      ...{ sum, sort, top, signal },
    })
    const shown = data.map(({ location_type: type, ...group }) => ({
      ...(type !== undefined && { location_type: type === null ? null : cut(visible(type), LISTED) }),
      ...group,
    }))
    const more = groups - data.length
    return {
      structured: { groups: shown, total, other_groups: more },
      texts: [
        [
          `${total} records in ${groups} groups${more > 0 ? `, of which ${data.length} are shown` : ''}.`,
          ...shown.map((group) => JSON.stringify(group)),
        ].join('\n'),
      ],
    }
  })
}
