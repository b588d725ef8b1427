// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { apiError, isOfRequest } from './errors'

const type = (slug: string) => `https://geo.example.org/errors/${slug}`

test.each([
  [400, { type: type('invalid-input'), title: 'Invalid Input', detail: 'x' }, 'InvalidInputError'],
  [413, { type: type('invalid-input'), title: 'Invalid Input', detail: 'x' }, 'InvalidInputError'],
  [401, { type: type('verification-failed'), title: 'Verification Failed' }, 'VerificationFailedError'],
  [404, { type: 'about:blank', title: 'Not Found', status: 404 }, 'InvalidInputError'],
  [404, { status: 'error', message: 'Location record not found' }, 'AttestationNotFoundError'],
  [405, { status: 'error', message: 'Method not allowed' }, 'InvalidInputError'],
  [400, { errors: [{ message: 'Cannot query field "x".' }] }, 'InvalidInputError'],
  [503, { status: 'error', message: 'Query too expensive' }, 'InvalidInputError'],
])('an error of the service is of the request: %i %j', (status, body, name) => {
  const error = apiError(status, body)
  expect([error.name, isOfRequest(error), error.retryable]).toEqual([name, true, false])
})

test.each([
  [401, '<html>Log in</html>'],
  [403, { message: 'Forbidden' }],
  [403, { type: 'about:blank', title: 'Forbidden', status: 403 }],
  [404, { type: 'https://gateway.example.org/no-route', title: 'No route' }],
  [408, {}],
  [451, undefined],
  [500, '<html>Internal Server Error</html>'],
])('an error of another server is not of the request: %i %j', (status, body) => {
  const error = apiError(status, body)
  expect([error.name, error.status, isOfRequest(error)]).toEqual(['ApiError', status, false])
})

test.each([
  [429, 'RateLimitedError'],
  [503, 'UnavailableError'],
])('an error of another server that may pass is retryable: %i', (status, name) => {
  expect(apiError(status, '<html>')).toMatchObject({ name, retryable: true })
})
