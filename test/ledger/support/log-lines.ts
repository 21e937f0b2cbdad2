import type { Logger } from '../../../src/lib/logger.ts'

export interface LogLine {
  readonly level: 'info' | 'warn' | 'error'
  /** The code of the event; `null`: the line carries none. */
  readonly event: string | null
  readonly message: string
  readonly fields: object
}

/** A log that keeps its lines for the test to look at. */
export function logLines(): Logger & { readonly lines: LogLine[] } {
  const lines: LogLine[] = []
  const at = (level: LogLine['level']) => (fields: object, message: string) => {
    const event = 'event' in fields ? String(fields.event) : null
    lines.push({ level, event, message, fields })
  }
  return { lines, info: at('info'), warn: at('warn'), error: at('error') }
}
