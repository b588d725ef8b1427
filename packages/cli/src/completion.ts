// SPDX-License-Identifier: MIT
import type { Command, Option } from 'commander'

/** Completion for bash, zsh and fish, generated from the commands. A script runs no program. */

export const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

interface Described {
  name: string
  description: string
  options: readonly Option[]
  /** known values of the first argument */
  values: readonly string[]
}

export function completionScript(program: Command, shell: Shell): string {
  const help = program.createHelp()
  const described = (command: Command): Described => ({
    name: command.name(),
    description: command.summary() || command.description(),
    options: help.visibleOptions(command),
    values: command.registeredArguments[0]?.argChoices ?? [],
  })
  const all = help.visibleCommands(program).map(described)
  return { bash, zsh, fish }[shell](all, described(program).options)
}

const flagsOf = ({ short, long }: Option) => [short, long].filter((flag) => flag !== undefined)
const takesValue = ({ required, optional }: Option) => required || optional
const words = (options: readonly Option[]) => options.flatMap(flagsOf).join(' ')

function bash(commands: readonly Described[], globals: readonly Option[]): string {
  const values = commands.flatMap(({ name, options }) =>
    options.flatMap((option) =>
      option.argChoices
        ? `    ${flagsOf(option)
            .map((flag) => `${name}:${flag}`)
            .join('|')}) COMPREPLY=($(compgen -W '${option.argChoices.join(' ')}' -- "$current")); return ;;`
        : [],
    ),
  )
  const others = [...commands.flatMap(({ options }) => options), ...globals]
    .filter((option) => takesValue(option) && !option.argChoices)
    .flatMap((option) => flagsOf(option).map((flag) => `*:${flag}`))
  values.push(`    ${[...new Set(others)].join('|')}) return ;;`)
  return `# bash completion of geo: eval "$(geo completion bash)"
_geo() {
  local word current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} command= words= flags=
  # Bash takes --option=value for three words.
  if [[ $current == '=' ]]; then current=; elif [[ $before == '=' ]]; then before=\${COMP_WORDS[COMP_CWORD-2]}; fi
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in ${commands.map(({ name }) => name).join('|')}) command=$word; break ;; esac
  done
  COMPREPLY=()
  case $command:$before in
${values.join('\n')}
  esac
  case $command in
    '') words='${commands.map(({ name }) => name).join(' ')}' ;;
${commands.map(({ name, options, values }) => `    ${name}) flags='${words(options)}'${values.length ? ` words='${values.join(' ')}'` : ''} ;;`).join('\n')}
  esac
  [[ $current == -* ]] && words="$flags ${words(globals)}"
  # Without a match the shell completes files.
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _geo geo
`
}

function zsh(commands: readonly Described[], globals: readonly Option[]): string {
  const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
  const plain = (text: string) => text.replace(/[[\]:\\]/g, '\\$&')
  const specs = (options: readonly Option[]) =>
    options.flatMap((option) =>
      flagsOf(option).map((flag) => {
        const values = option.argChoices ? `(${option.argChoices.join(' ')})` : '_files'
        const value = takesValue(option) ? `:${option.attributeName()}:${values}` : ''
        const equals = takesValue(option) && flag.startsWith('--') ? '=' : ''
        return quoted(`${flag}${equals}[${plain(option.description)}]${value}`)
      }),
    )
  const lines = (list: readonly string[]) => list.map((each) => `        ${each} \\\n`).join('')
  return `#compdef geo
# zsh completion of geo: eval "$(geo completion zsh)", after compinit
_geo() {
  local state
  local -a commands=(
${commands.map(({ name, description }) => `    ${quoted(`${name}:${plain(description)}`)}`).join('\n')}
  )
  _arguments -C \\
${lines(specs(globals))}        '1:command:->command' '*::argument:->argument'
  case $state in
    command) _describe command commands ;;
    argument)
      case $words[1] in
${commands
  .map(
    ({ name, options, values }) =>
      `        ${name}) _arguments \\\n${lines([...specs(options), ...specs(globals)])}        '*:argument:${values.length ? `(${values.join(' ')})` : '_files'}' ;;`,
  )
  .join('\n')}
      esac ;;
  esac
}
compdef _geo geo
`
}

function fish(commands: readonly Described[], globals: readonly Option[]): string {
  const quoted = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`
  const option = (condition: string, each: Option) =>
    [
      `complete -c geo${condition}`,
      each.short ? `-s ${each.short.slice(1)}` : '',
      each.long ? `-l ${each.long.slice(2)}` : '',
      each.argChoices ? `-x -a ${quoted(each.argChoices.join(' '))}` : takesValue(each) ? '-r' : '',
      `-d ${quoted(each.description)}`,
    ]
      .filter(Boolean)
      .join(' ')
  return `# fish completion of geo: geo completion fish | source
${[
  ...globals.map((each) => option('', each)),
  ...commands.flatMap(({ name, description, options, values }) => {
    const within = ` -n '__fish_seen_subcommand_from ${name}'`
    return [
      `complete -c geo -f -n __fish_use_subcommand -a ${name} -d ${quoted(description)}`,
      ...options.map((each) => option(within, each)),
      ...(values.length ? [`complete -c geo -f${within} -a ${quoted(values.join(' '))}`] : []),
    ]
  }),
].join('\n')}
`
}
