import { useEffect } from 'preact/hooks'
import { askBeforeLosing, type Page } from '../location'
import { say } from '../messages'

/** Asks before the page is left, or its form is removed or filled again, while that would lose content. */
export function useUnsaved(page: Page, isUnsaved: boolean): void {
  useEffect(() => {
    if (!isUnsaved) return
    const ask = (event: BeforeUnloadEvent) => {
      event.preventDefault()
      // Chrome and Edge before version 119 ignore preventDefault().
      event.returnValue = true
    }
    addEventListener('beforeunload', ask)
    askBeforeLosing(page, say.place.lose)
    return () => {
      removeEventListener('beforeunload', ask)
      askBeforeLosing(page, undefined)
    }
  }, [isUnsaved])
}
