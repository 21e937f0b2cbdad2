import { dailyOccurrence, type Occurrence, withRepair } from '../domain/conditions/condition.ts'
import type { UtcDay } from '../domain/utc-day.ts'
import type { Condition } from '../store/conditions/condition.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import { INVOICES } from './invoices/match/conditions.ts'

/** What the nightly verification found. */
export function booksDiffer(differences: number, since: UtcDay, day: UtcDay): Occurrence {
  return dailyOccurrence('totals', day, {
    message: withRepair(
      `Totals since ${since} differ from what they are made of`,
      `tallygate ledger verify names the rows; tallygate ledger rebuild counts a day again`,
    ),
    differences,
    since,
  })
}

export const CORRECTION_CONDITIONS: readonly Condition<{
  readonly pool: Postgres
  readonly nowMs: number
}>[] = [
  {
    name: 'books',
    place: 'postgres',
    severity: 'wrong',
    event: 'verify.failed',
    alert: {
      kind: 'books',
      meaning: 'totals differ from what they are made of',
      ofClient: false,
      raisedBy: 'verify',
    },
  },
  INVOICES,
]
