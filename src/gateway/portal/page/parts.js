import { element } from './elements.js'
import { count, exactUsd, milliseconds, roughly, shortDay, usd } from './format.js'

const SHOWN_ROWS = 50

/** What usage may be grouped by. */
export const GROUPS = [
  { value: 'model', heading: 'Model', name: (row) => row.model },
  { value: 'key', heading: 'Key', name: (row) => row.key_name ?? row.key_id, detail: (row) => row.key_id },
]

/** @param {Record<string, any>[]} rows */
export function drawUsage(frame, rows, group) {
  const sorted = rows.toSorted((a, b) => b.cost_usd - a.cost_usd || b.requests - a.requests)
  draw(
    frame,
    'Nothing was used in these days.',
    [group.heading, 'Requests', ['Input', 'secondary'], ['Output', 'secondary'], 'Cost'],
    sorted
      .slice(0, SHOWN_ROWS)
      .map((row) => [
        named(group.name(row), group.detail?.(row)),
        count(row.requests),
        cell(roughly(row.input_tokens), { class: 'secondary', title: count(row.input_tokens) }),
        cell(roughly(row.output_tokens), { class: 'secondary', title: count(row.output_tokens) }),
        cell(usd(row.cost_usd), { class: 'cost', title: exactUsd(row.cost_usd) }),
      ]),
    sorted.length - SHOWN_ROWS,
  )
}

const PER = { day: 'a day', week: 'a week', month: 'a month', total: 'in all' }
const RATES = { requests: 'Requests a minute', tokens: 'Tokens a minute', concurrent: 'Calls at once' }

/** @param {Record<string, any>[]} limits */
export function drawLimits(frame, limits) {
  const left = (limit) =>
    limit.kind === 'budget' ? share(limit.left_usd, limit.limit_usd) : share(limit.remaining, limit.limit)
  draw(
    frame,
    'There are no limits.',
    ['Limit', 'Left', ['Of', 'secondary'], 'Begins again'],
    limits.toSorted((a, b) => left(a) - left(b)).map((limit) => limitRow(limit, left(limit))),
    0,
    'facts-table',
  )
}

function limitRow(limit, left) {
  const isBudget = limit.kind === 'budget'
  const name = isBudget ? `${limit.soft ? 'Watched budget' : 'Budget'} ${PER[limit.per]}` : RATES[limit.kind]
  const scope = [limit.model, limit.key_id].filter((part) => part !== null).join(' · ')
  const bar = element('span', { class: 'share', 'aria-hidden': 'true' })
  bar.style.width = `${(1 - left) * 100}%`
  return [
    [...named(name, scope), left === 0 ? element('span', { class: 'badge' }, 'used up') : null, bar],
    isBudget ? cell(usd(limit.left_usd), { title: exactUsd(limit.left_usd) }) : count(limit.remaining),
    cell(isBudget ? usd(limit.limit_usd) : count(limit.limit), { class: 'secondary' }),
    isBudget
      ? momentText(limit.until)
      : limit.reset_seconds > 0
        ? `in ${Math.ceil(limit.reset_seconds)} s`
        : 'now',
  ]
}

function share(left, whole) {
  return whole > 0 ? Math.min(1, Math.max(0, left / whole)) : 0
}

function momentText(moment) {
  return moment === null ? 'never' : `${shortDay(moment.slice(0, 10))}, 00:00 UTC`
}

/** @param {Record<string, any>[]} calls */
export function drawCalls(frame, calls) {
  draw(
    frame,
    'No call is kept of these days.',
    ['Arrived, UTC', 'Status', ['Tokens', 'secondary'], ['Took', 'secondary'], 'Cost'],
    calls.map((call) => [
      [
        element('span', {}, `${shortDay(call.arrived_at.slice(0, 10))}, ${call.arrived_at.slice(11, 19)}`),
        ...[call.model, call.key_name ?? call.key_id, call.id].map((text) =>
          element('small', { class: 'belonging' }, element('bdi', {}, text)),
        ),
      ],
      call.status === null ? call.outcome.replaceAll('_', ' ') : String(call.status),
      cell(tokensText(call), { class: 'secondary' }),
      cell(call.latency_ms === null ? '–' : milliseconds(call.latency_ms), { class: 'secondary' }),
      cell(call.cost_usd === null ? 'no price' : usd(Number(call.cost_usd)), {
        class: 'cost',
        title: call.cost_usd,
      }),
    ]),
    0,
    'facts-table',
  )
}

function tokensText({ input_tokens: input, output_tokens: output }) {
  const text = (tokens) => (tokens === null ? '–' : count(tokens))
  return `${text(input)} in, ${text(output)} out`
}

/** @param {{ day: string, reason: string, calls: number }[]} refused */
export function drawRefused(frame, refused) {
  const sorted = refused.toSorted((a, b) => (a.day < b.day ? 1 : a.day > b.day ? -1 : b.calls - a.calls))
  draw(
    frame,
    'No call was refused in these days.',
    ['Day', 'Reason', 'Calls'],
    sorted
      .slice(0, SHOWN_ROWS)
      .map(({ day, reason, calls }) => [shortDay(day), reason.replaceAll('_', ' '), count(calls)]),
    sorted.length - SHOWN_ROWS,
    'facts-table',
  )
}

/** @param {Record<string, any>[]} models */
export function drawModels(frame, models) {
  draw(
    frame,
    'No model is shown.',
    ['Model, and its prices'],
    models.map(({ id, prices }) => [
      [
        ...named(id),
        ...(prices.length === 0 ? ['no price'] : prices.map(priceText)).map((text) =>
          element('small', { class: 'belonging' }, text),
        ),
      ],
    ]),
    0,
    'facts-table',
  )
}

function priceText({ service_tier: tier, hours, context, rates }) {
  const conditions = [
    tier,
    hours === null ? null : `at ${hours}`,
    context === null
      ? null
      : context.up_to === null
        ? `over ${count(context.above)} tokens`
        : `up to ${count(context.up_to)} tokens`,
  ].filter((part) => part !== null)
  const shown = rates.map(
    ({ name, usd: amount, per }) => `${name.replaceAll('_', ' ')} $${amount} per ${per}`,
  )
  return `${conditions.length === 0 ? '' : `${conditions.join(', ')}: `}${shown.join(' · ')}`
}

/** @param {Record<string, any>[]} keys */
export function drawKeys(frame, keys, nowMs = Date.now()) {
  draw(
    frame,
    'There is no key.',
    ['Key', ['Last used', 'secondary'], 'State'],
    keys.map((key) => [
      named(key.name, `${key.prefix}…`),
      cell(key.last_used_at === null ? 'never' : shortDay(key.last_used_at.slice(0, 10)), {
        class: 'secondary',
      }),
      keyState(key, nowMs),
    ]),
    0,
    'facts-table',
  )
}

function keyState({ revoked_at: revoked, expires_at: ends }, nowMs) {
  if (revoked !== null) return `revoked ${shortDay(revoked.slice(0, 10))}`
  if (ends === null) return 'active'
  return `${Date.parse(ends) <= nowMs ? 'ended' : 'until'} ${shortDay(ends.slice(0, 10))}`
}

/** A name from outside, and what stands small under it. */
function named(text, detail = '') {
  return [
    element('bdi', { class: 'name' }, text),
    detail === '' ? null : element('small', { class: 'belonging' }, element('bdi', {}, detail)),
  ]
}

function cell(text, properties) {
  return element('td', properties, text)
}

/**
 * A table, or the sentence that stands for an empty one.
 *
 * @param {(string | [string, string])[]} headings With a class.
 * @param {(string | Node | (Node | null)[])[][]} rows The first of each row names it.
 * @param {number} others Rows that are not shown.
 */
function draw(frame, empty, headings, rows, others, kind = null) {
  if (rows.length === 0) {
    frame.replaceChildren(element('p', { class: 'empty' }, empty))
    return
  }
  const heads = headings.map((heading) =>
    typeof heading === 'string'
      ? element('th', { scope: 'col' }, heading)
      : element('th', { scope: 'col', class: heading[1] }, heading[0]),
  )
  const lines = rows.map(([name, ...cells]) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, ...[name].flat().filter((part) => part !== null)),
      ...cells.map(cellOf),
    ),
  )
  const table = element(
    'table',
    { class: kind },
    element('thead', {}, element('tr', {}, ...heads)),
    element('tbody', {}, ...lines),
  )
  frame.replaceChildren(
    table,
    ...(others > 0 ? [element('p', { class: 'quiet' }, `and ${count(others)} more`)] : []),
  )
  letScroll(frame)
}

/** What is wider than the page can be scrolled by keyboard, too, under the name of its section. */
function letScroll(frame) {
  const attributes = {
    tabindex: '0',
    role: 'group',
    'aria-labelledby': frame.parentElement.getAttribute('aria-labelledby'),
  }
  for (const [name, value] of Object.entries(attributes))
    if (frame.scrollWidth > frame.clientWidth) frame.setAttribute(name, value)
    else frame.removeAttribute(name)
}

function cellOf(content) {
  if (content instanceof Node && content.nodeName === 'TD') return content
  return element('td', {}, ...[content].flat())
}
