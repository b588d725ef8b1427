import type { LocationRecord } from '@geospatial-attestation/client'
import { usePages } from '../chains'
import { dayText } from '../explorer/words'
import { useLoaded } from '../loading'
import { locale, say } from '../messages'
import { geoOnce } from '../service'
import { Hex } from './raw'

const NOBODY = /^0x0*$/
const PERCENT = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 })

/** Summary of the attester: number of places, date of the first attestation, and share of revoked ones. */
export function Attester({ record, onMore }: { record: LocationRecord; onMore: () => void }) {
  const { prover, subject, chain } = record
  const pages = usePages(chain)
  const { data } = useLoaded(`attester ${prover}`, async (signal) => {
    const [groups, first] = await Promise.all([
      geoOnce.records.groupBy('revoked', { prover, signal }),
      geoOnce.records.page({ prover, sort: 'timestamp', limit: 1, signal }),
    ])
    const revoked = groups.data.find((group) => (group as { revoked?: boolean }).revoked === true)
    return { total: groups.total, revoked: revoked?.records ?? 0, first: first.data[0]?.timestamp }
  })
  const { attester } = say
  return (
    <section aria-label={attester.title} class="attester">
      <h3>{attester.title}</h3>
      <p>
        <Hex value={prover} what={say.raw.copied.attester} href={pages?.address(prover)} />
        {data && (
          <span class="soft">
            {attester.places(data.total)}
            {data.first !== undefined && `, ${attester.firstSeen(dayText(Date.parse(data.first)))}`}
            {`, ${attester.revokedShare(PERCENT.format(data.total ? data.revoked / data.total : 0))}`}
          </span>
        )}
      </p>
      <p>
        <button type="button" onClick={onMore}>
          {attester.more}
        </button>
      </p>
      {!NOBODY.test(subject) && (
        <p>
          {attester.recipient}{' '}
          <Hex value={subject} what={say.raw.copied.recipient} href={pages?.address(subject)} />
        </p>
      )}
    </section>
  )
}
