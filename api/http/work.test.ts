import { expect, test } from 'vitest'
import { RecordsError, UnavailableError } from './problems'
import { joined } from './work'

const own = () => Promise.resolve('own')

test("does not apply another client's limit to a client that joins its work", async () => {
  expect(await joined(Promise.resolve('shared'), own)).toBe('shared')
  expect(await joined(Promise.reject(new RecordsError('rate-limited', 'x')), own)).toBe('own')
  await expect(joined(Promise.reject(new UnavailableError('x')), own)).rejects.toThrow(UnavailableError)
})
