import { useEffect, useState } from 'preact/hooks'
import { reasonOf, say } from '../messages'
import type { Full } from './full'
import type { Check } from './verify'

const NAMES = ['content', 'chain', 'standing'] as const
type Name = (typeof NAMES)[number]

/** Three checks that this page performs itself, so that the user need not trust the service. */
export function Checks({ record, details }: Full) {
  const [checks, setChecks] = useState<Partial<Record<Name, Check>>>({})
  const [round, setRound] = useState(0)
  useEffect(() => {
    let left = false
    setChecks({})
    const show = (name: Name, check: Check) => left || setChecks((before) => ({ ...before, [name]: check }))
    void runChecks({ record, details }, show)
    return () => void (left = true)
    // A result is only about the content that was checked.
  }, [JSON.stringify({ record, details }), round])
  return (
    <section aria-label={say.checks.title}>
      <h3>{say.checks.title}</h3>
      <ul class="checks">
        {NAMES.map((name) => (
          <li key={name} data-check={checks[name]?.state ?? 'waiting'} data-name={name}>
            {checks[name]?.sentence ?? say.checks.waiting[name]}
          </li>
        ))}
      </ul>
      {checks.chain?.state === 'unknown' && (
        <button type="button" onClick={() => setRound(round + 1)}>
          {say.failures.retry}
        </button>
      )}
    </section>
  )
}

async function runChecks(full: Full, show: (name: Name, check: Check) => void): Promise<void> {
  const failed = (error: unknown): Check => ({
    ...{ state: 'unknown', sentence: say.checks.failed(reasonOf(error)) },
  })
  try {
    const { checkChain, checkContent, checkStanding, readChain } = await import('./verify')
    show('content', await checkContent(full).catch(failed))
    try {
      const reading = await readChain(full.record)
      show('chain', checkChain(full.record.uid, reading))
      show('standing', checkStanding(reading, Date.now()))
    } catch (error) {
      show('chain', { state: 'unknown', sentence: say.checks.unread(reasonOf(error)) })
      show('standing', { state: 'unknown', sentence: say.checks.unknownStanding })
    }
  } catch (error) {
    for (const name of NAMES) show(name, failed(error))
  }
}
