import { expect, test } from 'vitest'
import { encodeBooleanResult } from '../eas'
import { LATEST_SECOND } from '../location'
import { readAnswer } from '.'

test('an answer can have any time up to the last second of year 9999', () => {
  const read = (timestamp: number) =>
    readAnswer(encodeBooleanResult(true, { inputRefs: [], timestamp, operation: 'contains' }))
  expect(read(LATEST_SECOND)).toMatchObject({ claims: { result: true, timestamp: LATEST_SECOND } })
  expect(read(LATEST_SECOND + 1)).toBeUndefined()
})
