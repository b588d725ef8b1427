// Rules of .oxlintrc.json that oxlint does not provide.

import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { problemOf } from './rooms.mjs'

/** Width of oxfmt's lines. It does not wrap comments. */
const MAX_WIDTH = 110

const ROOT = fileURLToPath(new URL('..', import.meta.url))

const pathOf = (file) => path.relative(ROOT, file).replaceAll('\\', '/')

export default {
  meta: { name: 'project' },
  rules: {
    'comment-width': {
      create: (context) => ({
        Program() {
          const { lines } = context.sourceCode
          for (const { type, loc } of context.sourceCode.getAllComments())
            for (let line = loc.start.line; line <= loc.end.line; line++) {
              const text = lines[line - 1]
              // The width of a comment after code depends on the code.
              const follows = line === loc.start.line && text.slice(0, loc.start.column).trim() !== ''
              if (text.length > MAX_WIDTH && !follows && !text.includes('://'))
                context.report({
                  loc: { start: { line, column: MAX_WIDTH }, end: { line, column: text.length } },
                  message: `${type} comment is ${text.length} characters wide. The limit is ${MAX_WIDTH}.`,
                })
            }
        },
      }),
    },
    walls: {
      create: (context) => {
        const file = pathOf(context.filename)
        const check = ({ source }) => {
          if (!source?.value?.startsWith?.('.')) return
          const message = problemOf(file, pathOf(path.resolve(context.filename, '..', source.value)))
          if (message) context.report({ node: source, message })
        }
        return {
          ImportDeclaration: check,
          ExportNamedDeclaration: check,
          ExportAllDeclaration: check,
          ImportExpression: check,
          TSImportType: check,
        }
      },
    },
  },
}
