'use strict'
const { readFileSync, readdirSync } = require('node:fs')
const path = require('node:path')

/**
 * TypeORM's migrations, made of the SQL files beside this one: `<timestamp>-<Name>.up.sql` and `.down.sql`. A
 * database records each as `<Name><timestamp>` in its table `migrations`, and runs what is not there yet.
 * Files that SHA256SUMS lists are frozen: databases hold what they made. A change is a new migration.
 */
module.exports = readdirSync(__dirname)
  .filter((file) => file.endsWith('.up.sql'))
  .sort()
  .map((file) => {
    const [, timestamp, name] = /^(\d{13})-(\w+)\.up\.sql$/.exec(file)
    // One query of several statements, which Postgres runs in order.
    const run = (direction) => (database) =>
      database.query(readFileSync(path.join(__dirname, `${timestamp}-${name}.${direction}.sql`), 'utf8'))
    return class {
      name = `${name}${timestamp}`
      up = run('up')
      down = run('down')
    }
  })
