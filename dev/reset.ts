import { existsSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { LOCAL_FOLDER, QUORUM_FOLDER, described, holderOf } from './lock'
import { PlainError } from './services'

/** `npm run reset` removes the local worlds of `npm start` and `npm run quorum`, if none is running. */
async function main(): Promise<void> {
  process.chdir(path.join(__dirname, '../..'))
  for (const folder of [LOCAL_FOLDER, QUORUM_FOLDER]) {
    const holder = await holderOf(folder)
    if (holder)
      throw new PlainError(
        `The local world is running: ${described(holder)}. Stop it first (Ctrl-C where it runs, or kill ${holder.pid}).`,
      )
  }
  if (!existsSync(LOCAL_FOLDER)) return console.log(`There is no ${LOCAL_FOLDER}: nothing to remove.`)
  const contents = readdirSync(LOCAL_FOLDER).filter(
    (name) => !name.endsWith('-complete') && !name.endsWith('.socket'),
  )
  rmSync(LOCAL_FOLDER, { recursive: true })
  console.log(
    `Removed ${LOCAL_FOLDER} (${contents.join(', ') || 'empty'}). The next npm start begins from scratch.`,
  )
}

main().catch((error: Error) => {
  console.error(error instanceof PlainError ? error.message : error)
  process.exit(1)
})
