import { z } from 'zod'
import { picoToUsdText } from '../../domain/pico-usd.ts'
import { addDays, utcDayOf } from '../../domain/utc-day.ts'
import {
  shownCountOrNull,
  shownDocument,
  shownList,
  shownMoment,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import { countField, cursorField, dayField, textField } from '../../operations/fields.ts'
import { FOR_THE_PAGE, Part, renderedOperation } from '../../operations/operation.ts'
import type { ClientPorts } from '../../operations/ports.ts'
import { invalid } from '../../operations/refuse.ts'
import { type OwnCall, selectOwnCalls } from '../calls/own-calls.ts'

const DEFAULT_DAYS = 7
export const MOST_LISTED = 500
export const DEFAULT_LISTED = 50
export const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const MILLISECONDS = z.number().nullable()

/** A call in a list, for its client. */
export const CALL = {
  id: shownText('The id of the call, as x-tallygate-call-id has it.'),
  arrived_at: shownMoment('The time at which it arrived.'),
  key_id: shownText('The id of its key.'),
  key_name: shownTextOrNull('The label of that key.'),
  requested_model: shownTextOrNull('The model that it asked for. null: it named none.'),
  model: shownText('The model that it is counted under.'),
  method: shownText('GET, POST, ....'),
  path: shownTextOrNull('Its path, without the query.'),
  status: shownCountOrNull('The status of the answer. null: there was none.'),
  outcome: shownText('complete, client_aborted, upstream_error or interrupted.'),
  usage_source: shownText('reported, estimated, ....'),
  input_tokens: shownCountOrNull('null: not known.'),
  output_tokens: shownCountOrNull('null: not known.'),
  cost_usd: shownTextOrNull('US dollars as decimal text. null: it has no price.'),
  latency_ms: MILLISECONDS.describe('From its arrival to the last byte of the answer.'),
  ttft_ms: MILLISECONDS.describe('To the first byte. null: not known.'),
}

export const ownCalls = renderedOperation({
  name: 'own.calls',
  summary: 'Shows single calls of the client, the newest first, as far as they are kept.',
  role: 'client',
  http: { method: 'GET', path: '/calls', id: 'listOwnCalls' },
  input: {
    from: dayField(`The first UTC day. Without it: ${DEFAULT_DAYS} days up to the last.`).optional(),
    to: dayField('The last UTC day. Without it: today.').optional(),
    key: textField('Only calls with the key of this id.', 'id').optional(),
    model: textField('Only calls of exactly this model.', 'name').optional(),
    limit: countField(MOST_LISTED, `At most so many. Without it: ${DEFAULT_LISTED}.`).optional(),
    cursor: cursorField(UUID).optional(),
  },
  answer: shownList(shownDocument('OwnCall', CALL)),
  gives: 'The calls.',
  command: FOR_THE_PAGE,
  async run({ read, client, now }: ClientPorts, asked) {
    const { to = utcDayOf(now()), key, model, limit = DEFAULT_LISTED, cursor } = asked
    const from = asked.from ?? addDays(to, 1 - DEFAULT_DAYS)
    if (from > to) throw invalid('from', 'must not be after the last day')
    const scope = {
      clientId: client.id,
      fromDay: from,
      toDay: to,
      keyId: key ?? null,
      model: model ?? null,
      before: cursor ?? null,
    }
    const calls = await read((pool) => selectOwnCalls(pool, { ...scope, rows: limit + 1 }))
    const items = calls.slice(0, limit)
    return new Part(items, calls.length > limit ? (items.at(-1)?.call_id ?? null) : null)
  },
  render: (calls: readonly OwnCall[]) => calls.map(renderCall),
})

export function renderCall<Call extends OwnCall>(listed: Call) {
  const { call_id: id, arrived_at: arrivedAt, cost_pico: pico, ...call } = listed
  return {
    id,
    ...call,
    arrived_at: arrivedAt.toISOString(),
    input_tokens: numberOf(call.input_tokens),
    output_tokens: numberOf(call.output_tokens),
    cost_usd: pico === null ? null : picoToUsdText(BigInt(pico)),
    latency_ms: numberOf(call.latency_ms),
    ttft_ms: numberOf(call.ttft_ms),
  }
}

function numberOf(text: string | null): number | null {
  return text === null ? null : Number(text)
}
