import {
  shownChoice,
  shownCount,
  shownDocument,
  shownList,
  shownMoment,
  shownMomentOrNull,
  shownText,
  shownTextOrNull,
} from '../operations/answers.ts'
import { flagField, formField } from '../operations/fields.ts'
import { type Chapter, operation, renderedOperation } from '../operations/operation.ts'
import type { Ports } from '../operations/ports.ts'
import { VALUE } from '../operations/read-input.ts'
import { invalid, notFound } from '../operations/refuse.ts'
import { printable } from '../operations/table.ts'
import { findDeadLetter, type StoredDeadLetter, selectDeadLetters } from '../store/ledger/dead-letters.ts'
import type { Retried } from './retry-dead-letter.ts'

const LETTER = {
  id: shownText('producer/sequence.'),
  at: shownMoment('The time at which it was put aside.'),
  stream: shownText('The Redis key that it came from.'),
  sqlstate: shownTextOrNull('The error code of Postgres. null: Postgres was not asked.'),
  message: shownText('Why it could not be counted.'),
  bytes: shownCount('The size of the record.'),
  resolved_at: shownMomentOrNull('The time at which it was counted after all. null: it waits.'),
}
const SHOWN_LETTER = shownDocument('DeadLetter', LETTER)

const LETTER_ID = formField(
  /^[0-9a-f]{32}\/[1-9][0-9]{0,15}$/,
  'must be producer/sequence, as dead-letters list shows it',
  { description: 'producer/sequence, as dead-letters list shows it.', [VALUE]: 'id' },
)

export const listLetters = renderedOperation({
  name: 'dead-letters.list',
  summary: 'Shows records that could not be counted and wait for a decision, the oldest first.',
  role: 'read',
  http: { method: 'GET', path: '/dead-letters', id: 'listDeadLetters' },
  input: { all: flagField('Also those that were counted since.').default(false) },
  answer: shownList(SHOWN_LETTER),
  gives: 'The dead letters.',
  run: ({ pool }: Ports, { all }) => selectDeadLetters(pool, all),
  render: (letters: readonly StoredDeadLetter[]) => letters.map(letterDocument),
  command: {
    words: 'dead-letters list',
    print: {
      empty: 'Every record could be counted.',
      columns: [
        { heading: 'ID', cell: idOf },
        { heading: 'AT', cell: ({ at }) => at.toISOString() },
        {
          heading: 'STATE',
          cell: ({ resolvedAt }) => (resolvedAt === null ? 'not counted' : 'counted since'),
        },
        { heading: 'WHY', cell: ({ message }) => message },
      ],
    },
  },
})

const showLetter = renderedOperation({
  name: 'dead-letters.show',
  summary: 'Shows one with its body.',
  description: 'The slash of the id is written %2F in the path.',
  role: 'read',
  http: { method: 'GET', path: '/dead-letters/{id}', id: 'getDeadLetter' },
  input: { id: LETTER_ID },
  answer: shownDocument('WholeDeadLetter', { ...LETTER, body: shownText('The record as it came.') }),
  gives: 'The dead letter.',
  errors: ['not_found'],
  async run({ pool }: Ports, { id }) {
    const { producer, sequence } = readLetterId(id)
    const letter = await findDeadLetter(pool, producer, sequence)
    if (letter === null) throw noLetter(id)
    return letter
  },
  render: (letter: StoredDeadLetter) => ({ ...letterDocument(letter), body: letter.body }),
  command: { words: 'dead-letters show', print: letterText },
})

const OUTCOMES = [
  'counted',
  'counted_before',
  'unknown',
  'refused',
] as const satisfies readonly Retried['kind'][]

const TEXTS: Readonly<Record<Retried['kind'], string>> = {
  counted: 'counted',
  counted_before: 'was counted before',
  unknown: 'is not there',
  refused: 'cannot be counted',
}

const retryLetters = operation({
  name: 'dead-letters.retry',
  summary: 'Counts one after all, or all of them.',
  role: 'write',
  http: { method: 'POST', path: '/dead-letters/retry', id: 'retryDeadLetters', body: 'RetriedLetters' },
  input: {
    id: LETTER_ID.optional(),
    all: flagField('Every one that is not counted yet.').default(false),
  },
  check({ id, all }) {
    if (id === undefined && !all) throw invalid('id', 'is missing: name a dead letter, or say all')
    if (id !== undefined && all) throw invalid('id', 'does not go with all')
  },
  answer: shownList(
    shownDocument('RetriedLetter', {
      id: shownText('producer/sequence.'),
      result: shownChoice(OUTCOMES, 'What came of it.'),
      reason: shownTextOrNull('Why it cannot be counted. null: it was.'),
      call_id: shownTextOrNull('The id of the call that was counted. null: none was.'),
    }),
  ),
  gives: 'What came of each.',
  errors: ['not_found'],
  changes: {
    event: 'admin.letters_retried',
    says: 'dead letters counted again',
    inParts: true,
    log: (outcomes) => ({ counted: outcomes.filter(({ result }) => result === 'counted').length }),
  },
  command: {
    words: 'dead-letters retry',
    options: { id: '[id]' },
    print: (outcomes) =>
      outcomes.length === 0
        ? 'There is nothing to count.'
        : outcomes
            .map(({ id, result, reason }) =>
              printable(`${id} ${TEXTS[result]}${reason === null ? '' : `: ${reason}`}`),
            )
            .join('\n'),
    exitCode: (outcomes) => (outcomes.some(({ result }) => result === 'refused') ? 1 : 0),
  },
  async run({ pool }: Ports, { id }) {
    const { retryDeadLetter } = await import('./retry-dead-letter.ts') // a gateway starts without it
    const wanted = id === undefined ? await selectDeadLetters(pool, false) : [readLetterId(id)]
    const outcomes = []
    for (const { producer, sequence } of wanted) {
      const retried = await retryDeadLetter(pool, producer, sequence)
      outcomes.push({
        id: idOf({ producer, sequence }),
        result: retried.kind,
        reason: retried.kind === 'refused' ? retried.reason : null,
        call_id: retried.kind === 'counted' ? retried.record.callId : null,
      })
    }
    if (id !== undefined && outcomes[0]?.result === 'unknown') throw noLetter(id)
    return outcomes
  },
})

export const DEAD_LETTERS_CHAPTER: Chapter<Ports> = {
  words: 'dead-letters',
  about: 'Records that could not be counted.',
  operations: [listLetters, showLetter, retryLetters],
}

interface LetterId {
  readonly producer: string
  readonly sequence: number
}

function readLetterId(text: string): LetterId {
  const [producer = '', sequence = ''] = text.split('/')
  return { producer, sequence: Number(sequence) }
}

function idOf({ producer, sequence }: LetterId): string {
  return `${producer}/${sequence}`
}

function noLetter(id: string) {
  return notFound(`There is no dead letter ${id}.`, undefined, 'dead-letters list shows them')
}

function letterDocument(letter: StoredDeadLetter) {
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

function letterText(letter: StoredDeadLetter): string {
  const state = letter.resolvedAt === null ? 'not counted' : `counted ${letter.resolvedAt.toISOString()}`
  const lines = [
    `${idOf(letter)} of ${letter.stream}, ${letter.at.toISOString()}: ${state}`,
    `${letter.message}${letter.sqlState === null ? '' : ` (${letter.sqlState})`}`,
    letter.body,
  ]
  return lines.map(printable).join('\n')
}
