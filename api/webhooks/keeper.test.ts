import { expect, test } from 'vitest'
import type { Held } from './held'
import { Keeper } from './keeper'
import type { DeadLetter, WebhookStore } from './store'

const heldOf = (version: string) =>
  ({
    row: { id: 'one', version },
    state: { phase: 'waiting', position: undefined, items: [], trouble: undefined },
  }) as object as Held
const LETTER: DeadLetter = { subscription: 'one', message: 'msg', body: '', attempts: 1, error: '' }

/** Keeper whose writes end as given, and the versions and letters that it wrote. */
function keeperWith(ending: () => Promise<unknown> = async () => {}) {
  const written: unknown[] = []
  const webhooks = {
    keep: async (_holder: string, progress: readonly { version: string }[], dead: readonly DeadLetter[]) => {
      written.push([progress.map(({ version }) => version), dead])
      await ending()
      return new Set(['one'])
    },
  } as object as WebhookStore
  const keeper = new Keeper(
    webhooks,
    () => 'holder',
    () => 0,
    () => {},
    () => {},
  )
  return { keeper, written }
}

test('a changed subscription gets no dead letter that was noted before the change', async () => {
  const { keeper, written } = keeperWith()
  const [before, after] = [heldOf('1'), heldOf('2')]
  keeper.note(before, LETTER)
  // Another process changed the subscription, for example by a replay, so it was read again.
  keeper.forget(before)
  keeper.note(after)
  await keeper.keep()
  expect(written).toEqual([[['2'], []]])
})
test('a subscription that changes while a write fails gets no dead letter of the failed write', async () => {
  let reject!: (error: Error) => void
  const endings = [new Promise<void>((_, failed) => (reject = failed))]
  const { keeper, written } = keeperWith(async () => endings.shift())
  const [before, after] = [heldOf('1'), heldOf('2')]
  keeper.note(before, LETTER)
  const failed = expect(keeper.keep()).rejects.toThrow('lost')
  await expect.poll(() => written).toHaveLength(1)
  before.state = { ...before.state, phase: 'dropped' }
  keeper.forget(before)
  keeper.note(after)
  reject(new Error('lost'))
  await failed
  await keeper.keep()
  expect(written).toEqual([[['1'], [LETTER]], [['2'], []]]) // oxfmt-ignore
})
