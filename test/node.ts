import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** Runs a program with Node until it ends. Returns its exit code, and its stdout and stderr in one text. */
export async function runNode(
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, args, { env })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number]
  return { code, output }
}
