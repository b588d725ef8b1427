/**
 * Shareable pages of places, mounted at /r: a record with a title, a description and a preview image for link
 * previews, and the attestation as the chain has it now. Start with routes.ts.
 */
export { placesRoutes } from './routes'
