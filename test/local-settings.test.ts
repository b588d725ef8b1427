import { expect, test } from 'vitest'
import { withoutPassword } from '../dev/local-settings'

test.each([
  ['postgres://postgres@127.0.0.1:5433/postgres', 'postgres://postgres@127.0.0.1:5433/postgres'],
  ['postgres://u:a@one:5432,two:5432/geo', 'postgres://u:***@one:5432,two:5432/geo'],
  ['postgres://u:a:b@h/geo', 'postgres://u:***@h/geo'],
  ['postgres://u:a/b@c@h/geo', 'postgres://u:***@h/geo'],
  ['postgres://u@h/geo?password=a:b&ssl=true', 'postgres://u@h/geo?password=***&ssl=true'],
])('the database URL %s is shown as %s', (url, shown) => {
  expect(withoutPassword(url)).toBe(shown)
})
