import { AXIS_NAME } from '../../call/axes.ts'
import { findClient } from '../../keys/clients.ts'
import { shownCount, shownDocument, shownFlag, shownList, shownText } from '../../operations/answers.ts'
import { clientField, formField, textField } from '../../operations/fields.ts'
import { type Chapter, operation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { invalid, noClient, notFound } from '../../operations/refuse.ts'
import { SCHEMA } from '../../store/connection/schema.ts'

/** What the operations of axes use. */
export interface AxisPorts extends Ports {
  /** The axes that are configured here; `null`: the command line asks. */
  readonly configuredAxes: readonly { readonly name: string; readonly totals: boolean }[] | null
}

export const listAxes = operation({
  name: 'axes.list',
  summary: 'Shows the axes that calls have values on, by name.',
  description: 'Those that are configured at the gateway that answers, and those that have totals.',
  role: 'read',
  http: { method: 'GET', path: '/axes', id: 'listAxes' },
  input: {},
  answer: shownList(
    shownDocument('Axis', {
      name: shownText('The name of the axis, which group_by=axis:NAME takes.'),
      totals: shownFlag('Its values have totals. false: they stand in single calls alone.'),
    }),
  ),
  gives: 'The axes.',
  command: {
    words: 'axis list',
    print: {
      empty: 'Calls have values on no axis.',
      columns: [
        { heading: 'AXIS', cell: ({ name }) => name },
        { heading: 'VALUES', cell: ({ totals }) => (totals ? 'with totals' : 'in single calls') },
      ],
    },
  },
  async run({ pool, configuredAxes }: AxisPorts) {
    const { rows } = await pool.query<{ name: string }>(`select distinct name from ${SCHEMA}.axes`)
    const found = new Map((configuredAxes ?? []).map(({ name, totals }) => [name, totals]))
    for (const { name } of rows) found.set(name, true)
    return [...found].map(([name, totals]) => ({ name, totals })).sort((a, b) => (a.name < b.name ? -1 : 1))
  },
})

const eraseOperation = operation({
  name: 'axes.erase',
  summary: 'Takes a value out of totals and single calls for good; what it adds up to stays.',
  description: 'Counting waits meanwhile. Events that were sent, backups and logs are not touched.',
  role: 'admin',
  http: { method: 'POST', path: '/axes/{axis}/erase', id: 'eraseValue', body: 'ErasedName' },
  input: {
    axis: formField(AXIS_NAME, 'must be the name of an axis', { description: 'The name of the axis.' }),
    value: textField('The value, as reports show it.'),
    client: clientField('Only of this client, by its name.').optional(),
  },
  answer: shownDocument('ErasedValue', {
    ids: shownList(shownText('A number of the value.'), 'Reports show each as (erased NUMBER).'),
    calls: shownCount('Single calls and waiting jobs that had it.'),
  }),
  gives: 'What was erased.',
  errors: ['not_found'],
  changes: {
    event: 'admin.value_erased',
    says: 'value of an axis erased',
    log: ({ ids, calls }) => ({ value_ids: ids, calls }),
  },
  command: {
    words: 'axis erase',
    options: { axis: '<axis>', value: '<value>' },
    print: ({ ids, calls }) => `Erased: ${ids.length} with totals, ${calls} calls.`,
  },
  async run({ pool }: Ports, { axis, value, client }) {
    // Totals are found by these names, so that they must stay as they are.
    if (value.startsWith('(')) throw invalid('value', 'must be one that a call said, which no ( begins')
    const found = client === undefined ? null : await findClient(pool, client)
    if (client !== undefined && found === null) throw noClient(client)
    const { eraseValue } = await import('../erase-value.ts') // a gateway starts without it
    const erased = await eraseValue(pool, axis, value, found?.id ?? null)
    if (erased.ids.length === 0 && erased.calls === 0) throw notFound('No call has this value.', 'value')
    return erased
  },
})

export const AXES_CHAPTER: Chapter<AxisPorts> = {
  words: 'axis',
  about: 'Values that calls have on axes.',
  operations: [listAxes, eraseOperation],
}
