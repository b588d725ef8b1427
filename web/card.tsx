import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import { useFocus } from './focus'
import './sheet/sheet.css'

/** Panel over the map, which Escape or its button closes. Its title gets the focus as `useFocus` states. */
export function Card({
  name,
  title = name,
  heading: Heading = 'h2',
  kind,
  isBusy,
  opener,
  keys,
  close,
  onClose,
  children,
}: {
  /** accessible name */
  name: string
  title?: ComponentChildren
  heading?: 'h1' | 'h2'
  /** class in addition to `card` */
  kind?: string
  isBusy?: boolean
  /** element that had the focus when the card was opened */
  opener: Element | null
  keys?: readonly string[]
  /** label of the button */
  close: string
  onClose: () => void
  children: ComponentChildren
}) {
  const head = useRef<HTMLHeadingElement>(null)
  useFocus(head, opener, keys)
  return (
    <aside
      class={kind ? `card ${kind}` : 'card'}
      aria-label={name}
      aria-busy={isBusy}
      onKeyDown={({ key }) => key === 'Escape' && onClose()}
    >
      <div class="card-head">
        <Heading ref={head} tabIndex={-1}>
          {title}
        </Heading>
        <button type="button" aria-label={close} onClick={onClose}>
          ✕
        </button>
      </div>
      {children}
    </aside>
  )
}
