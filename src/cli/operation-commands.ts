import { readFileSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { type Command, Option } from 'commander'
import { GatewayError } from '../http/errors.ts'
import { reasonOf } from '../lib/reason-of.ts'
import type { Actor } from '../operations/audit/audit-table.ts'
import { runOperation } from '../operations/audit/run-operation.ts'
import { Failure } from '../operations/failure.ts'
import { lineField } from '../operations/fields.ts'
import { LongText } from '../operations/long-text.ts'
import { type AnyCommand, type AnyOperation, type Chapter, unfold } from '../operations/operation.ts'
import {
  aliasesOf,
  checkTogether,
  type FieldForm,
  formsOf,
  parseFields,
  readText,
} from '../operations/read-input.ts'
import { renderListing } from '../operations/table.ts'
import type { AllPorts } from '../operator/chapters.ts'
import type { Cli } from './cli.ts'
import { type CommandOptions, portsOf } from './operation-ports.ts'
import type { Servers } from './servers.ts'
import { writeText } from './write-text.ts'

/** Who does it, for the audit. */
const WHO = { by: lineField('Who does it. Without it: the user of the system.').optional() }

/** Adds the commands of all operations that have one, each chapter under its word. */
export function addOperations(program: Command, chapters: readonly Chapter<AllPorts>[], cli: Cli): void {
  for (const { words, about, operations } of chapters) {
    const parent = program.commands.find((one) => one.name() === words) ?? program.command(words)
    parent.description(about)
    for (const operation of operations) {
      const { command } = operation
      if ('none' in command) continue
      const [, ...rest] = command.words.split(' ')
      const made = rest.length === 0 ? parent : parent.command(rest.join(' '))
      if (command.alias !== undefined) made.alias(command.alias)
      addOperation(made, operation, command, cli)
    }
  }
}

/** The place of a field on the command line. */
interface Placed {
  readonly form: FieldForm
  /** As commander has it: `--client <name>`, `<id>`, `[ids...]`. */
  readonly flags: string
  /** As an error names it: `--client`, `<id>`. */
  readonly label: string
}

function addOperation(
  command: Command,
  operation: AnyOperation<AllPorts>,
  { options = {}, json, print, exitCode }: AnyCommand,
  cli: Cli,
): void {
  const placed = formsOf(operation.input).flatMap((form) => place(form, operation, options[form.name]))
  const argumentsOf = placed.filter(({ flags }) => !flags.startsWith('-'))
  const { changes, isLong } = operation
  command.description(operation.summary)
  for (const { form, flags } of argumentsOf) command.argument(flags, form.description)
  const names = new Map<string, Placed>()
  for (const one of placed) {
    if (argumentsOf.includes(one)) continue
    const option = optionOf(one)
    names.set(option.attributeName(), one)
    command.addOption(option)
  }
  if (changes !== undefined)
    for (const form of formsOf(WHO)) command.option(`--${form.name} <name>`, form.description)
  if (isLong === true) command.option('--progress', 'Says on stderr how far it has come, as on a terminal.')
  if (operation.isPriced === true)
    command
      .option('--gateway <name>', 'By the prices of this gateway, as doctor names it.')
      .option(
        '--config-differs-on-purpose',
        'By the TALLYGATE_CONFIG and catalog of this command, although gateways have others.',
      )
  if (operation.streams !== undefined)
    command.option('-o, --output <file>', 'Writes into this file. Without it: to stdout.')
  command.action(async (...given: readonly unknown[]) => {
    // What a command of one word has too, such as `usage --client`, is given to that one.
    const asked = command.optsWithGlobals<Readonly<Record<string, unknown>> & CommandOptions>()
    const raw = Object.fromEntries([
      ...argumentsOf.map((one, index) => [one.form.name, sentOf(one, given[index])]),
      ...Object.entries(asked).flatMap(([name, value]) => {
        const one = names.get(name)
        return one === undefined ? [] : [[one.form.name, sentOf(one, value)]]
      }),
    ])
    try {
      const input = parseFields(operation.input, withoutMissing(raw), 'text')
      checkTogether(operation, input)
      const actor = changes === undefined ? actorNamed(operatorName()) : actorNamed(readWho(asked.by))
      if (operation.streams !== undefined && asked.output === undefined && cli.wantsJson())
        throw new Failure('--json needs -o: stdout is for the export')
      const run = async (servers: Servers | null) => {
        const ports = portsOf(servers, cli, asked)
        const done = unfold(operation, await runOperation(operation, ports, input, actor), input)
        if (changes?.isAnnounced === true) await servers?.announce()
        if (done.found instanceof LongText)
          await writeText(done.found, cli, asked.output, ports.progress('rows'))
        return done
      }
      const isAlone = operation.needsNoStores === true && !cli.knowsServers()
      const { found, next, document } = await (isAlone ? run(null) : cli.withServers(run))
      const text = textOf(print, found, input)
      // One without a text has written its result to stdout itself.
      const shown = json === undefined ? document : json(found as never, input as never)
      if (text !== '') cli.print(shown, text)
      if (next !== null) cli.remark(`there is more behind these: --cursor ${next}`)
      const code = exitCode?.(found as never) ?? 0
      if (code !== 0) cli.fail(code)
    } catch (error) {
      throw error instanceof GatewayError ? explained(error, placed, command) : error
    }
  })
}

function place(
  form: FieldForm,
  { http }: AnyOperation<AllPorts>,
  asked: string | null | undefined,
): readonly Placed[] {
  if (asked === null) return []
  const isInPath = 'path' in http && http.path.includes(`{${form.name}}`)
  const flags = asked ?? (isInPath ? `<${form.name}>` : flagsOf(form))
  const [label = ''] = flags.startsWith('-') ? (/--[a-z-]+(?= |$)/.exec(flags) ?? []) : [flags]
  return [{ form, flags, label }]
}

/** `--group-by <groups>`, with its other names before it. */
function flagsOf({ name, value, schema }: FieldForm): string {
  const long = [...aliasesOf(name), name].map((one) => `--${one.replaceAll('_', '-')}`).join(', ')
  if (schema.type === 'boolean') return long
  return `${long} <${value ?? (schema.type === 'array' ? 'list' : schema.type === 'integer' ? 'n' : 'text')}>`
}

function optionOf({ form, flags }: Placed): Option {
  const { description, isRequired, schema } = form
  const standard =
    schema.default === undefined || schema.default === false ? '' : ` (default: ${schema.default})`
  const option = new Option(flags, `${description}${standard}`).makeOptionMandatory(isRequired)
  return Array.isArray(schema.enum) ? option.choices(schema.enum.map(String)) : option
}

/** What was written, as the JSON that the field takes. */
function sentOf({ form, flags }: Placed, written: unknown): unknown {
  if (typeof written !== 'string') return written
  return /-file(?:>|\]| <file>)$/.test(flags) ? readTextOf(written) : readText(form.schema, written)
}

/** One line break at its end is an editor's. */
function readTextOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw new Failure(`${file} cannot be read: ${reasonOf(error)}`)
  }
}

function withoutMissing(given: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

function readWho(written: unknown): string {
  return (parseFields(WHO, withoutMissing({ by: written })) as { readonly by?: string }).by ?? operatorName()
}

function actorNamed(name: string): Actor {
  return { name, from: `command line on ${hostname()}`, who: name }
}

function textOf(print: AnyCommand['print'], answer: unknown, input: unknown): string {
  if (typeof print === 'function') return print(answer as never, input as never)
  return renderListing(print, answer as readonly never[])
}

/** An error with options in place of parameters: bad options end the process with code 2, the rest with 1. */
function explained(
  { error, message, detail }: GatewayError,
  placed: readonly Placed[],
  command: Command,
): Error {
  const { param, hint } = detail
  const labels = new Map(placed.map(({ form, label }) => [form.name, label]))
  const label = labels.get(param ?? '') ?? (param === 'by' ? '--by' : undefined)
  const own = param !== undefined && label !== undefined && message.startsWith(`${param} `)
  const named = own
    ? `${label}${message.slice(param.length)}`
    : `${message.charAt(0).toLowerCase()}${message.slice(1)}`
  const sentence = named
    .replace(/\b(needs|with|of|say) (\w+)/g, (all, verb, name) => {
      const other = labels.get(name)
      return other === undefined || !own ? all : `${verb} ${other}`
    })
    .replace(/\.$/, '')
  const text = hint === undefined ? sentence : `${sentence}; ${hint}`
  if (error === 'invalid_request') command.error(`error: ${text}`)
  return new Failure(text, { code: error })
}

/** The name of the operator, for the audit. */
function operatorName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}` // a container's user need not have a name
  }
}
