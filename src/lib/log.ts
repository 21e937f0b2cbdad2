import { writeSync } from 'node:fs'
import { pino } from 'pino'

export type { Logger } from 'pino'

const LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']
const STDOUT = 1

/**
 * The process's logger: JSON lines on stdout. Errors are reduced to type, code, message and stack, because
 * their other fields may hold a request and its key. A stdout that cannot be written (full disk, closed pipe)
 * loses that line and nothing else.
 */
export function createLog(level: string, name: string) {
  return pino(
    {
      name,
      level: LEVELS.includes(level) ? level : 'info',
      serializers: {
        err: (error: unknown) =>
          error instanceof Error
            ? {
                type: error.name,
                code: 'code' in error ? String(error.code) : undefined,
                message: error.message,
                stack: error.stack,
              }
            : { message: String(error) },
      },
    },
    { write: writeLine },
  )
}

// pino's own destination ends the process when a write fails, or keeps every line until one does not.
let isTorn = false

function writeLine(line: string): void {
  let rest = Buffer.from(isTorn ? `\n${line}` : line)
  try {
    while (rest.length > 0) {
      isTorn = true
      rest = rest.subarray(writeSync(STDOUT, rest))
    }
    isTorn = false
  } catch {
    // The failure cannot be logged: the log is what failed.
  }
}
