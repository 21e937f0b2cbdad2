import type { Command } from 'commander'
import { readJournalSizes } from '../../ledger/journal-sizes.ts'
import { type LedgerStatus, selectLedgerStatus } from '../../store/ledger-state.ts'
import { withRedis } from '../../store/redis-once.ts'
import { readStreamBacklog, type StreamBacklog } from '../../store/redis-state.ts'
import type { Cli } from '../cli.ts'
import { reasonOf } from '../explain-error.ts'
import { type Servers, SILENT } from '../servers.ts'
import { renderTable } from '../table.ts'

const REDIS_SILENCE_MS = 3_000

/** `ledger status`: who writes records, how far they are counted, and what is on its way. */
export function addLedgerStatusCommand(ledger: Command, cli: Cli): void {
  ledger
    .command('status')
    .description('how far the records of each gateway are counted, and what is on its way')
    .action(async () => {
      const state = await cli.withServers(look)
      cli.print(document(state), text(state))
    })
}

/** `ledger gaps`: the holes that are known. */
export function addLedgerGapsCommand(ledger: Command, cli: Cli): void {
  ledger
    .command('gaps')
    .description('records that are known to be missing, the newest holes first')
    .action(async () => {
      const { gaps, gapCount, missingRecords } = await cli.withServers(({ pool }) => selectLedgerStatus(pool))
      const documents = gaps.map(gapDocument)
      cli.print(documents, gapsText(gaps, gapCount, missingRecords))
    })
}

interface State {
  readonly ledger: LedgerStatus
  /** By stream; `null`: Redis is not told of, or does not answer. */
  readonly backlogs: ReadonlyMap<string, StreamBacklog> | null
  /** Why `backlogs` is `null`. */
  readonly redisProblem: string | null
  /** Bytes of the journals on this machine, by producer. */
  readonly journals: ReadonlyMap<string, number>
  readonly corruptJournals: number
}

async function look({ pool, whereabouts }: Servers): Promise<State> {
  const ledger = await selectLedgerStatus(pool)
  const { journals, corrupt } = await readJournalSizes(whereabouts.journalDir)
  const { redisUrl } = whereabouts
  let backlogs: Map<string, StreamBacklog> | null = null
  let redisProblem: string | null = redisUrl === null ? 'REDIS_URL is not set' : null
  if (redisUrl !== null) {
    try {
      backlogs = await withRedis(redisUrl, REDIS_SILENCE_MS, SILENT, async (redis) => {
        const read = ledger.streams.map(
          async (stream) => [stream, await readStreamBacklog(redis, stream)] as const,
        )
        return new Map(await Promise.all(read))
      })
    } catch (error) {
      redisProblem = reasonOf(error)
    }
  }
  return {
    ledger,
    backlogs,
    redisProblem,
    journals: new Map(journals.map(({ producer, bytes }) => [producer, bytes])),
    corruptJournals: corrupt,
  }
}

function document({ ledger, backlogs, journals, corruptJournals }: State) {
  const known = new Set(ledger.producers.map(({ producer }) => producer))
  return {
    streams: ledger.streams.map((name) => ({
      name,
      waiting: backlogs?.get(name)?.entries ?? null,
      oldest_ms: backlogs?.get(name)?.oldestMs ?? null,
    })),
    producer_count: ledger.producerCount,
    producers: ledger.producers.map(({ producer, stream, mark, movedAt }) => ({
      producer,
      stream,
      mark,
      moved_at: movedAt.toISOString(),
      journal_bytes: journals.get(producer) ?? null,
    })),
    journals_not_counted_from: [...journals.keys()].filter((producer) => !known.has(producer)),
    corrupt_journals: corruptJournals,
    gaps: ledger.gapCount,
    missing_records: Number(ledger.missingRecords),
    dead_letters: ledger.deadLetters,
  }
}

function text(state: State): string {
  const { ledger, backlogs, redisProblem, journals, corruptJournals } = state
  const right = { align: 'right' } as const
  const streams = renderTable(
    [{ heading: 'STREAM' }, { heading: 'WAITING', ...right }, { heading: 'OLDEST S', ...right }],
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
      { heading: 'COUNTED TO', ...right },
      { heading: 'LAST MOVED' },
      { heading: 'JOURNAL HERE', ...right },
    ],
    ledger.producers.map(({ producer, stream, mark, movedAt }) => [
      producer,
      stream,
      `${mark}`,
      movedAt.toISOString(),
      journalText(journals.get(producer)),
    ]),
  )
  const { gapCount, missingRecords, deadLetters, producerCount } = ledger
  const others = producerCount - ledger.producers.length
  return [
    streams,
    ...(redisProblem === null ? [] : [`Redis: ${redisProblem}`]),
    '',
    producers,
    ...(others > 0 ? [`and ${others} more that moved longer ago`] : []),
    '',
    `${gapCount} gaps with ${missingRecords} missing records, ${deadLetters} dead letters, ${corruptJournals} journals set aside as damaged`,
  ].join('\n')
}

function journalText(bytes: number | undefined): string {
  return bytes === undefined ? '' : `${(bytes / 1_048_576).toFixed(1)} MiB`
}

function gapDocument({ producer, from, to, reason, recordedAt }: LedgerStatus['gaps'][number]) {
  return { producer, from, to, records: to - from + 1, reason, recorded_at: recordedAt.toISOString() }
}

function gapsText(gaps: LedgerStatus['gaps'], gapCount: number, missingRecords: bigint): string {
  if (gapCount === 0) return 'No record is missing.'
  const right = { align: 'right' } as const
  const table = renderTable(
    [
      { heading: 'PRODUCER' },
      { heading: 'FROM', ...right },
      { heading: 'TO', ...right },
      { heading: 'RECORDS', ...right },
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
