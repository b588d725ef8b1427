// SPDX-License-Identifier: MIT
import type { Answer, BatchAnswer, LogClaim, QuorumAnswer } from '@geospatial-attestation/client'
import { UsageError } from '../exit'
import { parsed } from '../inputs'
import { readAnswer } from '../land'
import type { Session } from '../session'
import { MAX_BYTES, contentOf, request } from './download'
import { monitor, type MonitorFlags } from './monitor'

export async function log(
  session: Session<MonitorFlags>,
  action: 'monitor' | 'proof',
  target?: string,
): Promise<number | void> {
  if (action === 'monitor') {
    if (target !== undefined) throw new UsageError('geo log monitor accepts no argument.')
    return monitor(session)
  }
  return proof(session, target)
}

interface Named {
  url: string
  leaf: string
}

/** Prints the proofs of an answer, a batch, an answer of a quorum, or a leaf (c2sp.org/tlog-proof). */
async function proof(session: Session<MonitorFlags>, target: string | undefined): Promise<void> {
  if (target === undefined)
    throw new UsageError('geo log proof: name the file of an answer, or a leaf in hex.')
  const { url } = session.geo
  const isLeaf = /^[0-9a-f]{64}$/.test(target)
  const entries = isLeaf ? [{ url, leaf: target }] : entriesOf(await readAnswer(session, target), url)
  if (entries.length === 0)
    throw new UsageError(
      `'${target}' names no entry of a transparency log. If the service has a log, geo verify reports the entry as missing.`,
    )
  const failures: unknown[] = []
  for (const entry of entries) {
    if (entries.length > 1) session.note(`${entry.url}: ${entry.leaf}`)
    // The operators of a quorum are independent: the log of one may be unreachable.
    await printProof(session, entry).catch((error: unknown) => {
      if (entries.length === 1 || session.signal.aborted) throw error
      session.note((error as Error).message)
      failures.push(error)
    })
  }
  if (failures.length > 0) throw failures[0]
}

async function printProof(session: Session<MonitorFlags>, { url, leaf }: Named): Promise<void> {
  const { signal } = session
  const { apiError, secondsIn } = await import('@geospatial-attestation/client')
  const { response, text } = await request(`${url}/log/v0/proof/${leaf}`, signal, async (response) => {
    const content = await contentOf(response, MAX_BYTES.text)
    if (!content) throw new Error(`the response has more than ${MAX_BYTES.text} bytes`)
    return { response, text: new TextDecoder().decode(content) }
  })
  if (!response.ok) {
    throw apiError(
      response.status,
      // A reverse proxy may respond with a page instead of JSON.
      parsed(text),
      secondsIn(response.headers.get('retry-after') ?? ''),
    )
  }
  for (const line of text.trimEnd().split('\n')) session.print(line)
}

function entriesOf(answer: Answer | BatchAnswer | QuorumAnswer, own: string): Named[] {
  const signed: readonly { url?: string; log?: LogClaim }[] =
    'signers' in answer ? (answer.operators ?? []) : 'results' in answer ? answer.results : [answer]
  return signed.flatMap(({ url = own, log }) => (log ? [{ url, leaf: log.leaf }] : []))
}
