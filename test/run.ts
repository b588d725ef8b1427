import { randomInt } from 'node:crypto'
import { createTemplate, removeLeftovers } from './database'

/**
 * Global set-up of a vitest run with service tests: removes what interrupted runs left behind, and makes the
 * migrated database that createMigratedDatabase copies. Workers inherit TEST_RUN and TEST_TEMPLATE.
 */
export default async function setup(): Promise<(() => Promise<void>) | undefined> {
  // vitest calls this once per project; only the first call does the work.
  if (process.env.TEST_RUN) return undefined
  process.env.TEST_RUN = String(randomInt(1, 2 ** 31))
  const unlock = await removeLeftovers()
  const { template, drop } = await createTemplate()
  process.env.TEST_TEMPLATE = template
  return async () => {
    await drop()
    await unlock()
  }
}
