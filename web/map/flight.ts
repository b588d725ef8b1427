import { effect, signal } from '@preact/signals'
import type { Feature } from 'geojson'
import { here, type Page } from '../location'

/** Features to bring into view, and the page whose map does so. */
const flight = signal<{ page: Page; features: readonly Feature[] }>()

/** Brings features into view on the map of a page, once that page is shown. */
export function flyTo(page: Page, features: readonly Feature[]): void {
  flight.value = { page, features }
}

/**
 * Calls `frame` for each request to bring features into view on the current page, until the returned function
 * is called.
 */
export function followFlights(frame: (features: readonly Feature[]) => void): () => void {
  const { page } = here.peek()
  return effect(() => {
    if (flight.value?.page !== page) return
    const { features } = flight.value
    flight.value = undefined
    frame(features)
  })
}
