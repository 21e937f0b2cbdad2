import { addDays, utcDayOf } from '../../domain/utc-day.ts'
import { selectUnpricedModels } from '../../store/daily-usage.ts'
import type { LedgerStatus } from '../../store/ledger-state.ts'
import type { Postgres } from '../../store/postgres.ts'
import { type Finding, note, ok, wrong } from './finding.ts'

/** A loss is wrong for so long, then a note. */
const NEWS_DAYS = 7
const UNPRICED_DAYS = 30
const SHOWN_MODELS = 5

/** Whether records are known to be missing. What is older than a week has been seen, and stays to be read. */
export function checkGaps({ gapCount, missingRecords, gaps }: LedgerStatus): Finding {
  const newest = gaps[0]
  if (newest === undefined) return ok('gaps', 'no record is missing')
  const of = `of producer ${newest.producer} (${newest.reason}), ${newest.recordedAt.toISOString()}`
  return newsOrNote(
    'gaps',
    newest.recordedAt,
    `${missingRecords} records are missing in ${gapCount} gaps, the last one ${of}`,
    'start a gateway on the disk that has their journal; if it is lost, so are they: ledger gaps, reconcile',
  )
}

/** Whether records came that could not be counted. */
export function checkDeadLetters({ deadLetters, newestDeadLetterAt }: LedgerStatus): Finding {
  if (newestDeadLetterAt === null) return ok('dead letters', 'every record could be counted')
  return newsOrNote(
    'dead letters',
    newestDeadLetterAt,
    `${deadLetters} records could not be counted, the last one ${newestDeadLetterAt.toISOString()}`,
    'see why: dead-letters list; then dead-letters retry --all',
  )
}

/** What nothing can be done about any more must not hide what is new. */
function newsOrNote(name: string, at: Date, detail: string, mend: string): Finding {
  const isNews = Date.now() - at.getTime() < NEWS_DAYS * 86_400_000
  return (isNews ? wrong : note)(name, detail, mend)
}

/** Which models are used and have no price. */
export async function checkPrices(pool: Postgres): Promise<Finding> {
  const models = await selectUnpricedModels(pool, addDays(utcDayOf(Date.now()), 1 - UNPRICED_DAYS))
  if (models.length === 0) return ok('prices', `every model of the last ${UNPRICED_DAYS} days has a price`)
  const calls = models.reduce((sum, model) => sum + model.calls, 0n)
  const named = models.slice(0, SHOWN_MODELS).map(({ model, provider }) => `${model} (${provider})`)
  const others = models.length > SHOWN_MODELS ? ` and ${models.length - SHOWN_MODELS} more` : ''
  return note(
    'prices',
    `${calls} calls of the last ${UNPRICED_DAYS} days have no price: ${named.join(', ')}${others}`,
    "add them to prices in TALLYGATE_CONFIG; '0' is what is free",
  )
}
