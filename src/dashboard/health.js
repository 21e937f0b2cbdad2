import { element } from './elements.js'
import { bytes, count, milliseconds, plural } from './format.js'

/** A record is rolled up within two seconds; much longer means that something is away. */
const LATE_MS = 30_000
const SHOWN_MODELS = 8

/** Where the ledger stands, in tiles that say by word and colour whether all is well. */
export function drawLedger(list, ledger) {
  const { backlog, journals } = ledger
  const oldestMs = Math.max(backlog?.oldest_ms ?? 0, journals.oldest_uncommitted_ms)
  list.replaceChildren(
    tile('Waiting records', count(journals.uncommitted_records), {
      state: oldestMs > LATE_MS ? 'wrong' : 'ok',
      detail:
        backlog === null ? 'Redis does not answer' : `${count(backlog.entries)} in Redis, of all gateways`,
    }),
    tile('Lag', milliseconds(oldestMs), {
      state: oldestMs > LATE_MS ? 'wrong' : 'ok',
      detail: oldestMs > LATE_MS ? 'counted late: is a worker running?' : 'the oldest record that waits',
    }),
    tile('Gaps', count(ledger.gap_count), {
      state: ledger.gap_count > 0 ? 'wrong' : 'ok',
      detail:
        ledger.gap_count > 0 ? `${plural(ledger.missing_records, 'record')} missing` : 'no record is missing',
    }),
    tile('Dead letters', count(ledger.dead_letters), {
      state: ledger.dead_letters > 0 ? 'wrong' : 'ok',
      detail: ledger.dead_letters > 0 ? 'could not be counted' : 'every record was counted',
    }),
    tile('Journal', bytes(journals.uncommitted_bytes), {
      state: journals.writable && journals.corrupt === 0 ? 'ok' : 'wrong',
      detail: journalDetail(journals),
    }),
    tile('Open calls', count(journals.open_calls), { state: 'ok', detail: 'through this gateway' }),
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

/** A warning that names the models whose cost is in no sum; nothing when there are none. */
export function drawUnpriced(notice, models) {
  notice.hidden = models.length === 0
  if (models.length === 0) return
  const calls = models.reduce((sum, model) => sum + model.calls, 0)
  const named = models
    .slice(0, SHOWN_MODELS)
    .map(({ model, provider, calls: ofModel }) =>
      element(
        'li',
        {},
        element('bdi', {}, model),
        element('small', {}, `${provider} · ${plural(ofModel, 'call')}`),
      ),
    )
  const others = models.length - named.length
  notice.replaceChildren(
    element(
      'p',
      {},
      element('b', {}, `${plural(models.length, 'model')} without a price. `),
      `${plural(calls, 'call')} ${calls === 1 ? 'is' : 'are'} in no cost below. Add prices in TALLYGATE_CONFIG; '0' is what is free.`,
    ),
    element('ul', {}, ...named, others > 0 ? element('li', {}, `and ${count(others)} more`) : null),
  )
}
