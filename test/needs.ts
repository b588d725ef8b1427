import { describe, test } from 'vitest'
import { CHROMIUM } from '../dev/chromium'

/**
 * Returns `test` and `describe` for tests that need other packages, named as in Debian. If packages are
 * missing, both skip, and append their names to the name of the test or suite.
 */
export function needing(missing: readonly string[]) {
  const isSkipped = missing.length > 0
  const suffix = isSkipped ? ` (needs ${missing.join(', ')})` : ''
  return {
    test: named(test.skipIf(isSkipped), suffix),
    describe: named(describe.skipIf(isSkipped), suffix),
  }
}

type Define = ((name: string, ...rest: never[]) => unknown) & {
  each: (cases: never) => (name: string, ...rest: never[]) => unknown
}

/** The function that defines a test or a suite, which appends a suffix to its name. */
function named<D extends Define>(define: D, suffix: string): D {
  if (!suffix) return define
  return Object.assign((name: string, ...rest: never[]) => define(name + suffix, ...rest), {
    each: (cases: never) => {
      const defineEach = define.each(cases)
      return (name: string, ...rest: never[]) => defineEach(name + suffix, ...rest)
    },
  }) as unknown as D
}

export const withChromium = needing(CHROMIUM ? [] : ['chromium'])
export const withPostgres = needing(process.env.TEST_DATABASE_URL ? [] : ['postgresql-15-postgis-3'])
export const withRedis = needing(process.env.TEST_REDIS_URL ? [] : ['redis-server'])
