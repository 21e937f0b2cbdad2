import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import {
  shownCount,
  shownCountOrNull,
  shownDocument,
  shownFlag,
  shownText,
} from '../../operations/answers.ts'
import { Failure } from '../../operations/failure.ts'
import { durationField, textField } from '../../operations/fields.ts'
import { type Chapter, operation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { HEARTBEAT_LATE_MS, type Heartbeat, selectHeartbeats } from '../../store/processes/processes-table.ts'
import { readJournalSizes } from '../recovery/producer-folder.ts'
import type { BackupPorts } from './backup.ts'

/** What is left of journals. */
export interface Undrained {
  /** Records that are not counted. */
  readonly records: number
  /** Calls under way, which become records when they end. */
  readonly openCalls: number
  /** Journals of processes that are gone, of which nothing is known yet, or which others have; `null`: no folder was asked for. */
  readonly journals: number | null
  /** Why, where that is known. */
  readonly why: string | null
}

export interface JournalPorts extends BackupPorts {
  /**
   * Ships what the journals in a folder hold until all of it is counted, and deletes them; `null`: a server asks, which
   * has a folder of its own.
   */
  readonly drainFolder: ((folder: string, timeoutMs: number) => Promise<Undrained>) | null
}

const POLL_MS = 250

/** Waits until the gateways of this host have said that nothing of them is uncounted, but not for longer. */
async function drainHost(
  pool: Ports['pool'],
  timeoutMs: number,
): Promise<Undrained & { readonly gateways: number }> {
  const startedAt = await selectNow(pool)
  const endMs = performance.now() + timeoutMs
  for (;;) {
    const gateways = (await selectHeartbeats(pool)).filter(
      ({ kind, silentMs, report }) =>
        kind === 'gateway' && report?.host === hostname() && silentMs <= HEARTBEAT_LATE_MS,
    )
    const left = leftOf(gateways, startedAt)
    if (left === null || performance.now() >= endMs)
      return { ...(left ?? NOTHING_LEFT), gateways: gateways.length }
    await delay(POLL_MS)
  }
}

const NOTHING_LEFT: Undrained = { records: 0, openCalls: 0, journals: null, why: null }

/** Journals that no process ships, as no gateway of this host runs. */
async function readFolder(journalDir: string): Promise<Undrained> {
  const { journals } = await readJournalSizes(journalDir)
  if (journals.length === 0) return NOTHING_LEFT
  return {
    ...NOTHING_LEFT,
    journals: journals.length,
    why: `no gateway of this host runs: start one, or tallygate journal drain --folder ${journalDir}`,
  }
}

/** `null`: each has said since then that it has nothing left. */
function leftOf(gateways: readonly Heartbeat[], startedAt: Date): Undrained | null {
  const sum = (of: (one: Heartbeat) => number) => gateways.reduce((all, one) => all + of(one), 0)
  const records = sum(({ report }) => report?.uncommittedRecords ?? 0)
  const openCalls = sum(({ report }) => report?.openCalls ?? 0)
  const older = gateways.filter(({ report }) => report?.uncommittedRecords == null)
  const haveSaid = gateways.every(({ saidAt }) => saidAt >= startedAt)
  if (records === 0 && openCalls === 0 && older.length === 0 && haveSaid) return null
  const why =
    older.length > 0
      ? `${older.map(({ process }) => process).join(', ')} is of an older release and does not say what it has`
      : haveSaid
        ? null
        : 'not every gateway of this host has said since what it has'
  return { records, openCalls, journals: null, why }
}

async function selectNow(pool: Ports['pool']): Promise<Date> {
  const { rows } = await pool.query<{ now: Date }>('select clock_timestamp() as now')
  const [row] = rows
  if (row === undefined) throw new Error('Postgres said no time')
  return row.now
}

const drain = operation({
  name: 'journal.drain',
  summary:
    'Waits until all that gateways of this host have recorded is counted, or ships a folder of journals.',
  description:
    'Before a host is taken away, and as preStop of a container. With --folder it does what a gateway there would: the journals of a host that is gone are counted and deleted. It needs the environment of the gateways then.',
  role: 'admin',
  http: { none: 'It is about the journals of the machine where it is run.' },
  input: {
    folder: textField(
      'A JOURNAL_DIR that no gateway uses any more. Without it: the gateways of this host.',
      'folder',
    ).optional(),
    timeout: durationField('It waits so long, and then ends with 1.').default(60),
  },
  answer: shownDocument('DrainedJournals', {
    drained: shownFlag('Nothing is left.'),
    records: shownCount('Records that are not counted yet.'),
    open_calls: shownCount('Calls under way.'),
    journals: shownCountOrNull('Journals that are left in the folder. null: no folder was asked for.'),
    left: shownText('What is left, in a sentence.'),
  }),
  gives: 'What is left.',
  async run({ pool, drainFolder, locations }: JournalPorts, { folder, timeout }) {
    const timeoutMs = timeout * 1_000
    if (folder === undefined) {
      const left = await drainHost(pool, timeoutMs)
      return drainedOf(left.gateways > 0 ? left : await readFolder(locations?.journalDir ?? ''))
    }
    if (drainFolder === null) throw new Failure('a running server does not do this: use the command line')
    return drainedOf(await drainFolder(folder, timeoutMs))
  },
  command: {
    words: 'journal drain',
    options: { folder: '--folder <folder>' },
    print: ({ left }) => left,
    exitCode: ({ drained }) => (drained ? 0 : 1),
  },
})

function drainedOf({ records, openCalls, journals, why }: Undrained) {
  const drained = records === 0 && openCalls === 0 && (journals ?? 0) === 0 && why === null
  const parts = [
    ...(records > 0 ? [`${records} records are not counted`] : []),
    ...(openCalls > 0 ? [`${openCalls} calls are under way`] : []),
    ...(journals !== null && journals > 0 ? [`${journals} journals are left`] : []),
  ]
  const reason = why === null ? '' : `${parts.length === 0 ? '' : ': '}${why}`
  const left = drained ? 'Nothing is left: all is counted.' : `${parts.join(', ')}${reason}.`
  return { drained, records, open_calls: openCalls, journals, left }
}

export const JOURNAL_CHAPTER: Chapter<JournalPorts> = {
  words: 'journal',
  about: 'Records on the disks of gateways.',
  operations: [drain],
}
