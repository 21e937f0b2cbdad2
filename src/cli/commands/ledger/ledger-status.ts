import type { Command } from 'commander'
import { inspectLedger, type LedgerOverview } from '../../../doctor/inspect-ledger.ts'
import { renderGap, renderLedger } from '../../../domain/documents/ledger-document.ts'
import { renderTable } from '../../../operations/table.ts'
import { type LedgerStatus, selectLedgerStatus } from '../../../store/ledger/ledger-status.ts'
import type { Cli } from '../../cli.ts'

/** `ledger status`: the producers, their committed offsets, and the records under way. */
export function addLedgerStatusCommand(ledger: Command, cli: Cli): void {
  ledger
    .command('status')
    .description('how far the records of each gateway are counted, and what is on its way')
    .action(async () => {
      const state = await cli.withServers(({ pool, locations }) => inspectLedger({ pool, ...locations }))
      cli.print(renderLedger(state), text(state))
    })
}

/** `ledger gaps`: the known gaps. */
export function addLedgerGapsCommand(ledger: Command, cli: Cli): void {
  ledger
    .command('gaps')
    .description('records known to be missing, the newest gaps first')
    .action(async () => {
      const { gaps, gapCount, missingRecords } = await cli.withServers(({ pool }) => selectLedgerStatus(pool))
      cli.print(gaps.map(renderGap), gapsText(gaps, gapCount, missingRecords))
    })
}

function text(state: LedgerOverview): string {
  const { ledger, backlogs, redisProblem, journals, corruptJournals } = state
  const { gapCount, missingRecords, deadLetters, producerCount } = ledger
  const others = producerCount - ledger.producers.length
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
