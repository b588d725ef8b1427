import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

const PREACT = path.join(path.dirname(createRequire(path.resolve('web/_')).resolve('preact')), 'preact.mjs')

/**
 * Renders a component without elements, as a page does, except that effects do not wait for a frame. Returns
 * a function that renders it again.
 */
export async function rendered<P extends object>(
  component: (properties: P) => null,
  properties: P,
): Promise<(properties: P | null) => void> {
  const { h, options, render } = (await import(pathToFileURL(PREACT).href)) as {
    h: (of: unknown, properties: object) => unknown
    options: { requestAnimationFrame?: (flush: () => void) => void }
    render: (node: unknown, parent: object) => void
  }
  options.requestAnimationFrame = (flush) => void setImmediate(flush)
  const parent = { childNodes: [], insertBefore: () => {}, removeChild: () => {} }
  const show = (next: P | null) => render(next && h(component, next), parent)
  show(properties)
  return show
}

/** Ends the effects of what was rendered, what they load without waiting, and the renders that follow. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)
}
