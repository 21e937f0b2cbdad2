/** Writes a log line: structured fields and a message. pino's loggers fit. */
export interface Logger {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** For commands and checks, which print their one-line error themselves. */
export const SILENT_LOG: Logger = { info() {}, warn() {}, error() {} }
