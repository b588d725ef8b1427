import { readFileSync } from 'node:fs'
import solc from 'solc'

export interface Compiled {
  abi: any[]
  /** creation code */
  bytecode: string
}

/** Contracts of a Solidity file by name, compiled for minimal size. The code is the same on every machine. */
export function compile(file: string): Record<string, Compiled> {
  const { errors, contracts } = JSON.parse(
    solc.compile(
      JSON.stringify({
        language: 'Solidity',
        sources: { [file]: { content: readFileSync(file, 'utf8') } },
        settings: {
          optimizer: { enabled: true, runs: 1 },
          evmVersion: 'paris',
          metadata: { appendCBOR: false, bytecodeHash: 'none' },
          debug: { revertStrings: 'strip' },
          outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
        },
      }),
    ),
  )
  const wrong = errors?.filter(({ severity }: { severity: string }) => severity === 'error') ?? []
  if (wrong.length) throw new Error(JSON.stringify(wrong, undefined, 2))
  return Object.fromEntries(
    Object.entries(contracts[file] as object).map(([name, { abi, evm }]) => [
      name,
      { abi, bytecode: `0x${evm.bytecode.object}` },
    ]),
  )
}
