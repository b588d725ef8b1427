import { expect, test } from 'vitest'
import { OutsideSigner, type Device } from './outside'

/** Queue of a signer outside this process, whose signatures end when the test ends them. */

test(
  'an external signer serves clients alternately, and refuses a client whose queue is full',
  { tags: ['slow'] },
  async () => {
    const started: { digest: string; fail: () => void }[] = []
    const device: Device = {
      parallel: 2,
      sign: (digest) =>
        new Promise((_, reject) => started.push({ digest, fail: () => reject(new Error('ended')) })),
    }
    const signer = new OutsideSigner(`0x${'1'.repeat(40)}`, device, { timeoutMs: 60_000 })
    const outcomes: Promise<Error>[] = []
    const ask = (client: string, count: number) => {
      for (let i = 0; i < count; i++)
        outcomes.push(
          signer
            .sign(`${client} ${i}`, () => expect.fail('not needed'), client)
            .catch((error: Error) => error) as Promise<Error>,
        )
    }
    ask('hostile', 2 + 64 + 1)
    expect(await outcomes.at(-1)).toMatchObject({ slug: 'rate-limited', retryAfter: 5 })
    ask('victim', 3)
    expect(started.map(({ digest }) => digest)).toEqual(['hostile 0', 'hostile 1'])
    for (let i = 0; i < 6; i++) {
      started[i]!.fail()
      await expect.poll(() => started.length).toBe(3 + i)
    }
    expect(started.slice(2).map(({ digest }) => digest)).toEqual([
      ...['victim 0', 'hostile 2', 'victim 1', 'hostile 3', 'victim 2', 'hostile 4'],
    ])
    let ended = 6
    const rest = () => {
      for (; ended < started.length; ended++) started[ended]!.fail()
      return started.length
    }
    await expect.poll(rest).toBe(2 + 64 + 3)
    for (const outcome of await Promise.all(outcomes)) expect(outcome).toBeInstanceOf(Error)
  },
)
