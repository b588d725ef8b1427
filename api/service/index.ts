/** The service's own endpoints: GET / (about.ts), /health, /ready, /metrics (monitoring.ts), and OpenAPI. */

export { type AboutParts, aboutRoutes, describeRoutes } from './about'
export { readManual } from './manual'
export { monitoring, type MonitoringParts } from './monitoring'
