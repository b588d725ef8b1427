/**
 * GET /api/v0/stream: changes of records as Server-Sent Events. A request enters in routes.ts. live.ts polls
 * the database for changes and sends them to all listeners. changes.ts reads those after a position, so that
 * a listener that reconnects misses none. Webhooks share the filters.
 */

export {
  changesAfter,
  currentPosition,
  eventsOf,
  locate,
  LostPositionError,
  parsePosition,
  positionAt,
  positionText,
  unlocated,
  type ChangeFilter,
  type ChangePage,
  type Position,
  type RecordEvent,
} from './changes'
export { messageType } from './events'
export { filterOfTexts } from './filter'
export { type LiveOptions, LiveRecords } from './live'
export { streamRoutes } from './routes'
