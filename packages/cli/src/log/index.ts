// SPDX-License-Identifier: MIT
import { UsageError } from '../exit'
import { parsed } from '../inputs'
import { readAnswer } from '../land'
import type { Session } from '../session'
import { MAX_BYTES, contentOf, request } from './download'
import { monitor, type MonitorFlags } from './monitor'

/** Implements `geo log`: the transparency log of the service. */

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

/** Prints the proof of an answer or of a leaf (c2sp.org/tlog-proof). */
async function proof(session: Session<MonitorFlags>, target: string | undefined): Promise<void> {
  const { geo, signal } = session
  if (target === undefined)
    throw new UsageError('geo log proof: name the file of an answer, or a leaf in hex.')
  const leaf = /^[0-9a-f]{64}$/.test(target) ? target : await leafOf(session, target)
  const { apiError } = await import('@geospatial-attestation/client')
  const { response, text } = await request(`${geo.url}/log/v0/proof/${leaf}`, signal, async (response) => {
    const content = await contentOf(response, MAX_BYTES.text)
    if (!content) throw new Error(`the response has more than ${MAX_BYTES.text} bytes`)
    return { response, text: new TextDecoder().decode(content) }
  })
  if (!response.ok) {
    throw apiError(
      response.status,
      // A reverse proxy may respond with a page instead of JSON.
      parsed(text),
      Number(response.headers.get('retry-after') ?? 0) || undefined,
    )
  }
  for (const line of text.trimEnd().split('\n')) session.print(line)
}

async function leafOf(session: Session<MonitorFlags>, file: string): Promise<string> {
  const answer = (await readAnswer(session, file)) as { log?: { leaf: string } }
  if (answer.log === undefined)
    throw new UsageError(`'${file}' has no log: the service had no transparency log.`)
  return answer.log.leaf
}
