import { z } from 'zod'
import { DEFAULT_PERIOD_DAYS, daysIn, firstOfMonth, periodOf } from '../../domain/period.ts'
import { addDays, utcDayOf } from '../../domain/utc-day.ts'
import { shownDocument, shownList, shownText } from '../../operations/answers.ts'
import { choiceField, dayCountField, dayField, groupsField } from '../../operations/fields.ts'
import { LongText, type TextPiece } from '../../operations/long-text.ts'
import { FOR_THE_PAGE, operation } from '../../operations/operation.ts'
import type { ClientPorts } from '../../operations/ports.ts'
import { conflict, invalid } from '../../operations/refuse.ts'
import { answerClient } from '../query/answer-usage.ts'
import { FIGURES } from '../query/usage-figures.ts'
import { CLIENT_GROUPS } from '../query/usage-query.ts'
import { DEFAULT_EXPORT_DAYS } from './export.ts'
import { GROUP_NAMES, optional, PERIOD_DAYS, shownFigures } from './usage.ts'

export const CLIENT_USAGE = {
  client: shownText('The name of the client that the key belongs to.'),
  period_days: PERIOD_DAYS,
  ...shownFigures(FIGURES),
  data: shownList(
    shownDocument('UsageGroup', { ...optional(GROUP_NAMES), ...shownFigures(FIGURES) }),
    'Only with group_by.',
  ).optional(),
}

export const ownUsage = operation({
  name: 'own.usage',
  summary: 'Shows what the client used, and what it cost.',
  role: 'client',
  http: { method: 'GET', path: '/usage', id: 'getOwnUsage' },
  input: {
    days: dayCountField().optional(),
    period: choiceField(['month'], 'In place of days: the calendar month to date, UTC.').optional(),
    group_by: groupsField(CLIENT_GROUPS, 'Adds the same figures for each group.').optional(),
  },
  check({ days, period }) {
    if (days !== undefined && period !== undefined) throw invalid('period', 'must be given in place of days')
  },
  answer: shownDocument('OwnUsage', CLIENT_USAGE),
  gives: 'The summary.',
  command: FOR_THE_PAGE,
  async run({ read, client, now }: ClientPorts, asked) {
    const today = utcDayOf(now())
    const month = { fromDay: firstOfMonth(today), toDay: today }
    const days = asked.period === 'month' ? daysIn(month) : (asked.days ?? DEFAULT_PERIOD_DAYS)
    const groupBy = asked.group_by ?? []
    return await read((pool) => answerClient(pool, { client, days, ...periodOf(days, now()), groupBy }))
  },
})

/** The whole text is in memory, so that a reader who is slow holds no connection. */
const MOST_ROWS = 100_000

export const exportOwnUsage = operation({
  name: 'own.export',
  summary: 'Writes what the client used as CSV, as `usage export` does for operators.',
  role: 'client',
  http: { method: 'GET', path: '/usage/export', id: 'exportOwnUsage' },
  input: {
    from: dayField(`The first UTC day. Without it: ${DEFAULT_EXPORT_DAYS} days up to the last.`).optional(),
    to: dayField('The last UTC day. Without it: today.').optional(),
  },
  answer: z.custom<LongText>((given) => given instanceof LongText),
  streams: ['text/csv'],
  gives: 'The text.',
  errors: ['conflict'],
  command: FOR_THE_PAGE,
  async run({ read, client, now }: ClientPorts, { from: first, to: last }) {
    const to = last ?? utcDayOf(now())
    const from = first ?? addDays(to, 1 - DEFAULT_EXPORT_DAYS)
    if (from > to) throw invalid('from', 'must not be after the last day')
    const { readExport } = await import('../export/export-parts.ts') // a gateway starts without it
    const pieces = await read(async (pool) => {
      const all: TextPiece[] = []
      let rows = 0
      for await (const piece of readExport(pool, 'csv', { from, to, clientId: client.id })) {
        rows += piece.rows
        if (rows > MOST_ROWS)
          throw conflict(`These are more than ${MOST_ROWS} rows: ask for fewer days.`, 'from')
        all.push(piece)
      }
      return all
    })
    return await LongText.begin('text/csv', { format: 'csv', from, to }, piecesOf(pieces))
  },
})

async function* piecesOf(pieces: readonly TextPiece[]): AsyncGenerator<TextPiece> {
  yield* pieces
}
