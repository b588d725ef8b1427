import { useState } from 'preact/hooks'

/** Copies a text, and confirms it. */
export function CopyButton({ text, what }: { text: string; what: string }) {
  const [state, setState] = useState<'' | 'Copied' | 'Not copied'>('')
  const copy = async () => {
    setState((await copied(text)) ? 'Copied' : 'Not copied')
    setTimeout(() => setState(''), 2_000)
  }
  return (
    <button type="button" class="copy" aria-label={`Copy ${what}`} onClick={() => void copy()}>
      <span aria-live="polite">{state || 'Copy'}</span>
    </button>
  )
}

async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    // Pages of plain http have no clipboard, but may copy a selection.
    const field = document.createElement('textarea')
    field.value = text
    document.body.append(field)
    field.select()
    const done = document.execCommand('copy')
    field.remove()
    return done
  }
}
