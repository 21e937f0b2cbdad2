/** What a log line is written with: a structured object and a message. pino's loggers fit. */
export interface Logger {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** For commands and checks, which say by themselves, in one line, what went wrong. */
export const SILENT_LOG: Logger = { info() {}, warn() {}, error() {} }
