// SPDX-License-Identifier: MIT
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import type { InterfaceAbi } from 'ethers'

/** Folder of the package. */
const FOLDER = path.resolve('packages/contracts')

/** Reason for which forge cannot run on this machine, in one line; undefined if it can. */
export function missingForge(): string | undefined {
  // forge starts the compiler (solc.mjs) through its shebang line, which Windows ignores.
  if (process.platform === 'win32') return 'forge cannot start a compiler that is a script on Windows'
  try {
    forgeBinary()
    return undefined
  } catch {
    return `no prebuilt forge for ${process.platform} ${process.arch} was installed`
  }
}

function forgeBinary(): string {
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch
  return require.resolve(`@foundry-rs/forge-${process.platform}-${architecture}/bin/forge`)
}

/** Runs forge in the package. Resolves to its output, and rejects with the output if it fails. */
export async function forge(
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<string> {
  try {
    const { stdout, stderr } = await promisify(execFile)(forgeBinary(), args, {
      cwd: FOLDER,
      env: { ...process.env, FORCE_COLOR: '0', NO_COLOR: '1', ...environment },
      maxBuffer: 2 ** 26,
    })
    return stdout + stderr
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`forge ${args.join(' ')} failed:\n${stdout}\n${stderr}`)
  }
}

/** Compiled contract, such as `NearbyToken`, or `Harness.sol:ParcelRegistry`. */
export function artifact(name: string): { abi: InterfaceAbi; bytecode: string } {
  const [file, contract] = name.includes(':') ? name.split(':') : [`${name}.sol`, name]
  const { abi, bytecode } = JSON.parse(
    readFileSync(path.join(FOLDER, 'out', file!, `${contract}.json`), 'utf8'),
  ) as { abi: InterfaceAbi; bytecode: { object: string } }
  return { abi, bytecode: bytecode.object }
}
