import type { Environment } from '../config/config.ts'
import type { ExitCode } from '../operations/operation.ts'
import type { Progress } from '../operations/ports.ts'
import type { Servers } from './servers.ts'

/** What a command may use: environment, output, servers. */
export interface Cli {
  readonly env: Environment
  /** Shows a command's result: with `--json` the document alone, else the text. Called once by every command. */
  print(document: unknown, text: string): void
  /**
   * Writes a part of a large result to stdout, in place of `print`; resolves once it is flushed. `false`: the
   * reader has closed the pipe.
   */
  write(part: string): Promise<boolean>
  /** Whether one JSON document is asked for on stdout and nothing else. */
  wantsJson(): boolean
  /**
   * Where long work says how far it has come: stderr, where that is a terminal or it was asked for by name.
   *
   * @param unit What is counted: `rows`.
   */
  progress(unit: string, wanted: boolean): Progress
  /** Says one thing beside the result, on stderr. */
  remark(text: string): void
  /**
   * Makes the process end with this code, although nothing was thrown. 2: there is something to change. 3: all is right as far as could be seen, and no
   * call was kept that it could be held against.
   */
  fail(code: Exclude<ExitCode, 0>): void
  /** Whether the environment, or a running `npm start`, names a database. */
  knowsServers(): boolean
  /** Opens the servers that the environment or a running `npm start` names, and closes them after `work`. */
  withServers<Result>(work: (servers: Servers) => Promise<Result>): Promise<Result>
}
