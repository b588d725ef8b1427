import { Hono } from 'hono'

// Ponder does not start without this file. Nobody asks it anything here.
export default new Hono()
