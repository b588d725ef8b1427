import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

/** Other engines, by the paths of their executables, separated by colons: CI has the next Node there. */
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
  'other versions of Node answer the same, to the last bit (TEST_NODES names them)',
  () => {
    const ours = answers(process.execPath)
    expect(ours).toHaveLength(907 + 1)
    for (const node of others) expect(answers(node)).toEqual(ours)
  },
)
