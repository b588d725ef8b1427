import { useEffect } from 'preact/hooks'
import { askBeforeReplacing, type Page } from '../location'
import { say } from '../messages'

/** Asks before the page is left, or another address fills its form, as long as that would lose content. */
export function useUnsaved(page: Page, isUnsaved: boolean): void {
  useEffect(() => {
    if (!isUnsaved) return
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', ask)
    askBeforeReplacing(page, say.place.replace)
    return () => {
      removeEventListener('beforeunload', ask)
      askBeforeReplacing(page, undefined)
    }
  }, [isUnsaved])
}
