import { z } from 'zod'
import { DEFAULT_PERIOD_DAYS, type Period, periodOf } from '../../domain/period.ts'
import { picoToUsdText } from '../../domain/pico-usd.ts'
import { utcDayOf } from '../../domain/utc-day.ts'
import {
  shownCount,
  shownDay,
  shownDocument,
  shownList,
  shownMoment,
  shownMomentOrNull,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import { renderedOperation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { renderTable } from '../../operations/table.ts'
import {
  checkPeriod,
  PERIOD_FIELDS,
  PERIOD_OPTIONS,
  periodAsked,
} from '../../usage/operations/asked-period.ts'
import type { Limit } from '../limit.ts'
import { describeSort, renderAmount } from '../limit-document.ts'
import type { Replayed, ReplayedClient } from '../replay/replay-calls.ts'
import type { LimitOrder } from '../table/change-limits.ts'
import { AMOUNTS, checkScope, readOneOrder, SCOPE, scopeOf } from './limit-commands.ts'
import { SETTINGS } from './limit-terms.ts'

const { client, default: ofAll, key, model } = SCOPE
const { budget, per, rpm, tpm, concurrent } = AMOUNTS
const { since, cached, unpriced } = SETTINGS
const FIELDS = {
  ...{ client, default: ofAll, key, model, budget, per, rpm, tpm, concurrent, since, cached, unpriced },
  ...PERIOD_FIELDS,
}

const SUMS = {
  calls: shownCount('Calls that the limit is about.'),
  refused_calls: shownCount('Of these, those that it would have refused.'),
  refused_usd: shownText('What those cost.'),
}

interface Found {
  readonly period: Period
  readonly limit: Limit
  readonly replayed: Replayed
}

/** What no replay can know. */
const REMARKS = [
  'What calls reserve while they run is not stored: each is taken at what it used. Gateways reserve more, so limits of tokens and budgets near their end refuse some more.',
  'Calls are taken to come as they did: a client that is refused may wait, try again, or stop. Calls that were refused at the time are not among them.',
  'A call costs what it was metered at.',
]

export const replayOperation = renderedOperation({
  name: 'limits.replay',
  summary: 'Shows which calls of the past a limit would have refused, had it been set.',
  description:
    'Other limits are left out, and nothing is written. Only days whose calls are kept can be replayed.',
  role: 'read',
  http: { method: 'POST', path: '/limits/replay', id: 'replayLimit', body: 'LimitReplay' },
  input: FIELDS,
  check(asked) {
    checkScope(asked)
    checkPeriod(asked)
  },
  answer: shownDocument('ReplayedLimit', {
    from: shownDay('The first UTC day.'),
    to: shownDay('The last one.'),
    ...SUMS,
    clients: shownList(
      shownDocument('ReplayedClient', {
        client: shownTextOrNull('The name of the client. null: it is not known any more.'),
        ...SUMS,
        first_refused_at: shownMomentOrNull('The first call that would have been refused. null: none.'),
      }),
      'Those with most refused calls first.',
    ),
    first_refused: shownList(
      shownDocument('ReplayRefusal', {
        call_id: shownText('The id of the call.'),
        client: shownTextOrNull('The name of its client. null: it is not known any more.'),
        arrived_at: shownMoment('The time at which it arrived.'),
      }),
      'At most 100, in the order of their arrival.',
    ),
    days_without_calls: shownList(z.string(), 'Days of which no calls are kept: they are left out.'),
    remarks: shownList(z.string(), 'What a replay cannot know.'),
  }),
  gives: 'What it would have refused.',
  errors: ['not_found', 'conflict'],
  isLong: true,
  async run(ports: Ports, asked): Promise<Found> {
    const { pool, now, progress } = ports
    const nowMs = now()
    const order = readOneOrder(asked, utcDayOf(nowMs), 'one is replayed at a time')
    const period = periodAsked(asked, nowMs) ?? periodOf(DEFAULT_PERIOD_DAYS, nowMs)
    const scope = await scopeOf(ports, asked)
    const limit = limitOf({ ...order, ...scope }, period)
    const { replayLimit } = await import('../replay/replay-calls.ts') // a gateway starts without it
    const shown = progress('calls')
    const replayed = await replayLimit(pool, limit, period, (day, calls) => shown.at(day, calls))
    return { period, limit, replayed }
  },
  render: ({ period, replayed }: Found) => {
    const { clients, refused, daysWithoutCalls } = replayed
    const names = new Map(clients.map((one) => [one.clientId, one.client]))
    return {
      from: period.fromDay,
      to: period.toDay,
      ...sumsOf(clients),
      clients: sorted(clients).map((one) => ({
        client: one.client,
        ...sumsOf([one]),
        first_refused_at: one.firstRefusedAtMs === null ? null : new Date(one.firstRefusedAtMs).toISOString(),
      })),
      first_refused: refused.map(({ callId, clientId, arrivedAtMs }) => ({
        call_id: callId,
        client: names.get(clientId) ?? null,
        arrived_at: new Date(arrivedAtMs).toISOString(),
      })),
      days_without_calls: daysWithoutCalls,
      remarks: REMARKS,
    }
  },
  command: { words: 'limits replay', options: PERIOD_OPTIONS, print: textOf },
})

/** As it would be if it were set before the period. */
function limitOf(
  order: LimitOrder & Pick<Limit, 'clientId' | 'keyId' | 'model'>,
  { fromDay }: Period,
): Limit {
  const { clientId, keyId, model: name, kind, amount, per: period } = order
  return {
    ...{ groupId: null, axis: null, value: null },
    ...{ id: '', clientId, keyId, formerKeys: [], model: name, kind, amount, raise: null, per: period },
    isSoft: false,
    since: period === 'total' ? (order.since ?? fromDay) : null,
    countsCached: order.countsCached ?? true,
    allowsUnpriced: order.allowsUnpriced ?? false,
    whenAlone: 'refuse',
  }
}

function sumsOf(clients: readonly ReplayedClient[]) {
  const pico = clients.reduce((sum, { refusedPico }) => sum + refusedPico, 0n)
  return {
    calls: clients.reduce((sum, { calls }) => sum + calls, 0),
    refused_calls: clients.reduce((sum, { refused }) => sum + refused, 0),
    refused_usd: picoToUsdText(pico),
  }
}

function sorted(clients: readonly ReplayedClient[]): readonly ReplayedClient[] {
  return clients.toSorted((a, b) => b.refused - a.refused || (`${a.client}` < `${b.client}` ? -1 : 1))
}

function textOf({ period, limit, replayed }: Found): string {
  const { clients, daysWithoutCalls } = replayed
  const cells = (of: readonly ReplayedClient[]) => {
    const { calls, refused_calls: refused, refused_usd: usd } = sumsOf(of)
    return [`${calls}`, `${refused}`, usd]
  }
  const right = (heading: string) => ({ heading, align: 'right' as const })
  const unit = limit.kind === 'budget' ? ' USD:' : ''
  return [
    `${renderAmount(limit, limit.amount)}${unit} ${describeSort(limit)}, ${period.fromDay} to ${period.toDay}, UTC`,
    renderTable(
      [
        { heading: 'CLIENT' },
        ...['CALLS', 'REFUSED', 'REFUSED USD'].map(right),
        { heading: 'FIRST REFUSED' },
      ],
      sorted(clients).map((one) => [
        one.client ?? one.clientId,
        ...cells([one]),
        one.firstRefusedAtMs === null ? '' : `${new Date(one.firstRefusedAtMs).toISOString().slice(0, 19)}Z`,
      ]),
      ['(all)', ...cells(clients), ''],
    ),
    '',
    ...(daysWithoutCalls.length === 0
      ? []
      : [`Left out, as their calls are not kept: ${daysWithoutCalls.join(', ')}.`]),
    ...REMARKS,
  ].join('\n')
}
