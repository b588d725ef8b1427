import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import ts from 'typescript'

/**
 * Compiles TypeScript programs with the options of a user's strict project: NodeNext, with all declarations
 * of packages checked. Returns the JavaScript of each, in the same order. Throws an Error that names each
 * mistake by the program's name and line.
 */
export function compilePrograms(sources: readonly { name: string; source: string }[]): string[] {
  // The folder is in the project, because the programs import its packages.
  mkdirSync('.local', { recursive: true })
  const folder = mkdtempSync(path.resolve('.local/programs-'))
  try {
    const files = sources.map(({ source }, i) => {
      const file = path.join(folder, `program${i}.mts`)
      writeFileSync(file, source)
      return file
    })
    const program = ts.createProgram(files, {
      ...{ module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2022, strict: true, outDir: folder },
      ...{ skipLibCheck: false, exactOptionalPropertyTypes: true, types: ['node'] },
    })
    const wrong = ts.getPreEmitDiagnostics(program).map(({ file, start = 0, messageText }) => {
      const { line = 0 } = file?.getLineAndCharacterOfPosition(start) ?? {}
      const named = sources[files.findIndex((each) => file && path.resolve(file.fileName) === each)]?.name
      return `${named ?? file?.fileName}:${line + 1}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
    })
    if (wrong.length > 0) throw new Error(wrong.join('\n'))
    program.emit()
    return files.map((file) => readFileSync(file.replace(/mts$/, 'mjs'), 'utf8'))
  } finally {
    rmSync(folder, { recursive: true })
  }
}
