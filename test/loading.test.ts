import path from 'node:path'
import { InvalidInputError, UnavailableError } from '@geospatial-attestation/client'
import { expect, test, vi } from 'vitest'

/** The module, and its types without those of browsers, which this project does not have. */
const LOADING = path.resolve('web/loading.ts')
interface Loading {
  failureOf: (error: unknown, tries: number) => { text: string; retryIn: number | undefined }
}

test('pages repeat a 503 only if a retry can succeed, and show the remedy otherwise', async () => {
  // Modules of pages read their address and language when they are loaded.
  vi.stubGlobal('location', new URL('http://127.0.0.1/'))
  vi.stubGlobal('navigator', { languages: ['en'] })
  vi.stubGlobal('document', { documentElement: {} })
  const { failureOf } = (await import(LOADING)) as Loading
  vi.unstubAllGlobals()
  const refused = { status: 503, title: 'Query too expensive', detail: 'Narrower.' }
  expect(failureOf(new InvalidInputError(refused), 0)).toEqual({
    text: 'Query too expensive: Narrower.',
    retryIn: undefined,
  })
  expect(failureOf(new UnavailableError({ ...refused, retryAfter: 5 }), 0)).toHaveProperty('retryIn', 5)
})
