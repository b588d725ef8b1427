import { Hono } from 'hono'

// Ponder does not start without this file. It serves no requests here.
export default new Hono()
