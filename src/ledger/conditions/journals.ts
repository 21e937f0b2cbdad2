import { constants } from 'node:fs'
import { access, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { dailyOccurrence, type Occurrence } from '../../domain/conditions/condition.ts'
import { type Finding, failure, ok } from '../../domain/conditions/finding.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import { isMissingFile } from '../../lib/missing-file.ts'
import { reasonOf } from '../../lib/reason-of.ts'
import type { Condition } from '../../store/conditions/condition.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { selectGatewayJournals } from '../../store/ledger/gateway-journals.ts'
import { readDatabaseId } from '../../store/ledger/ledger-database.ts'
import { isDatabaseMismatch, readJournalDatabaseId } from '../recovery/journal-database-id.ts'
import { readJournalDirectory } from '../recovery/producer-folder.ts'

/** Of JOURNAL_MAX_BYTES: at the whole of it, calls are refused. */
const FULL_PERCENT = 50

/**
 * Checks the journals on this machine's disk.
 * @param database The identity of the database in use; `null`: unknown.
 */
async function checkJournal(journalDir: string, database: string | null): Promise<Finding> {
  try {
    const { producers, corrupt } = readJournalDirectory(journalDir)
    const bytes = await sizeOf(journalDir)
    const detail = `${producers.length} in ${journalDir}, ${(bytes / 1_048_576).toFixed(1)} MiB`
    const databaseId = await Promise.all(
      producers.map((producer) => readJournalDatabaseId(join(journalDir, producer))),
    )
    const mismatched = databaseId.filter((one) => one !== null && isDatabaseMismatch(one, database))
    if (mismatched.length > 0) {
      const others = [...new Set(mismatched)]
      return failure(
        'journals',
        `${detail}; ${mismatched.length} belong to another database (${others.join(', ')}), and wait for a gateway that has it`,
        `start one with its DATABASE_URL; if that database is gone for good: tallygate ledger claim ${others[0]}`,
      )
    }
    if (await isReadOnly(journalDir))
      return failure(
        'journals',
        `${journalDir} is on a file system that is read-only: no gateway starts with it`,
        'mount it for writing, or give JOURNAL_DIR another disk',
      )
    if (corrupt === 0) return ok('journals', detail)
    return failure(
      'journals',
      `${detail}; ${corrupt} could not be read completely and were quarantined`,
      'what could be read was counted; see tallygate ledger gaps and tallygate reconcile, then delete the .corrupt folders there',
    )
  } catch (error) {
    if (isMissingFile(error)) return ok('journals', `none on this machine (${journalDir} is not there)`)
    return failure(
      'journals',
      `${journalDir}: ${reasonOf(error)}`,
      'correct JOURNAL_DIR, or the rights on it',
    )
  }
}

/** What the rights are is not asked: who runs `doctor` may be another user than the gateway's. */
async function isReadOnly(folder: string): Promise<boolean> {
  return await access(folder, constants.W_OK).then(
    () => false,
    (error: unknown) => error instanceof Error && 'code' in error && error.code === 'EROFS',
  )
}

async function sizeOf(folder: string): Promise<number> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true })
  const sizes = await Promise.all(
    files
      .filter((file) => file.isFile())
      .map((file) => stat(join(file.parentPath, file.name)).then(({ size }) => size, sizeIfGone)),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** A journal may disappear during the check. */
function sizeIfGone(error: unknown): number {
  if (isMissingFile(error)) return 0
  throw error
}

/** Journals that are half full. */
export async function findFullJournals(pool: Postgres, day: UtcDay): Promise<readonly Occurrence[]> {
  const journals = await selectGatewayJournals(pool)
  return journals
    .filter(({ uncommittedBytes, maxBytes }) => uncommittedBytes * 100 >= maxBytes * FULL_PERCENT)
    .map(({ gateway, uncommittedBytes, maxBytes }) => {
      const percent = Math.floor((uncommittedBytes / maxBytes) * 100)
      return dailyOccurrence(gateway, day, {
        message: `The journal of gateway ${gateway} is ${percent} % full; full, it refuses calls.`,
        gateway,
        uncommitted_bytes: uncommittedBytes,
        max_bytes: maxBytes,
      })
    })
}

interface JournalPorts {
  readonly pool: Postgres
  readonly journalDir: string
}

export const JOURNALS: Condition<JournalPorts> = {
  name: 'journals',
  place: 'machine',
  severity: 'wrong',
  threshold: { value: FULL_PERCENT, unit: '%' },
  find: async ({ pool, journalDir }) =>
    checkJournal(journalDir, await readDatabaseId(pool).catch(() => null)),
  event: 'journal.full',
  alert: {
    kind: 'journal',
    meaning: 'the journal of a gateway is half full',
    ofClient: false,
    when: 'each minute',
    finders: [({ pool }, { today }) => findFullJournals(pool, today)],
  },
  readiness: {
    item: 'journal',
    lacks: ({ journalWritable, canTakeCalls }) => !journalWritable || !canTakeCalls,
  },
  gauges: [
    {
      name: 'tallygate_journal_max_bytes',
      help: 'JOURNAL_MAX_BYTES: from this size of uncommitted records on, no new call is taken.',
      aggregator: 'sum',
      read: ({ journalMaxBytes }) => journalMaxBytes,
    },
    {
      name: 'tallygate_journal_writable',
      help: 'Whether the disk takes what is written to the journal.',
      aggregator: 'min',
      read: ({ journalWritable }) => Number(journalWritable),
    },
  ],
  rules: [
    {
      name: 'JournalRefuses',
      expr: 'tallygate_journal_writable == 0',
      severity: 'page',
      summary: 'The disk of the journal is full or broken: calls are refused, or pass unmetered.',
    },
    {
      name: 'JournalHalfFull',
      expr: `tallygate_ledger_uncommitted_bytes * ${100 / FULL_PERCENT} > tallygate_journal_max_bytes`,
      for: '1m',
      severity: 'page',
      summary:
        'Half of `JOURNAL_MAX_BYTES` is not counted. At the cap calls are refused with 503, or pass unmetered.',
    },
    {
      name: 'CallsUnmetered',
      expr: 'increase(tallygate_unmetered_calls_total[5m]) > 0',
      severity: 'page',
      summary: 'Calls pass that are not counted (`ON_JOURNAL_FULL=unmetered`): each is a line in the log.',
    },
    {
      name: 'JournalCorrupt',
      expr: 'tallygate_ledger_corrupt_journals > 0',
      severity: 'ticket',
      summary: 'A damaged journal was quarantined.',
    },
  ],
}
