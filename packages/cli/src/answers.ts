// SPDX-License-Identifier: MIT
import type { AnswerFilters, LandedAnswer } from '@geospatial-attestation/client'
import { UNITS, type UnitName } from '../../../src/operations/table'
import { grouped, TABLE_ROWS, time } from './output'
import type { Session } from './session'

interface AnswerFlags {
  attestedBy?: string
  recipient?: string
  operation?: string
  input?: string
  revoked?: 'true' | 'false'
  fromTimestamp?: string
  toTimestamp?: string
  limit?: number
}

export async function answers({
  options,
  geo,
  signal,
  printTable,
  printJson,
  note,
}: Session<AnswerFlags>): Promise<void> {
  const { chain, recipient, operation, input, revoked, fromTimestamp, toTimestamp } = options
  const given = {
    ...{ chain, attester: options.attestedBy, recipient, operation, input, fromTimestamp, toTimestamp },
    revoked: revoked === undefined ? undefined : revoked === 'true',
  }
  const filters: AnswerFilters = Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  )
  const rows = options.limit ?? (options.json ? Infinity : TABLE_ROWS)
  const found: LandedAnswer[] = []
  // One extra answer shows whether there are more.
  for await (const each of geo.answers.list({ ...filters, limit: rows + 1, signal })) found.push(each)
  const shown = found.slice(0, rows)
  if (options.json) return printJson(shown)
  if (shown.length === 0) return note('No matching answers.')
  printTable(
    [
      ['UID', 'CHAIN', 'LANDED', 'OPERATION', 'RESULT', 'RECIPIENT'],
      ...shown.map((each) => [
        ...[each.uid, each.chain, time(each.timestamp), each.operation],
        `${each.revoked ? '(revoked) ' : ''}${resultOf(each)}`,
        /^0x0+$/.test(each.recipient) ? '' : each.recipient,
      ]),
    ],
    [4],
  )
  if (found.length > rows)
    note(`The first ${grouped(rows)} are shown. --limit shows more, --json writes all.`)
}

function resultOf({ result, units }: LandedAnswer): string {
  return typeof result === 'boolean' ? String(result) : `${result} ${UNITS[units as UnitName].symbol}`
}
