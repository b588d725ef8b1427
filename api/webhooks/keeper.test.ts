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

test('a changed subscription gets no dead letter that was noted before the change', async () => {
  const written: unknown[] = []
  const webhooks = {
    keep: async (_holder: string, progress: readonly { version: string }[], dead: readonly DeadLetter[]) => {
      written.push([progress.map(({ version }) => version), dead])
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
  const [before, after] = [heldOf('1'), heldOf('2')]
  keeper.note(before, LETTER)
  // Another process changed the subscription, for example by a replay, so it was read again.
  keeper.forget(before)
  keeper.note(after)
  await keeper.keep()
  expect(written).toEqual([[['2'], []]])
})
