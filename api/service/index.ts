/**
 * The service's own endpoints: GET / (about.ts), /health, /ready and /metrics (monitoring.ts), and the
 * OpenAPI document, composed from the schemas of each room (schemas.ts has those of this room).
 */

export { type AboutParts, aboutRoutes, describeRoutes } from './about'
export { readManual } from './manual'
export { monitoring, type MonitoringParts } from './monitoring'
