import { stripVTControlCharacters } from 'node:util'
import { Command, CommanderError } from 'commander'
import type { Environment } from '../config/config.ts'
import { explainError } from '../doctor/explain-error.ts'
import { VERSION } from '../lib/version.ts'
import { Failure } from '../operations/failure.ts'
import { NO_PROGRESS, type Progress } from '../operations/ports.ts'
import { CHAPTERS } from '../operator/chapters.ts'
import type { Cli } from './cli.ts'
import { addCompletion } from './completion.ts'
import { findServers, findServersOrNull } from './find-servers.ts'
import { addOperations } from './operation-commands.ts'
import { withServers } from './servers.ts'

const FAILED = 1
const USED_WRONGLY = 2

/** Where a command's output goes. */
export interface Streams {
  out(text: string): void
  err(text: string): void
  /** Resolves when the output is flushed; `false`: the reader has closed the pipe. */
  drained?(): Promise<boolean>
  /** Whether a person reads `err`, who wants to see that long work goes on. */
  readonly isWatched?: boolean
  /** Whether `out` is a terminal that shows colours to a person who wants them. */
  readonly hasColours?: boolean
}

/**
 * Runs one command line, `args` without the program's own name. Errors are printed, not thrown.
 * @returns The exit code: 0, 1 when the command failed, 2 when it was not understood, 3 when it had nothing to check by.
 */
export async function runCommandLine(
  args: readonly string[],
  env: Environment,
  streams: Streams,
): Promise<number> {
  const program = new Command('tallygate')
  // Asked of the arguments, too: an error may come before the program has read them.
  const wantsJson = () => program.opts<{ json?: boolean }>().json === true || args.includes('--json')
  let exitCode = 0
  let hasSaid = false
  const say = (text: string) => {
    hasSaid = true
    streams.err(text)
  }
  const cli: Cli = {
    env,
    print(document, text) {
      const shown = streams.hasColours === true ? text : stripVTControlCharacters(text)
      streams.out(wantsJson() ? JSON.stringify(document) : shown)
      streams.out('\n')
    },
    async write(part) {
      streams.out(part)
      return (await streams.drained?.()) ?? true
    },
    progress: (unit, wanted) =>
      wanted || streams.isWatched === true ? showProgress(unit, say) : NO_PROGRESS,
    remark: (text) => say(`tallygate: ${text}\n`),
    wantsJson,
    fail(code) {
      exitCode = code
    },
    knowsServers: () => findServersOrNull(env) !== null,
    withServers: (work) => withServers(findServers(env), cli.remark, work),
  }
  program
    .description('who used what of a model backend, and what did it cost')
    .version(VERSION)
    .option('--json', 'print one JSON document on stdout and nothing else')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => streams.out(text),
      writeErr: (text) => streams.err(text),
      outputError: (text, write) => write(wantsJson() ? errorDocument('invalid_request', text) : text),
    })
    .exitOverride()
  addOperations(program, CHAPTERS, cli)
  addCompletion(program, cli)
  const waiting = setTimeout(() => {
    if (streams.isWatched === true && !hasSaid) say('tallygate: still at it; Ctrl-C ends it\n')
  }, FIRST_MS)
  try {
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USED_WRONGLY // commander has printed it
    const text = explainError(error)
    const code = error instanceof Failure ? error.code : 'failed'
    streams.err(wantsJson() ? errorDocument(code, text) : `tallygate: ${text}\n`)
    return FAILED
  } finally {
    clearTimeout(waiting)
  }
  return exitCode
}

/** The form of errors over HTTP, as far as a command has it. */
function errorDocument(code: string, text: string): string {
  const message = text.replace(/^error: /, '').trim()
  return `${JSON.stringify({ error: { code, message } })}\n`
}

/** By then a person wonders whether anything happens. */
const FIRST_MS = 1_000
/** Often enough to see that it goes on, and seldom enough to be read. */
const EVERY_MS = 2_000

/**
 * One line after a second, then every two seconds at most: the place, how much is done, and how fast that was since the line before.
 *
 * @param unit What is counted: `rows`.
 */
export function showProgress(unit: string, write: (line: string) => void): Progress {
  let shownAtMs = performance.now()
  let shownDone = 0
  let everyMs = FIRST_MS
  return {
    at(where, done) {
      const nowMs = performance.now()
      if (nowMs - shownAtMs < everyMs) return
      const perSecond = Math.round(((done - shownDone) * 1_000) / (nowMs - shownAtMs))
      write(`${where}: ${done} ${unit}, ${perSecond} ${unit}/s\n`)
      shownAtMs = nowMs
      shownDone = done
      everyMs = EVERY_MS
    },
  }
}
