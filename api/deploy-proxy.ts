import '../src/chains-file'
import { createInterface } from 'node:readline/promises'
import { runProcess } from './process'
import { deployProxy } from './proxy-deployment'
import { SettingsError, processSettings } from '../src/config'

async function confirmed(): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new SettingsError('Add --yes to send it: there is no terminal for the confirmation')
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const answer = await terminal.question('Deploy it? [y/N] ')
  terminal.close()
  return /^y(es)?$/i.test(answer.trim())
}

runProcess(() => deployProxy(process.argv.slice(2), processSettings, (text) => console.log(text), confirmed))
