import type { LogEvent } from './log-events.ts'

/** The fields of a log line beside its message: the stable code of its event, and any more fields. */
export interface LogFields {
  readonly event: LogEvent
  readonly [field: string]: unknown
}

/** Writes a log line: structured fields and a message. pino's loggers fit. */
export interface Logger {
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
}

/** For commands and checks, which print their one-line error themselves. */
export const SILENT_LOG: Logger = { info() {}, warn() {}, error() {} }
