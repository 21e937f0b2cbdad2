import type { Logger } from '../../src/lib/logger.ts'
import type { RolledUp } from '../../src/rollup/rolled-up.ts'

/** Logs what a transaction could not count. Once it is committed, nothing names it again but the tables. */
export function reportLosses(log: Logger, stream: string, { gaps, deadLetters }: RolledUp): void {
  for (const { producer, from, to, reason } of gaps) {
    log.error(
      { event: 'rollup.gap', stream, producer, from, to, reason },
      'records are missing: recorded as a gap',
    )
  }
  if (deadLetters > 0)
    log.error(
      { event: 'rollup.dead_letters', stream, deadLetters },
      'records could not be counted: see dead_letters',
    )
}
