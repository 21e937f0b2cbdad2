import { Argument, type Command } from 'commander'
import type { Cli } from './cli.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

/** What may come behind the words of a command. */
interface Place {
  /** `limits set`, `` for the program itself. */
  readonly words: string
  readonly commands: readonly { readonly name: string; readonly about: string }[]
  readonly options: readonly {
    readonly name: string
    readonly about: string
    readonly choices: readonly string[]
  }[]
}

/** Adds the command that prints a shell's completion, made of all commands that the program has. */
export function addCompletion(program: Command, cli: Cli): void {
  program
    .command('completion')
    .description('Prints what makes a shell complete commands and options.')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .action((shell: Shell) => {
      const script = RENDER[shell](placesOf(program, []))
      cli.print({ shell, script }, script.trimEnd())
    })
}

function placesOf(command: Command, words: readonly string[]): readonly Place[] {
  const visible = command.commands.filter((one) => one.name() !== 'help')
  const own: Place = {
    words: words.join(' '),
    commands: visible.map((one) => ({ name: one.name(), about: firstSentence(one.description()) })),
    options: command.options.map(({ long, short, description, argChoices }) => ({
      name: long ?? short ?? '',
      about: firstSentence(description),
      choices: argChoices ?? [],
    })),
  }
  return [own, ...visible.flatMap((one) => placesOf(one, [...words, one.name()]))]
}

function firstSentence(text: string): string {
  return /^[^.]*/.exec(text.replaceAll(/[^\p{L}\p{N} .,-]/gu, ''))?.[0] ?? ''
}

const EVERYWHERE = ['--json', '--help']

const wordsAt = ({ commands, options }: Place) =>
  [...commands.map(({ name }) => name), ...new Set([...options.map(({ name }) => name), ...EVERYWHERE])].join(
    ' ',
  )

/** A variable of the shell. */
const shellValue = (name: string) => `\${${name}}`

/** The words that are commands, in their order, name the place: options between them do not. */
function bashLines(places: readonly Place[]): readonly string[] {
  const choices = places.flatMap(({ words, options }) =>
    options.flatMap(({ name, choices: of }) =>
      of.length === 0
        ? []
        : [`    '${words} ${name}') COMPREPLY=($(compgen -W '${of.join(' ')}' -- "$word")); return ;;`],
    ),
  )
  return [
    '_tallygate() {',
    '  local word="$2" before="$3" place="" next at',
    '  for ((at = 1; at < COMP_CWORD; at++)); do',
    `    next="${shellValue('place:+$place ')}${shellValue('COMP_WORDS[at]')}"`,
    '    case "$next" in',
    `      ${places
      .filter(({ words }) => words !== '')
      .map(({ words }) => `'${words}'`)
      .join('|')}) place=$next ;;`,
    '    esac',
    '  done',
    '  case "$place $before" in',
    ...choices,
    '  esac',
    '  case "$place" in',
    ...places.map(
      (place) => `    '${place.words}') COMPREPLY=($(compgen -W '${wordsAt(place)}' -- "$word")) ;;`,
    ),
    '  esac',
    '}',
    'complete -o default -F _tallygate tallygate',
  ]
}

const RENDER: Readonly<Record<Shell, (places: readonly Place[]) => string>> = {
  bash: (places) => ['# source <(tallygate completion bash)', ...bashLines(places), ''].join('\n'),
  // zsh runs what is written for bash.
  zsh: (places) =>
    [
      '# source <(tallygate completion zsh)',
      'autoload -Uz compinit bashcompinit && compinit && bashcompinit',
      ...bashLines(places),
      '',
    ].join('\n'),
  fish: (places) =>
    [
      '# tallygate completion fish | source',
      'complete -c tallygate -l json -d "print one JSON document"',
      ...places.flatMap(({ words, commands, options }) => {
        const names = commands.map(({ name }) => name).join(' ')
        const seen = words.split(' ').filter((word) => word !== '')
        const here = [
          ...(seen.length === 0
            ? ['__fish_use_subcommand']
            : seen.map((word) => `__fish_seen_subcommand_from ${word}`)),
          ...(seen.length === 0 || names === '' ? [] : [`not __fish_seen_subcommand_from ${names}`]),
        ].join('; and ')
        return [
          ...commands.map(
            ({ name, about }) => `complete -c tallygate -f -n '${here}' -a ${name} -d '${about}'`,
          ),
          ...options
            .filter(({ name }) => name.startsWith('--') && seen.length > 0)
            .map(({ name, about, choices }) => {
              const values = choices.length === 0 ? '' : ` -x -a '${choices.join(' ')}'`
              return `complete -c tallygate -n '${here}' -l ${name.slice(2)}${values} -d '${about}'`
            }),
        ]
      }),
      '',
    ].join('\n'),
}
