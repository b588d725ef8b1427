import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

/** Paths of other Node executables, separated by colons. CI sets other versions of Node. */
const others = (process.env.TEST_NODES ?? '').split(':').filter(Boolean)

const answers = (node: string) => {
  const { stdout, stderr, status } = spawnSync(node, ['test/geodesy-answers.mjs'], {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  })
  expect([node, status, stderr]).toEqual([node, 0, ''])
  return stdout.split('\n')
}

test.skipIf(others.length === 0)(
  'other versions of Node return bit-identical results (TEST_NODES names them)',
  () => {
    const ours = answers(process.execPath)
    expect(ours).toHaveLength(1548 + 1)
    for (const node of others) expect(answers(node)).toEqual(ours)
  },
)
