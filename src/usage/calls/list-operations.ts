import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { addDays, utcDayOf } from '../../domain/utc-day.ts'
import { findClient } from '../../keys/clients.ts'
import { shownDocument, shownList, shownText } from '../../operations/answers.ts'
import {
  clientField,
  countField,
  cursorField,
  dayField,
  flagField,
  textField,
} from '../../operations/fields.ts'
import { LongText, type TextPiece } from '../../operations/long-text.ts'
import { operation, Part, renderedOperation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { invalid, noClient } from '../../operations/refuse.ts'
import { printable } from '../../operations/table.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { CALL, DEFAULT_LISTED, MOST_LISTED, renderCall, UUID } from '../operations/own-calls.ts'
import { type CallScope, type ListedCall, selectCalls } from './own-calls.ts'

const DEFAULT_DAYS = 7
const MOST_HOURS = 48
const HOUR_MS = 3_600_000

const WHICH = {
  client: clientField().optional(),
  key: textField('Only calls with the key of this id.', 'id').optional(),
  model: textField('Only calls of exactly this model.', 'name').optional(),
  upstream: textField('Only calls that went to this upstream.', 'name').optional(),
  failed: flagField('Only calls that reports count as errors.').default(false),
}

interface Asked {
  readonly client?: string | undefined
  readonly key?: string | undefined
  readonly model?: string | undefined
  readonly upstream?: string | undefined
  readonly failed: boolean
}

async function scopeOf(pool: Postgres, { client: name, key, model, upstream, failed }: Asked) {
  const client = name === undefined ? null : await findClient(pool, name)
  if (name !== undefined && client === null) throw noClient(name)
  const clientId = client?.id ?? null
  return { clientId, keyId: key ?? null, model: model ?? null, upstream: upstream ?? null, hasFailed: failed }
}

export const listCallsOperation = renderedOperation({
  name: 'calls.list',
  summary: 'Shows single calls, the newest first, as far as they are kept.',
  role: 'read',
  http: { method: 'GET', path: '/calls', id: 'listCalls' },
  input: {
    ...WHICH,
    from: dayField(`The first UTC day. Without it: ${DEFAULT_DAYS} days up to the last.`).optional(),
    to: dayField('The last UTC day. Without it: today.').optional(),
    hours: countField(MOST_HOURS, 'Only calls that arrived within the last so many hours.').optional(),
    limit: countField(MOST_LISTED, 'At most so many.').default(DEFAULT_LISTED),
    cursor: cursorField(UUID).optional(),
  },
  answer: shownList(
    shownDocument('ListedCall', {
      client: shownText('The name of the client when the call was counted.'),
      upstream: shownText('The upstream that served it.'),
      ...CALL,
    }),
  ),
  gives: 'The calls.',
  errors: ['not_found'],
  isReport: true,
  async run({ pool, read, now }: Ports, { limit, cursor, hours, ...asked }) {
    const since = hours === undefined ? null : now() - hours * HOUR_MS
    const to = asked.to ?? utcDayOf(now())
    const from = asked.from ?? (since === null ? addDays(to, 1 - DEFAULT_DAYS) : utcDayOf(since))
    if (from > to) throw invalid('from', 'must not be after the last day')
    const scope: CallScope = {
      ...(await scopeOf(pool, asked)),
      fromDay: from,
      toDay: to,
      since: since === null ? null : new Date(since),
      before: cursor ?? null,
      rows: limit + 1,
    }
    const calls = await read((from) => selectCalls(from, scope))
    const items = calls.slice(0, limit)
    return new Part(items, calls.length > limit ? (items.at(-1)?.call_id ?? null) : null)
  },
  render: (calls: readonly ListedCall[]) => calls.map(renderCall),
  command: {
    words: 'calls list',
    print: {
      empty: 'No such call is kept.',
      columns: [
        { heading: 'ARRIVED', cell: (call) => call.arrived_at.toISOString().slice(0, 19) },
        { heading: 'CLIENT', cell: ({ client }) => client },
        { heading: 'MODEL', cell: ({ model }) => model },
        { heading: 'STATUS', align: 'right', cell: ({ status }) => `${status ?? '-'}` },
        { heading: 'INPUT', align: 'right', cell: (call) => call.input_tokens ?? '-' },
        { heading: 'OUTPUT', align: 'right', cell: (call) => call.output_tokens ?? '-' },
        { heading: 'COST USD', align: 'right', cell: (call) => renderCall(call).cost_usd ?? 'unpriced' },
        { heading: 'MS', align: 'right', cell: ({ latency_ms }) => Number(latency_ms ?? 0).toFixed(0) },
        { heading: 'ID', cell: ({ call_id }) => call_id },
      ],
    },
  },
})

const EVERY_MS = 1_000

export const tailCallsOperation = operation({
  name: 'calls.tail',
  summary: 'Shows calls as they are counted, a line each, until it is ended.',
  role: 'read',
  http: { none: ['calls.list'] },
  input: WHICH,
  answer: z.custom<LongText>((given) => given instanceof LongText),
  gives: 'The lines.',
  streams: ['text/plain'],
  async run({ pool, now }: Ports, asked) {
    const scope = await scopeOf(pool, asked)
    const today = utcDayOf(now())
    return await LongText.begin('text/plain', { from: today, to: today }, follow(pool, scope, now))
  },
  command: { words: 'calls tail', print: () => '' },
})

type Scope = Pick<CallScope, 'clientId' | 'keyId' | 'model' | 'upstream' | 'hasFailed'>

/**
 * Calls that are counted from now on. A call is counted when it ends, so one that began earlier may come later: those that
 * were shown are remembered, as far as the newest calls reach.
 */
export async function* follow(
  pool: Postgres,
  scope: Scope,
  now: () => number,
  everyMs = EVERY_MS,
): AsyncGenerator<TextPiece> {
  let shown = await newestOf(pool, scope, now())
  yield { where: null, text: '', rows: 0 }
  for (;;) {
    const newest = await newestOf(pool, scope, now())
    const lines = [...newest].filter(([id]) => !shown.has(id)).map(([, call]) => `${lineOf(call)}\n`)
    shown = newest
    yield { where: null, text: lines.reverse().join(''), rows: lines.length }
    await delay(everyMs)
  }
}

async function newestOf(pool: Postgres, scope: Scope, nowMs: number) {
  const toDay = utcDayOf(nowMs)
  const days = { fromDay: addDays(toDay, -1), toDay }
  const calls = await selectCalls(pool, { ...scope, ...days, since: null, before: null, rows: MOST_LISTED })
  return new Map(calls.map((call) => [call.call_id, call]))
}

function lineOf(call: ListedCall): string {
  const { client, model, status, input_tokens: input, output_tokens: output } = call
  const cost = renderCall(call).cost_usd
  const used = `${input ?? '-'} in, ${output ?? '-'} out, ${cost === null ? 'unpriced' : `${cost} USD`}`
  return printable(
    `${call.arrived_at.toISOString().slice(0, 19)}  ${client}  ${model}  ${status ?? '-'}  ${used}  ${call.call_id}`,
  )
}
