import { describe, expect, test } from 'vitest'
import { SettingsError } from '../config'
import { parseCommand } from './command-line'

const OPTIONS = ['--chain=celo', '--from=1', '--to=2', '--check', '--quick']
const ACCEPTED: Record<string, string[]> = {
  replay: ['--chain=celo', '--check'],
  audit: ['--chain=celo', '--from=1', '--to=2', '--quick'],
  snapshot: [],
  restore: [],
}

describe.each(Object.entries(ACCEPTED))('the command %s', (verb, accepted) => {
  const folder = ['snapshot', 'restore'].includes(verb) ? ['/folder'] : []
  test.each([...OPTIONS, '--force'])('accepts only its own options: %s', (option) => {
    const parse = () => parseCommand([verb, option, ...folder])
    if (accepted.includes(option)) expect(parse()).toMatchObject({ verb, given: folder[0] ?? '' })
    else expect(parse).toThrow(SettingsError)
  })
  test('requires its number of folders', () => {
    expect(parseCommand([verb, ...folder]).verb).toBe(verb)
    expect(() => parseCommand([verb, ...folder, '/other'])).toThrow(SettingsError)
    if (folder.length) expect(() => parseCommand([verb])).toThrow(SettingsError)
  })
})

test.each([[[]], [['repair']], [['--check', 'replay']]])(
  'a command line without a command is refused: %j',
  (args) => {
    expect(() => parseCommand(args)).toThrow(SettingsError)
  },
)
