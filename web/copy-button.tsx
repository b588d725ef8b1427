import { useState } from 'preact/hooks'
import { say } from './messages'

/** Copies a text, and confirms it. */
export function CopyButton({ text, what }: { text: string; what: string }) {
  const [state, setState] = useState('')
  const copy = async () => {
    setState((await copyText(text)) ? say.copy.done : say.copy.failed)
    setTimeout(() => setState(''), 2_000)
  }
  return (
    <button type="button" class="copy" aria-label={say.copy.name(what)} onClick={() => void copy()}>
      <span aria-live="polite">{state || say.copy.action}</span>
    </button>
  )
}

/** Copies a text to the clipboard; false if the browser did not allow it. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    // Pages over plain HTTP cannot use the clipboard API, but can copy a selection.
    const { activeElement } = document
    const field = document.createElement('textarea')
    field.value = text
    document.body.append(field)
    field.select()
    const done = document.execCommand('copy')
    field.remove()
    if (activeElement instanceof HTMLElement) activeElement.focus({ preventScroll: true })
    return done
  }
}
