import path from 'node:path'

/**
 * `node dist/dev/held.js <modules> <program> [arguments]` starts a program before its dependencies are
 * available. It loads the modules, separated by commas, which takes most of the start, and runs the program
 * when its parent sends the missing settings.
 */
const [node, , modules, program, ...parameters] = process.argv
const file = path.resolve(program!)
for (const each of modules!.split(',')) load(path.resolve(each))

const giveUp = () => process.exit(0)
process.once('disconnect', giveUp).once('message', (settings: NodeJS.ProcessEnv) => {
  process.off('disconnect', giveUp)
  Object.assign(process.env, settings)
  process.argv = [node!, file, ...parameters]
  load(file)
})

function load(name: string): void {
  require(name) // oxlint-disable-line typescript/no-require-imports -- the programs are CommonJS
}
