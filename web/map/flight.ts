import { effect, signal } from '@preact/signals'
import type { Feature } from 'geojson'

/** Features to bring into view on the map, once there is one. */
const flight = signal<readonly Feature[]>()

export function flyTo(features: readonly Feature[]): void {
  flight.value = features
}

/** Calls `frame` for each request to bring features into view, until the returned function is called. */
export function followFlights(frame: (features: readonly Feature[]) => void): () => void {
  return effect(() => {
    const features = flight.value
    if (!features) return
    flight.value = undefined
    frame(features)
  })
}
