/** What the ledger writes its log lines with; pino's loggers fit. */
export interface Logger {
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}
