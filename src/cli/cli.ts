import type { Environment } from '../config/config.ts'
import type { Servers } from './servers.ts'

/** What a command may use of the world around it. */
export interface Cli {
  readonly env: Environment
  /** Shows a command's result: with `--json` the document alone, else the text. Called once by every command. */
  print(document: unknown, text: string): void
  /**
   * Writes to stdout a part of what is too much to be held, for commands that do so in the place of `print`; waits
   * until it has left. `false`: whoever read has gone.
   */
  write(part: string): Promise<boolean>
  /** Whether one JSON document is asked for on stdout and nothing else. */
  wantsJson(): boolean
  /** Makes the process end with code 1 although nothing was thrown. */
  fail(): void
  /** Whether the environment, or a running `npm start`, names a database. */
  knowsServers(): boolean
  /** Opens what the environment, or a running `npm start`, names; closes it when `work` is done. */
  withServers<Result>(work: (servers: Servers) => Promise<Result>): Promise<Result>
}
