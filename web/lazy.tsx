import type { ComponentType, JSX } from 'preact'
import { useLoaded } from './loading'
import { say } from './messages'

/** Milliseconds after which a style sheet that could not be loaded is requested again, doubled each time. */
const RETRY_MS = 2_000

/**
 * A component whose code is loaded when it is first shown. A notice is shown until then. A failure is
 * retried, because other parts of the page may wait for this one. Some browsers store it until a reload.
 */
export function lazy<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): (props: Props) => JSX.Element {
  let Loaded: ComponentType<Props> | undefined
  return function Lazy(props) {
    const { failure } = useLoaded(Loaded ? undefined : 'code', async () => (Loaded = await load()))
    if (Loaded) return <Loaded {...props} />
    return failure ? (
      <p class="waiting" role="alert">
        {say.site.notLoaded}
      </p>
    ) : (
      <p class="waiting">{say.site.loading}</p>
    )
  }
}

// Vite adds the link of a style sheet only once, also if the code that needs it is loaded again.
addEventListener(
  'error',
  ({ target: link }) => {
    if (!(link instanceof HTMLLinkElement) || link.rel !== 'stylesheet') return
    const pause = Number(link.dataset.pause ?? RETRY_MS)
    link.dataset.pause = String(2 * pause)
    setTimeout(() => link.replaceWith(link.cloneNode()), pause)
  },
  true,
)
