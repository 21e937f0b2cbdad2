import { element } from './elements.js'
import { bytes, count, milliseconds, plural } from './format.js'

/** A record is rolled up within two seconds; much longer means that something is away. */
const LATE_MS = 30_000
const SHOWN_MODELS = 8

/** Where the ledger stands, in tiles that say by word and colour whether all is well. */
export function drawLedger(list, ledger) {
  const { gateway, streams } = ledger
  const isRedisAway = streams.some(({ waiting }) => waiting === null)
  const waiting = streams.reduce((sum, stream) => sum + (stream.waiting ?? 0), 0)
  const oldestMs = Math.max(gateway.oldest_uncommitted_ms, ...streams.map((stream) => stream.oldest_ms ?? 0))
  const lateness = oldestMs > LATE_MS ? 'wrong' : 'ok'
  list.replaceChildren(
    tile('Waiting records', count(gateway.uncommitted_records), {
      state: lateness,
      detail: isRedisAway ? 'Redis does not answer' : `${count(waiting)} in Redis, of all gateways`,
    }),
    tile('Lag', milliseconds(oldestMs), {
      state: lateness,
      detail: lateness === 'wrong' ? 'counted late: is a worker running?' : 'the oldest record that waits',
    }),
    tile('Gaps', count(ledger.gaps), {
      state: ledger.gaps > 0 ? 'wrong' : 'ok',
      detail:
        ledger.gaps > 0 ? `${plural(ledger.missing_records, 'record')} missing` : 'no record is missing',
    }),
    tile('Dead letters', count(ledger.dead_letters), {
      state: ledger.dead_letters > 0 ? 'wrong' : 'ok',
      detail: ledger.dead_letters > 0 ? 'could not be counted' : 'every record was counted',
    }),
    tile('Journal', bytes(gateway.uncommitted_bytes), {
      state: gateway.writable && gateway.corrupt === 0 ? 'ok' : 'wrong',
      detail: journalDetail(gateway),
    }),
    tile('Open calls', count(gateway.open_calls), { state: 'ok', detail: 'through this gateway' }),
  )
}

function journalDetail({ writable, corrupt, adopted }) {
  if (!writable) return 'refuses: no call is taken'
  if (corrupt > 0) return `${plural(corrupt, 'journal')} set aside as unreadable`
  return adopted > 0 ? `${count(adopted)} adopted from dead gateways` : 'takes what is written'
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
