import { z } from 'zod'
import { renderGap, renderLedger } from '../../domain/documents/ledger-document.ts'
import {
  shownCount,
  shownCountOrNull,
  shownDocument,
  shownFlag,
  shownList,
  shownMoment,
  shownText,
} from '../../operations/answers.ts'
import { renderedOperation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { renderTable } from '../../operations/table.ts'
import { type LedgerStatus, selectLedgerStatus } from '../../store/ledger/ledger-status.ts'
import type { LedgerOverview } from './inspect-ledger.ts'

/** The journals that the answering gateway owns. */
export interface OwnJournals {
  readonly uncommittedRecords: number
  readonly uncommittedBytes: number
  /** How long the oldest of them has waited. */
  readonly oldestUncommittedMs: number
  readonly openCalls: number
  readonly adopted: number
  readonly corrupt: number
  readonly journalWritable: boolean
}

/** What operations of the ledger use. */
export interface LedgerPorts extends Ports {
  inspectLedger(): Promise<LedgerOverview>
  /** `null`: no gateway answers. */
  ownJournals(): OwnJournals | null
}

const PRODUCER = shownDocument('Producer', {
  producer: shownText('32 hex digits.'),
  stream: shownText('The Redis key that its records go to.'),
  mark: shownCount('Every record with a sequence at or under it is counted.'),
  moved_at: shownMoment('The time at which the committed offset last moved.'),
  journal_bytes: shownCountOrNull('The size of its journal. null: the journal is not on this machine.'),
})

const LEDGER = shownDocument('Ledger', {
  streams: shownList(
    z.strictObject({
      name: shownText('A Redis key on which records wait.'),
      waiting: shownCountOrNull('Records that wait to be rolled up. null: Redis does not answer.'),
      oldest_ms: shownCountOrNull('How long the oldest of them has waited.'),
    }),
  ),
  producer_count: shownCount('Runs of gateways that were ever counted.'),
  producers: shownList(PRODUCER, 'The producers that moved last.'),
  journals_not_counted_from: shownList(
    z.string(),
    'Producers with a journal on this machine of which nothing is counted yet.',
  ),
  corrupt_journals: shownCount('Journals on this machine that could not be read whole.'),
  gaps: shownCount('Gaps in the sequences of producers.'),
  missing_records: shownCount('Records in all those gaps together.'),
  dead_letters: shownCount('Records that could not be counted.'),
  gateway: z
    .strictObject({
      uncommitted_records: shownCount('Records in its journals that are not in Postgres yet.'),
      uncommitted_bytes: shownCount('The size of those records.'),
      oldest_uncommitted_ms: shownCount('How long the oldest of them has waited.'),
      open_calls: shownCount('Calls under way.'),
      adopted: shownCount('Journals of dead processes that the gateway has adopted.'),
      corrupt: shownCount('Journals that could not be read whole.'),
      writable: shownFlag('false: new calls are refused.'),
    })
    .describe('The gateway that answers.')
    .optional(),
})

const GAP = shownDocument('LedgerGap', {
  producer: shownText('The run of a gateway that the records are missing from.'),
  from: shownCount('The first missing record.'),
  to: shownCount('The last missing record.'),
  records: shownCount('How many records are missing.'),
  reason: shownText('What the producer or the worker said.'),
  recorded_at: shownMoment('The time at which the gap was found.'),
})

export const ledgerStatus = renderedOperation({
  name: 'ledger.status',
  summary: 'Shows how far the records of each gateway are counted, and what is on its way.',
  role: 'read',
  http: { method: 'GET', path: '/ledger', id: 'getLedger' },
  input: {},
  answer: LEDGER,
  gives: 'The ledger.',
  run: async (ports: LedgerPorts) => ({ state: await ports.inspectLedger(), own: ports.ownJournals() }),
  render: ({ state, own }) => ({
    ...renderLedger(state),
    ...(own === null
      ? {}
      : {
          gateway: {
            uncommitted_records: own.uncommittedRecords,
            uncommitted_bytes: own.uncommittedBytes,
            oldest_uncommitted_ms: Math.round(own.oldestUncommittedMs),
            open_calls: own.openCalls,
            adopted: own.adopted,
            corrupt: own.corrupt,
            writable: own.journalWritable,
          },
        }),
  }),
  command: { words: 'ledger status', print: ({ state }) => statusText(state) },
})

export const ledgerGaps = renderedOperation({
  name: 'ledger.gaps',
  summary: 'Shows records known to be missing, the newest gaps first, at most 100.',
  role: 'read',
  http: { method: 'GET', path: '/ledger/gaps', id: 'listGaps' },
  input: {},
  answer: shownList(GAP),
  gives: 'The gaps.',
  run: ({ pool }: Ports) => selectLedgerStatus(pool),
  render: ({ gaps }: LedgerStatus) => gaps.map(renderGap),
  command: { words: 'ledger gaps', print: gapsText },
})

const RIGHT = { align: 'right' } as const

function statusText(state: LedgerOverview): string {
  const { ledger, backlogs, redisProblem, journals, corruptJournals } = state
  const { gapCount, missingRecords, deadLetters, producerCount } = ledger
  const others = producerCount - ledger.producers.length
  const streams = renderTable(
    [{ heading: 'STREAM' }, { heading: 'WAITING', ...RIGHT }, { heading: 'OLDEST S', ...RIGHT }],
    ledger.streams.map((name) => {
      const backlog = backlogs?.get(name)
      if (backlog === undefined) return [name, '?', '?']
      return [name, `${backlog.entries}`, `${Math.ceil(backlog.oldestMs / 1000)}`]
    }),
  )
  const producers = renderTable(
    [
      { heading: 'PRODUCER' },
      { heading: 'STREAM' },
      { heading: 'COUNTED TO', ...RIGHT },
      { heading: 'LAST MOVED' },
      { heading: 'JOURNAL HERE', ...RIGHT },
    ],
    [
      ...ledger.producers.map(({ producer, stream, committedOffset, movedAt }) => [
        producer,
        stream,
        `${committedOffset}`,
        movedAt.toISOString(),
        journalText(journals.get(producer)),
      ]),
      // Nothing of these producers was counted yet, which matters when Redis or the workers are down.
      ...renderLedger(state).journals_not_counted_from.map((producer) => [
        producer,
        '',
        '',
        others > 0 ? 'long ago or never' : 'never',
        journalText(journals.get(producer)),
      ]),
    ],
  )
  return [
    streams,
    ...(redisProblem === null ? [] : [`Redis: ${redisProblem}`]),
    '',
    producers,
    ...(others > 0 ? [`and ${others} more that moved longer ago`] : []),
    '',
    `${gapCount} gaps with ${missingRecords} missing records, ${deadLetters} dead letters, ${corruptJournals} damaged journals quarantined`,
  ].join('\n')
}

function journalText(bytes: number | undefined): string {
  return bytes === undefined ? '' : `${(bytes / 1_048_576).toFixed(1)} MiB`
}

function gapsText({ gaps, gapCount, missingRecords }: LedgerStatus): string {
  if (gapCount === 0) return 'No record is missing.'
  const table = renderTable(
    [
      { heading: 'PRODUCER' },
      { heading: 'FROM', ...RIGHT },
      { heading: 'TO', ...RIGHT },
      { heading: 'RECORDS', ...RIGHT },
      { heading: 'REASON' },
      { heading: 'RECORDED' },
    ],
    gaps.map(({ producer, from, to, reason, recordedAt }) => [
      producer,
      `${from}`,
      `${to}`,
      `${to - from + 1}`,
      reason,
      recordedAt.toISOString(),
    ]),
  )
  const more = gapCount > gaps.length ? [`and ${gapCount - gaps.length} older gaps`] : []
  return [
    table,
    ...more,
    '',
    `${missingRecords} records are missing. A gateway started on the disk that has their journal brings them.`,
  ].join('\n')
}
