import { createGeo } from '@geospatial-attestation/client'

/** Where the service lives: the pages are one level below it, whatever path a deployment has. */
export const BASE = new URL('.', location.href).href.replace(/\/$/, '')

/** The client of the service that served this page. */
export const geo = createGeo(BASE)

/** The same without patience: who asks says in words what failed and when it is tried again (loading.ts). */
export const geoOnce = createGeo({ url: BASE, retries: 0 })

/** The address of something of the service, such as `api/v0/location-records`. */
export const addressOf = (path: string): string => `${BASE}/${path}`
