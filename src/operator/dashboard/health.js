import { element } from './elements.js'
import { bytes, count, milliseconds, plural } from './format.js'

const SHOWN_MODELS = 8

/**
 * Where the ledger stands. Whether all is well says `doctor`, by the names of its lines: a tile shows the worst of its
 * own, and what that says.
 */
export function drawLedger(list, ledger, checks = []) {
  const { gateway, streams } = ledger
  const isRedisAway = streams.some(({ waiting }) => waiting === null)
  const waiting = streams.reduce((sum, stream) => sum + (stream.waiting ?? 0), 0)
  const oldestMs = Math.max(gateway.oldest_uncommitted_ms, ...streams.map((stream) => stream.oldest_ms ?? 0))
  const adopted = gateway.adopted > 0 ? `${count(gateway.adopted)} adopted from dead gateways` : null
  const tiles = [
    [
      'Waiting records',
      count(gateway.uncommitted_records),
      ['backlog'],
      isRedisAway ? 'Redis does not answer' : `${count(waiting)} in Redis, of all gateways`,
    ],
    ['Lag', milliseconds(oldestMs), ['backlog', 'workers'], 'the oldest record that waits'],
    ['Gaps', count(ledger.gaps), ['gaps'], 'no record is missing'],
    ['Dead letters', count(ledger.dead_letters), ['dead letters'], 'every record was counted'],
    ['Journal', bytes(gateway.uncommitted_bytes), ['journals', 'disks'], adopted ?? 'takes what is written'],
    ['Open calls', count(gateway.open_calls), [], 'through this gateway'],
  ]
  list.replaceChildren(
    ...tiles.map(([name, value, lines, detail]) => {
      const problem = checks.find((check) => lines.includes(check.name) && check.state !== 'ok')
      return tile(name, value, { state: problem?.state ?? 'ok', detail: problem?.detail ?? detail })
    }),
  )
}

function tile(name, value, { state, detail }) {
  return element(
    'div',
    { class: `tile ${state}` },
    element('dt', {}, name),
    element('dd', {}, value),
    element('dd', { class: 'detail' }, detail),
  )
}

/** What `doctor` found, worst first. */
export function drawChecks(list, { checks }) {
  const order = { wrong: 0, note: 1, ok: 2 }
  const sorted = checks.toSorted((a, b) => order[a.state] - order[b.state])
  list.replaceChildren(
    ...sorted.map(({ name, state, detail, mend }) =>
      element(
        'li',
        { class: state },
        element('span', { class: 'state' }, state),
        element('b', {}, name),
        element('span', {}, detail, mend === null ? null : element('em', {}, mend)),
      ),
    ),
  )
}

/**
 * Reasons for which a price would help; calls with the others reported no figures that it could be for.
 * `null`: not known.
 */
const PRICE_HELPS = new Set([null, 'no_model', 'no_price', 'use_without_price'])

/** Whether a price is what calls without a cost lack. */
export function lacksPrice({ reason }) {
  return PRICE_HELPS.has(reason)
}

/** A warning that names the calls whose cost is in no sum; nothing when there are none. */
export function drawUnpriced(notice, uses) {
  notice.hidden = uses.length === 0
  if (uses.length === 0) return
  const calls = uses.reduce((sum, use) => sum + use.calls, 0)
  const named = uses.slice(0, SHOWN_MODELS).map((use) => {
    const { model, upstream, method, path, reason, calls: ofUse, has_price_now } = use
    const since = has_price_now ? ' · priced since' : ''
    const why = reason === null ? '' : ` · ${reason.replaceAll('_', ' ')}`
    const name = lacksPrice(use) || path === null ? model : `${method} ${path}`
    return element(
      'li',
      {},
      element('bdi', {}, name),
      element('small', {}, `${upstream} · ${plural(ofUse, 'call')}${why}${since}`),
    )
  })
  const others = uses.length - named.length
  notice.replaceChildren(
    element(
      'p',
      {},
      element('b', {}, `${plural(calls, 'call')} without a cost. `),
      `${calls === 1 ? 'It is' : 'They are'} in no sum below. ${mendOf(uses)}`,
    ),
    element('ul', {}, ...named, others > 0 ? element('li', {}, `and ${count(others)} more`) : null),
  )
}

function mendOf(uses) {
  const lacking = uses.filter(lacksPrice)
  if (lacking.length === 0) return 'No price helps: the checks below say what does.'
  return lacking.every(({ has_price_now }) => has_price_now)
    ? 'They have a price by now: correct the past with prices reprice.'
    : "Add prices in TALLYGATE_CONFIG; '0' is what is free."
}
