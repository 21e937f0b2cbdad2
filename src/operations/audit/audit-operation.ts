import { z } from 'zod'
import { shownDocument, shownList, shownMoment, shownText } from '../answers.ts'
import { countField, cursorField, dayField, lineField, textField } from '../fields.ts'
import { type Chapter, Part, renderedOperation } from '../operation.ts'
import type { Ports } from '../ports.ts'
import { invalid } from '../refuse.ts'
import { type AuditRow, type ChangedRow, selectAudit } from './audit-table.ts'

const MOST_LISTED = 1_000
const DEFAULT_LISTED = 100

const FIELDS = z.record(z.string(), z.unknown()).nullable()

export const listAudit = renderedOperation({
  name: 'audit',
  summary: 'Shows who changed what, from where and when, the newest first.',
  description:
    'Fields are those that differ, as the database has them: amounts of budgets in 1e-12 US dollars, as text. What is secret is in none.',
  role: 'read',
  http: { method: 'GET', path: '/audit', id: 'listAudit' },
  input: {
    who: lineField('Only changes by this: the name of a token, or a user of the command line.').optional(),
    operation: textField('Only changes by this operation, such as keys.revoke.', 'name').optional(),
    of: textField(
      'Only changes of what has this id: a client, key, limit, receiver or token.',
      'id',
    ).optional(),
    from: dayField('The first UTC day.').optional(),
    to: dayField('The last UTC day.').optional(),
    limit: countField(MOST_LISTED, `At most so many. Without it: ${DEFAULT_LISTED}.`).optional(),
    cursor: cursorField(/^[1-9][0-9]{0,17}$/).optional(),
  },
  check({ from, to }) {
    if (from !== undefined && to !== undefined && from > to)
      throw invalid('from', 'must not be after the last day')
  },
  answer: shownList(
    shownDocument('AuditedChange', {
      id: shownText('The number of the change.'),
      at: shownMoment('The time at which it began.'),
      who: shownText('The name of the token, or the user of the command line.'),
      from: shownText('The address of the request, or the machine of the command line.'),
      operation: shownText('What was done.'),
      about: FIELDS.describe('The ids that it was about. null: it runs, or was cut.'),
      changes: shownList(
        z.strictObject({
          what: shownText('The table.'),
          id: shownText('The id of the row.'),
          before: FIELDS.describe('The fields that differ. null: it was made.'),
          after: FIELDS.describe('The same now. null: it was deleted.'),
        }),
        'At most 100 rows.',
      ),
    }),
  ),
  gives: 'The changes.',
  async run({ pool }: Ports, { who, operation, of, from, to, limit = DEFAULT_LISTED, cursor }) {
    const rows = await selectAudit(pool, {
      who: who ?? null,
      operation: operation ?? null,
      rowId: of ?? null,
      fromDay: from ?? null,
      toDay: to ?? null,
      before: cursor ?? null,
      rows: limit + 1,
    })
    const items = rows.slice(0, limit)
    return new Part(items, rows.length > limit ? (items.at(-1)?.id ?? null) : null)
  },
  render: (rows: readonly AuditRow[]) =>
    rows.map(({ id, at, who, origin, operation, about, changes }) => ({
      id,
      at: at.toISOString(),
      who,
      from: origin,
      operation,
      about,
      changes,
    })),
  command: {
    words: 'audit',
    print: {
      empty: 'Nothing was changed.',
      columns: [
        { heading: 'AT', cell: ({ at }) => `${at.toISOString().slice(0, 19)}Z` },
        { heading: 'WHO', cell: ({ who }) => who },
        { heading: 'FROM', cell: ({ origin }) => origin },
        { heading: 'OPERATION', cell: ({ operation }) => operation },
        { heading: 'CHANGED', cell: changesText },
      ],
    },
  },
})

export const AUDIT_CHAPTER: Chapter<Ports> = {
  words: 'audit',
  about: 'Who changed what.',
  operations: [listAudit],
}

function changesText({ about, changes }: AuditRow): string {
  if (changes.length > 0) return changes.map(rowText).join('; ')
  return about === null ? 'has not ended' : fieldsText(about)
}

function rowText({ what, id, before, after }: ChangedRow): string {
  if (before === null) return `${what} ${id}: made, ${fieldsText(after ?? {})}`
  if (after === null) return `${what} ${id}: deleted`
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return `${what} ${id}: ${names.map((name) => `${name} ${valueText(before[name])} -> ${valueText(after[name])}`).join(', ')}`
}

function fieldsText(fields: Readonly<Record<string, unknown>>): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${valueText(value)}`)
    .join(', ')
}

function valueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null)
}
