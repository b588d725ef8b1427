import '../src/tracing'
import '../src/chains-file'
import { processSettings } from '../src/config'
import { runProcess } from './process'

/** Runs the API in this process, or in several processes that share its port (API_PROCESSES). */
async function main(): Promise<void> {
  const settings = processSettings('database', 'chains', 'signer')
  // The process that supervises the others does not load their modules.
  if (settings.apiProcesses > 1) await (await import('./copies.js')).runCopies(settings)
  else await (await import('./copy.js')).serve(settings)
}

runProcess(main)
