import { expect, test } from 'vitest'
import { sessionName } from './connection'

test('the name of a session identifies its writer within the 63 bytes that Postgres keeps', () => {
  for (const slug of ['celo', 'c'.repeat(35), 'c'.repeat(40)]) {
    const names = ['a', 'b'].map((writer) => sessionName({ slug }, writer).slice(0, 63))
    expect(new Set(names).size).toBe(2)
    expect(names).toEqual(['a', 'b'].map((writer) => sessionName({ slug }, writer)))
  }
})
