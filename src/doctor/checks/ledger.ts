import type { LedgerStatus } from '../../store/ledger/ledger-status.ts'
import { type Finding, failure, ok, warning } from '../finding.ts'

/** A gap younger than this is an error, an older one a hint. */
const NEWS_DAYS = 7

/** Checks for gaps. One older than a week has been seen and stays listed. */
export function checkGaps({ gapCount, missingRecords, gaps }: LedgerStatus): Finding {
  const newest = gaps[0]
  if (newest === undefined) return ok('gaps', 'no record is missing')
  const of = `of producer ${newest.producer} (${newest.reason}), ${newest.recordedAt.toISOString()}`
  return okOrWarning(
    'gaps',
    newest.recordedAt,
    `${missingRecords} records are missing in ${gapCount} gaps, the last one ${of}`,
    'start a gateway on the disk that has their journal; if it is lost, so are they: ledger gaps, reconcile',
  )
}

/** Checks for dead letters. */
export function checkDeadLetters({ deadLetters, newestDeadLetterAt }: LedgerStatus): Finding {
  if (newestDeadLetterAt === null) return ok('dead letters', 'every record could be counted')
  return okOrWarning(
    'dead letters',
    newestDeadLetterAt,
    `${deadLetters} records could not be counted, the last one ${newestDeadLetterAt.toISOString()}`,
    'see why: dead-letters list; then dead-letters retry --all',
  )
}

/** An old gap that cannot be filled must not hide a new one. */
function okOrWarning(name: string, at: Date, detail: string, mend: string): Finding {
  const isNews = Date.now() - at.getTime() < NEWS_DAYS * 86_400_000
  return (isNews ? failure : warning)(name, detail, mend)
}
