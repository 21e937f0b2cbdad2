import type { Command } from 'commander'
import { Failure } from '../../../doctor/failure.ts'
import { printable, renderTable } from '../../../operations/table.ts'
import { type Retried, retryDeadLetter } from '../../../rollup/retry-dead-letter.ts'
import {
  findDeadLetter,
  type StoredDeadLetter,
  selectDeadLetters,
} from '../../../store/ledger/dead-letters.ts'
import { type LetterId, parseLetterId } from '../../arguments.ts'
import type { Cli } from '../../cli.ts'

/** `dead-letters list | show | retry`: records that could not be counted, and counting them again. */
export function addDeadLettersCommands(program: Command, cli: Cli): void {
  const letters = program.command('dead-letters').description('records that could not be counted')

  letters
    .command('list')
    .description('list the dead letters that wait for a decision, the oldest first')
    .option('--all', 'also those that were counted since')
    .action(async ({ all = false }: { readonly all?: boolean }) => {
      const found = await cli.withServers(({ pool }) => selectDeadLetters(pool, all))
      cli.print(found.map(document), table(found))
    })

  letters
    .command('show')
    .description('show one with its body')
    .argument('<id>', 'producer/sequence, as list shows it', parseLetterId)
    .action(async ({ producer, sequence }: LetterId) => {
      const letter = await cli.withServers(({ pool }) => findDeadLetter(pool, producer, sequence))
      if (letter === null) throw noLetter(idOf({ producer, sequence }))
      cli.print({ ...document(letter), body: letter.body }, text(letter))
    })

  letters
    .command('retry')
    .description('count one after all, or all of them')
    .argument('[id]', 'producer/sequence, as list shows it', parseLetterId)
    .option('--all', 'every one that is not counted yet')
    .action(async (id: LetterId | undefined, { all = false }: { readonly all?: boolean }) => {
      if ((id === undefined) !== all) throw new Failure('say which dead letter, or --all')
      const outcomes = await cli.withServers(async ({ pool }) => {
        const wanted = id === undefined ? await selectDeadLetters(pool, false) : [id]
        const done: Outcome[] = []
        for (const { producer, sequence } of wanted) {
          const retried = await retryDeadLetter(pool, producer, sequence)
          done.push({ id: idOf({ producer, sequence }), ...resultOf(retried) })
        }
        return done
      })
      const [first] = outcomes
      if (id !== undefined && first?.result === 'unknown') throw noLetter(first.id)
      cli.print(outcomes, retriedText(outcomes))
      if (outcomes.some(({ result }) => result === 'refused')) cli.fail()
    })
}

interface Outcome {
  readonly id: string
  readonly result: Retried['kind']
  readonly reason: string | null
  readonly call_id: string | null
}

function resultOf(retried: Retried): Omit<Outcome, 'id'> {
  return {
    result: retried.kind,
    reason: retried.kind === 'refused' ? retried.reason : null,
    call_id: retried.kind === 'counted' ? retried.record.callId : null,
  }
}

function idOf({ producer, sequence }: LetterId): string {
  return `${producer}/${sequence}`
}

function noLetter(id: string): Failure {
  return new Failure(`there is no dead letter ${id}`)
}

function document(letter: StoredDeadLetter) {
  return {
    id: idOf(letter),
    at: letter.at.toISOString(),
    stream: letter.stream,
    sqlstate: letter.sqlState,
    message: letter.message,
    bytes: Buffer.byteLength(letter.body),
    resolved_at: letter.resolvedAt?.toISOString() ?? null,
  }
}

function table(letters: readonly StoredDeadLetter[]): string {
  if (letters.length === 0) return 'Every record could be counted.'
  return renderTable(
    [{ heading: 'ID' }, { heading: 'AT' }, { heading: 'STATE' }, { heading: 'WHY' }],
    letters.map((letter) => [
      idOf(letter),
      letter.at.toISOString(),
      letter.resolvedAt === null ? 'not counted' : 'counted since',
      letter.message,
    ]),
  )
}

function text(letter: StoredDeadLetter): string {
  const state = letter.resolvedAt === null ? 'not counted' : `counted ${letter.resolvedAt.toISOString()}`
  const lines = [
    `${idOf(letter)} of ${letter.stream}, ${letter.at.toISOString()}: ${state}`,
    `${letter.message}${letter.sqlState === null ? '' : ` (${letter.sqlState})`}`,
    letter.body,
  ]
  return lines.map(printable).join('\n')
}

const TEXTS: Readonly<Record<Retried['kind'], string>> = {
  counted: 'counted',
  counted_before: 'was counted before',
  unknown: 'is not there',
  refused: 'cannot be counted',
}

function retriedText(outcomes: readonly Outcome[]): string {
  if (outcomes.length === 0) return 'There is nothing to count.'
  return outcomes
    .map(({ id, result, reason }) =>
      printable(`${id} ${TEXTS[result]}${reason === null ? '' : `: ${reason}`}`),
    )
    .join('\n')
}
