import { createGeo } from '@geospatial-attestation/client'

/** Base URL of the service: the pages are one level below it, whatever path a deployment has. */
export const BASE = new URL('.', location.href).href.replace(/\/$/, '')

/** Client of the service that served this page. */
export const geo = createGeo(BASE)

/** Client without retries, for pages that show the failure and the time of the retry (loading.ts). */
export const geoOnce = createGeo({ url: BASE, retries: 0 })

/** URL of a resource of the service, such as `api/v0/location-records`. */
export const addressOf = (path: string): string => `${BASE}/${path}`
