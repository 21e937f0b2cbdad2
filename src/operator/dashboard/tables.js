import { element } from './elements.js'
import { count, exactUsd, milliseconds, plural, roughly, usd } from './format.js'

/** What usage may be grouped by, and what a row is called then. */
export const GROUPS = [
  { value: 'client', by: 'client', heading: 'Client', name: (row) => row.client ?? 'unknown client' },
  { value: 'model', by: 'model', heading: 'Model', name: (row) => row.model },
  {
    value: 'key',
    by: 'client,key',
    heading: 'Key',
    name: (row) => row.key_name ?? row.key_id,
    detail: (row) => `${row.client ?? 'unknown client'} · ${row.key_id}`,
  },
]

const COLUMNS = [
  { id: 'requests', heading: 'Requests', of: (row) => row.requests, text: count },
  { id: 'input', heading: 'Input', of: (row) => row.input_tokens, text: roughly, title: count },
  { id: 'output', heading: 'Output', of: (row) => row.output_tokens, text: roughly, title: count },
  { id: 'latency', heading: 'Avg latency', of: (row) => row.avg_latency_ms, text: milliseconds },
  { id: 'cost', heading: 'Cost', of: (row) => row.cost_usd, text: usd, title: exactUsd },
]

/** More rows are shown when asked for. */
const FIRST_ROWS = 25

/** How the table is sorted, and whether all of it is shown; it outlives a refresh. */
const view = { column: 'cost', all: false }

/**
 * @param {HTMLElement} frame
 * @param {object} shown
 * @param {Record<string, unknown>[]} shown.rows
 * @param {typeof GROUPS[number]} shown.group
 * @param {ReadonlySet<string>} shown.unpriced Names of models that have no price.
 * @param {number} shown.whole What all groups cost, also those that are not among the rows.
 * @param {boolean} shown.isCut Whether there may be others, which cost less.
 */
export function drawUsage(frame, shown) {
  const { rows, group, unpriced, isCut } = shown
  if (rows.length === 0) {
    frame.replaceChildren(element('p', { class: 'empty' }, 'Nothing was used in these days.'))
    return
  }
  const redraw = () => drawUsage(frame, shown)
  const sorted = sort(rows, group)
  const visible = view.all ? sorted : sorted.slice(0, FIRST_ROWS)
  const whole = Math.max(
    shown.whole,
    rows.reduce((sum, row) => sum + row.cost_usd, 0),
  )
  const table = element(
    'table',
    {},
    element(
      'thead',
      {},
      element(
        'tr',
        {},
        headingOf('name', group.heading, redraw),
        ...COLUMNS.map((column) => headingOf(column.id, column.heading, redraw)),
      ),
    ),
    element('tbody', {}, ...visible.map((row) => rowOf(row, group, whole, unpriced))),
  )
  const more = element(
    'button',
    {
      type: 'button',
      class: 'plain more',
      onclick: () => {
        view.all = true
        redraw()
      },
    },
    isCut
      ? `Show the ${plural(rows.length, 'row')} that cost most`
      : `Show all ${plural(rows.length, 'row')}`,
  )
  frame.replaceChildren(table, ...(visible.length < sorted.length ? [more] : []))
}

function sort(rows, group) {
  const byName = (a, b) => group.name(a).localeCompare(group.name(b))
  const column = COLUMNS.find(({ id }) => id === view.column)
  if (column === undefined) return rows.toSorted(byName)
  return rows.toSorted((a, b) => column.of(b) - column.of(a) || b.requests - a.requests || byName(a, b))
}

function headingOf(id, heading, redraw) {
  const isSorted = view.column === id
  const direction = id === 'name' ? 'ascending' : 'descending'
  return element(
    'th',
    { scope: 'col', class: id, 'aria-sort': isSorted ? direction : 'none' },
    element(
      'button',
      {
        type: 'button',
        class: 'plain sort',
        onclick: () => {
          view.column = id
          redraw()
        },
      },
      heading,
    ),
  )
}

function rowOf(row, group, whole, unpriced) {
  const share = whole > 0 ? Math.max(0, row.cost_usd / whole) : 0
  const bar = element('span', { class: 'share', 'aria-hidden': 'true' })
  bar.style.width = `${share * 100}%`
  const hasNoPrice = group.value === 'model' && unpriced.has(row.model)
  const doubts = doubtsOf(row)
  return element(
    'tr',
    {},
    element(
      'th',
      { scope: 'row' },
      element('bdi', { class: 'name' }, group.name(row)),
      hasNoPrice ? element('span', { class: 'badge' }, 'unpriced') : null,
      group.detail === undefined
        ? null
        : element('small', { class: 'belonging' }, element('bdi', {}, group.detail(row))),
      doubts === '' ? null : element('small', { class: 'belonging' }, doubts),
      bar,
    ),
    ...COLUMNS.map((column) => cellOf(row, column, hasNoPrice)),
  )
}

/** Which of its calls are not in its cost, or only in part, and which were counted here. */
function doubtsOf({ unpriced, partly_unpriced, estimated }) {
  return [
    [unpriced, 'unpriced'],
    [partly_unpriced, 'partly priced'],
    [estimated, 'estimated'],
  ]
    .filter(([calls]) => calls > 0)
    .map(([calls, what]) => `${count(calls)} ${what}`)
    .join(' · ')
}

function cellOf(row, { id, of, text, title }, hasNoPrice) {
  const value = of(row)
  // What has no price did not cost nothing.
  const isUnknown = id === 'cost' && value === 0 && hasNoPrice
  return element(
    'td',
    { class: id, title: title === undefined ? null : title(value) },
    isUnknown ? '–' : text(value),
  )
}
