import { pino } from 'pino'

export type { Logger } from 'pino'

const LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

/**
 * The process's logger: JSON lines on stdout. Errors are cut to type, code, message and stack: their other fields may hold a
 * request, and with it a key.
 */
export function createLog(level: string, name: string) {
  return pino({
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
  })
}
