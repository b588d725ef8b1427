import type { AnswerFields } from '../../src/answer'
import { type Html, html, joined } from '../http/html'
import { anchor, definitions, type Page, page, type Trail } from '../http/pages'
import { addressWith, type PageAddresses } from '../http/paging'
import type { GivenQuery } from '../http/parameters'
import {
  attestedListPage,
  attestedRow,
  cell,
  conditionsInWords,
  either,
  REVOKED,
  revokedNote,
  shortened,
  shortHex,
} from '../pages'
import { NEWEST_FIRST } from '../store'
import type { AnswerFilter } from './sql'

/** Answer as in JSON. */
export type LandedAnswer = Record<string, unknown> &
  Omit<AnswerFields, 'computed_at' | 'timestamp'> & { timestamp: string }

interface ListPage {
  answers: readonly LandedAnswer[]
  query: AnswerFilter & { ascending?: boolean }
  limit: number
  given: GivenQuery
  addresses: PageAddresses
}

/** @param url address of the list, without its query */
export function answersPage(
  { answers, query, limit, given, addresses }: ListPage,
  url: string,
  trail: Trail,
): Page {
  const conditions = conditionsOf(query)
  const count = answers.length
  const which = [
    count === 0 ? 'No' : count.toLocaleString('en'),
    ...(conditions.length ? ['matching'] : []),
    count === 1 ? 'answer' : 'answers',
  ]
  return attestedListPage(
    {
      ...{ title: 'Answers', name: 'answers', limit, given, addresses, conditions },
      which: which.join(' '),
      sort: { by: NEWEST_FIRST.by, descending: !query.ascending },
      columns: ['Question', 'Answer', 'About'],
      rows: answers.map((answer) => tableRow(answer, url, given)),
      formats: { page: { json: 'JSON', csv: 'CSV' }, all: { ndjson: 'NDJSON', csv: 'CSV' } },
    },
    url,
    trail,
  )
}

/** Page of one answer. @param url address of the list, without its query */
export function answerPage(answer: LandedAnswer, url: string, trail: Trail): Page {
  const { uid, chain, operation, revoked } = answer
  const json = addressWith(`${url}/${uid}`, { chain }, { format: 'json' })
  return page(
    `${shortened(operation)} is ${resultOf(answer)}`,
    trail,
    html`${revoked && revokedNote('answer')}${definitions(answer)}<p>${anchor(json, 'This answer as JSON')}.</p>`,
  )
}

function tableRow(answer: LandedAnswer, url: string, given: GivenQuery): Html {
  const { attester, operation, input_refs, revoked } = answer
  const cells = [
    cell('', html`<bdi>${shortened(operation)}</bdi>${revoked && REVOKED}`),
    cell('is', html`${resultOf(answer)}`),
    cell('about', joined(input_refs.map(shortHex), ', ')),
  ]
  return attestedRow({ ...answer, by: attester }, cells, url, given)
}

function resultOf({ result, units }: LandedAnswer): string {
  return units === null ? String(result) : `${result} ${units.replaceAll('_', ' ')}`
}

/** Describes the filters in phrases for the page's summary. */
function conditionsOf({ attester, recipient, operation, input, ...filter }: AnswerFilter): string[] {
  return conditionsInWords({ ...filter, prover: attester, subject: recipient }, [
    ...(operation === undefined ? [] : [`of the operation ${either(operation)}`]),
    ...(input === undefined ? [] : [`about the input ${either(input)}`]),
  ])
}
