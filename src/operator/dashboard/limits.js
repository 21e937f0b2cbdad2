import { element } from './elements.js'
import { count, exactUsd, usd } from './format.js'

/** The server sorts them before it cuts. */
export const SHOWN_BUDGETS = 25
const SHOWN_CLIENTS = 10
const PERIODS = { day: 'a day', week: 'a week', month: 'a month', total: 'in all' }

/**
 * What is left of clients' budgets.
 *
 * @param {HTMLElement} frame
 * @param {Record<string, any>[]} budgets As `/admin/v1/limits?sort=used` lists them: one more says that there are others.
 */
export function drawBudgets(frame, budgets) {
  if (budgets.length === 0) {
    frame.replaceChildren(element('p', { class: 'empty' }, 'No client has a budget of its own.'))
    return
  }
  frame.replaceChildren(
    tableOf(['Budget', 'Spent', 'Left', 'Limit'], budgets.slice(0, SHOWN_BUDGETS).map(budgetRow)),
    ...(budgets.length > SHOWN_BUDGETS ? [element('p', { class: 'quiet' }, 'and more, less used')] : []),
  )
}

function budgetRow(budget) {
  const { client, key, model, per, soft, left_usd: left } = budget
  const amount = Number(budget.raised_to ?? budget.limit)
  const spent = Number(budget.spent_usd)
  const bar = element('span', { class: 'share', 'aria-hidden': 'true' })
  bar.style.width = `${Math.min(1, Math.max(0, spent / amount)) * 100}%`
  const scope = [PERIODS[per], model, key, soft ? 'watched only' : null].filter((part) => part !== null)
  return element(
    'tr',
    {},
    element(
      'th',
      { scope: 'row' },
      element('bdi', { class: 'name' }, client),
      spent >= amount ? element('span', { class: 'badge' }, 'spent') : null,
      element('small', { class: 'belonging' }, element('bdi', {}, scope.join(' · '))),
      bar,
    ),
    ...[spent, Number(left), amount].map((value) => element('td', { title: exactUsd(value) }, usd(value))),
  )
}

/**
 * Clients whose calls were refused, most of them first, with the reasons.
 *
 * @param {HTMLElement} frame
 * @param {{ client: string, reason: string, calls: number }[]} refused By client and reason.
 */
export function drawRefused(frame, refused) {
  const clients = new Map()
  for (const { client, reason, calls } of refused) {
    const of = clients.get(client) ?? { calls: 0, reasons: [] }
    of.calls += calls
    of.reasons.push(`${count(calls)} ${reason.replaceAll('_', ' ')}`)
    clients.set(client, of)
  }
  if (clients.size === 0) {
    frame.replaceChildren(element('p', { class: 'empty' }, 'No call was refused in these days.'))
    return
  }
  const sorted = [...clients].sort(([, a], [, b]) => b.calls - a.calls).slice(0, SHOWN_CLIENTS)
  const rows = sorted.map(([client, { calls, reasons }]) =>
    element(
      'tr',
      {},
      element(
        'th',
        { scope: 'row' },
        element('bdi', { class: 'name' }, client === '' ? 'no known client' : client),
        element('small', { class: 'belonging' }, reasons.join(' · ')),
      ),
      element('td', {}, count(calls)),
    ),
  )
  frame.replaceChildren(tableOf(['Client', 'Refused calls'], rows))
}

function tableOf(headings, rows) {
  return element(
    'table',
    {},
    element('thead', {}, element('tr', {}, ...headings.map((text) => element('th', { scope: 'col' }, text)))),
    element('tbody', {}, ...rows),
  )
}
