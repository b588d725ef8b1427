import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { runCommands } from '../dev/quorum-commands'

test('commands stop and start operators in their order, and report anything else', async () => {
  const done: string[] = []
  const operators = [0, 1].map((index) => ({
    isRunning: true,
    async start() {
      if (index === 0) throw new Error('its port is in use')
      done.push(`start ${index}`)
      this.isRunning = true
    },
    async stop() {
      done.push(`stop ${index}`)
      this.isRunning = false
    },
    ready: async () => void done.push(`ready ${index}`),
  }))
  const lines = ['stop 1', '', ' stop  1 ', 'start 1', 'start 1', 'stop 0', 'start 0', 'stop 2', 'restart 1']
  const printed: string[] = []
  await runCommands(Readable.from(lines.map((line) => `${line}\n`)), operators, (text) => printed.push(text))
  expect(done).toEqual(['stop 1', 'start 1', 'ready 1', 'stop 0'])
  expect(printed).toEqual([
    'Operator 1 is stopped.',
    'Operator 1 is already stopped.',
    'Operator 1 is running.',
    'Operator 1 is already running.',
    'Operator 0 is stopped.',
    'Could not start operator 0: its port is in use',
    "Unknown command 'stop 2'. Commands: stop N, start N. N is an operator, 0 to 1.",
    "Unknown command 'restart 1'. Commands: stop N, start N. N is an operator, 0 to 1.",
  ])
})
