import { Command, CommanderError } from 'commander'
import type { Environment } from '../config/config.ts'
import { explainError } from '../doctor/explain-error.ts'
import { VERSION } from '../lib/version.ts'
import { NO_PROGRESS } from '../operations/ports.ts'
import { CHAPTERS } from '../operator/chapters.ts'
import type { Cli } from './cli.ts'
import { findServers, findServersOrNull } from './find-servers.ts'
import { addOperations } from './operation-commands.ts'
import { showProgress } from './progress.ts'
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
  let exitCode = 0
  const cli: Cli = {
    env,
    print(document, text) {
      streams.out(program.opts<{ json?: boolean }>().json ? JSON.stringify(document) : text)
      streams.out('\n')
    },
    async write(part) {
      streams.out(part)
      return (await streams.drained?.()) ?? true
    },
    progress: (unit, wanted) =>
      wanted || streams.isWatched === true ? showProgress(unit, (line) => streams.err(line)) : NO_PROGRESS,
    remark: (text) => streams.err(`tallygate: ${text}\n`),
    wantsJson: () => program.opts<{ json?: boolean }>().json === true,
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
    .configureOutput({ writeOut: (text) => streams.out(text), writeErr: (text) => streams.err(text) })
    .exitOverride()
  addOperations(program, CHAPTERS, cli)
  try {
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USED_WRONGLY // commander has printed it
    streams.err(`tallygate: ${explainError(error)}\n`)
    return FAILED
  }
  return exitCode
}
