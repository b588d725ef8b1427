import type { RefObject } from 'preact'
import { useEffect, useLayoutEffect } from 'preact/hooks'

/** Returns true if the user types into this element, or chooses in it. */
export const isField = (element: Element | null): boolean =>
  Boolean(element?.closest('input, textarea, select, [contenteditable]'))

/** Part of the page that got the focus because the focused control is gone. */
let standIn: Element | undefined
const isLost = () => [document.body, standIn].includes(document.activeElement ?? document.body)

/**
 * Moves the focus to the closest part of the page that is left if the focused control is removed, hidden or
 * disabled, for example a button 'Retry now'. Browsers move it to the body, the top of the page for screen
 * readers.
 */
export function keepFocus(): void {
  let path: HTMLElement[] = []
  const note = () => {
    path = []
    for (let at = document.activeElement; at && at !== document.body; at = at.parentElement)
      if (at instanceof HTMLElement) path.push(at)
  }
  // A click on no control drops the focus, as the user intends.
  for (const event of ['focusin', 'click']) addEventListener(event, note, true)
  const restore = () => {
    const isLeft = path[0]?.checkVisibility() && !path[0].matches(':disabled')
    if (document.activeElement !== document.body || isLeft) return
    const part = path.find(
      (each) => each.matches('details, section, form, aside, nav, main') && each.checkVisibility(),
    )
    const target = part?.querySelector<HTMLElement>(':scope > summary') ?? part
    if (!target) return
    const isPlain = target.tabIndex < 0 && !target.hasAttribute('tabindex')
    if (isPlain) target.tabIndex = -1
    target.focus({ preventScroll: true })
    standIn = target
    const leave = () => {
      standIn = undefined
      if (isPlain) target.removeAttribute('tabindex')
    }
    target.addEventListener('blur', leave, { once: true })
  }
  // Browsers drop the focus of a hidden control only when they draw the page.
  const later = () => requestAnimationFrame(() => setTimeout(restore))
  const attributeFilter = ['hidden', 'class', 'open', 'disabled']
  new MutationObserver(later).observe(document.body, { subtree: true, childList: true, attributeFilter })
}

/**
 * Focuses an element when it is shown or a key changes, before the first paint, so that a key that is pressed
 * immediately applies to it. If its code was loaded late and the user has moved the focus away from `opener`,
 * the focus stays there. If the element is removed while it or an element next to it has the focus, `opener`
 * gets the focus back.
 */
export function useFocus(
  element: RefObject<HTMLElement | null>,
  opener: Element | null,
  keys: readonly string[] = [],
): void {
  useLayoutEffect(() => {
    if (document.activeElement === opener || isLost()) element.current?.focus()
  }, [...keys])
  useLayoutEffect(
    () => () =>
      queueMicrotask(() => {
        if (isLost() && opener instanceof HTMLElement) opener.focus()
      }),
    [],
  )
}

/** Focuses the field of a form that a problem marks, because it may be scrolled out of view. */
export function useMarked(problem: unknown): void {
  useEffect(() => {
    if (problem) document.querySelector<HTMLElement>(".panel:not([hidden]) [aria-invalid='true']")?.focus()
  }, [problem])
}
