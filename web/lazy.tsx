import type { ComponentType, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { say } from './messages'

/** A component whose code is loaded when it is first shown. A notice is shown until then. */
export function lazy<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): (props: Props) => JSX.Element {
  let Loaded: ComponentType<Props> | undefined
  return function Lazy(props) {
    const [state, setState] = useState<'loading' | 'loaded' | 'failed'>(Loaded ? 'loaded' : 'loading')
    useEffect(() => {
      if (Loaded) return
      load().then(
        (component) => {
          Loaded = component
          setState('loaded')
        },
        () => setState('failed'),
      )
    }, [])
    if (Loaded) return <Loaded {...props} />
    return state === 'failed' ? (
      <p class="waiting" role="alert">
        {say.site.notLoaded}
      </p>
    ) : (
      <p class="waiting">{say.site.loading}</p>
    )
  }
}
