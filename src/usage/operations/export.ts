import { z } from 'zod'
import { AXIS_NAME } from '../../call/axes.ts'
import { addDays, utcDayOf } from '../../domain/utc-day.ts'
import { findClient } from '../../keys/clients.ts'
import { getGroupOfAnyDay } from '../../keys/operations/groups.ts'
import { choiceField, clientField, dayField, formField, textField } from '../../operations/fields.ts'
import { LongText } from '../../operations/long-text.ts'
import { operation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { VALUE } from '../../operations/read-input.ts'
import { invalid, noClient } from '../../operations/refuse.ts'
import type { FocusVersion } from '../export/export-focus.ts'
import type { ExportFormat } from '../export/export-parts.ts'

export const DEFAULT_EXPORT_DAYS = 30

const FORMATS = ['csv', 'jsonl', 'focus', 'cloudevents'] as const satisfies readonly ExportFormat[]

const VERSIONS = ['1.2', '1.3'] as const satisfies readonly FocusVersion[]

const CONTENT_TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv',
  jsonl: 'application/jsonl',
  focus: 'text/csv',
  cloudevents: 'application/jsonl',
}

export const exportUsage = operation({
  name: 'usage.export',
  summary: 'Writes usage and cost for other programs.',
  description:
    'Daily totals, or single calls as CloudEvents, in any number: the text is sent as it is read, and one that breaks off is not whole.',
  role: 'read',
  http: { method: 'GET', path: '/usage/export', id: 'exportUsage' },
  input: {
    format: choiceField(FORMATS, 'The form of the text.', 'format'),
    from: dayField(`The first UTC day. Without it: ${DEFAULT_EXPORT_DAYS} days up to the last.`).optional(),
    to: dayField('The last UTC day. Without it: today.').optional(),
    client: clientField().optional(),
    group: textField(
      'Not cloudevents: what clients used on the days that they were in this group or below it.',
      'group',
    ).optional(),
    axis: formField(AXIS_NAME, 'must be the name of an axis', {
      description: 'csv and jsonl: by the values of this axis, in place of keys, models and upstreams.',
      [VALUE]: 'name',
    }).optional(),
    focus_version: choiceField(
      VERSIONS,
      'The version of the specification of `focus`. Without it: 1.2.',
      'version',
    ).optional(),
  },
  answer: z.custom<LongText>((given) => given instanceof LongText),
  streams: [...new Set(Object.values(CONTENT_TYPES))],
  gives: 'The text.',
  errors: ['not_found', 'conflict'],
  isLong: true,
  command: { words: 'usage export', print: () => '' },
  async run(
    { pool, read, now }: Ports,
    { format, from: first, to: last, client: name, group, axis, focus_version: focus = '1.2' },
  ) {
    const to = last ?? utcDayOf(now())
    const from = first ?? addDays(to, 1 - DEFAULT_EXPORT_DAYS)
    if (from > to) throw invalid('from', `must not be after the last day, and ${from} is after ${to}`)
    const client = name === undefined ? null : await findClient(pool, name)
    if (name !== undefined && client === null) throw noClient(name)
    if (axis !== undefined && format !== 'csv' && format !== 'jsonl')
      throw invalid('axis', 'must be left out: only csv and jsonl can be by an axis')
    if (group !== undefined && format === 'cloudevents')
      throw invalid('group', 'must be left out: single calls know clients alone')
    const groupId = group === undefined ? undefined : (await getGroupOfAnyDay(pool, group)).id
    const scope = { from, to, clientId: client?.id ?? null, axis, groupId }
    const { readExport } = await import('../export/export-parts.ts') // a gateway starts without it
    return await read((source) =>
      LongText.begin(CONTENT_TYPES[format], { format, from, to }, readExport(source, format, scope, focus)),
    )
  },
})
