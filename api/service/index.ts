/**
 * The service about itself: GET / (about.ts), /health, /ready and /metrics (monitoring.ts), the OpenAPI
 * document, put together from the schemas of each room (schemas.ts has those of this room).
 */

export { type AboutParts, aboutRoutes, describeRoutes } from './about'
export { readManual } from './manual'
export { monitoring, type MonitoringParts } from './monitoring'
