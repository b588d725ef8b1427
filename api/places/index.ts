/**
 * Shareable pages of places, mounted at /r: the web page of a record with a title, a description and a
 * preview image for link previews (document.ts, preview.ts), and the attestation as the chain has it now.
 * Start with routes.ts.
 */
export { placesRoutes } from './routes'
