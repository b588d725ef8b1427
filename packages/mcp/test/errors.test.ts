// SPDX-License-Identifier: MIT
import { ComputationError, UnavailableError } from '@geospatial-attestation/client'
import { expect, test } from 'vitest'
import { adviceOf } from '../src/errors'

test('the advice to call again is only for errors that pass', () => {
  const failed = { status: 500, title: 'Computation Error', detail: 'Large.' }
  expect(adviceOf(new ComputationError({ ...failed, retryAfter: 5 }))).toContain('Call again (in 5 s).')
  expect(adviceOf(new ComputationError(failed))).toBe('Computation Error: Large.')
  expect(adviceOf(new UnavailableError({ ...failed, status: 503 }))).toContain('Call again in a few seconds.')
})
