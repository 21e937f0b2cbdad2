import { NO_VALUE } from '../../src/call/axes.ts'
import { callNumberOf } from '../../src/standalone/prove/planned-calls.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import { readReport } from '../../src/usage/report/read-report.ts'
import { periodOfAll } from './groups.ts'

/** Two axes with totals, by header. */
export const AXES = `axes:
  - { name: user, from: [{ header: x-user }] }
  - { name: feature, from: [{ header: x-feature }] }`

const NAMES = ['user', 'feature'] as const
const USERS = 97
const FEATURES = 5
/** One call in so many is for no feature. */
const NONE_EVERY = 7

/** The headers by which a call says its values. */
export function valuesOf(number: number): Readonly<Record<string, string>> {
  return {
    'x-user': `user-${number % USERS}`,
    ...(number % NONE_EVERY === 0 ? {} : { 'x-feature': `feature-${number % FEATURES}` }),
  }
}

interface Sums {
  requests: bigint
  costPico: bigint
}

/** By value: what calls that were counted add up to, by what their clients had said of them. */
async function sumCalls(pool: Postgres, axis: (typeof NAMES)[number]): Promise<ReadonlyMap<string, Sums>> {
  const { rows } = await pool.query<{ path: string; cost: string | null; is_call: boolean }>(
    'select path, cost_pico as cost, told_by is null as is_call from tallygate.calls',
  )
  const sums = new Map<string, Sums>()
  for (const { path, cost, is_call } of rows) {
    const value = valuesOf(callNumberOf(path) ?? 0)[`x-${axis}`] ?? NO_VALUE
    const sum = sums.get(value) ?? { requests: 0n, costPico: 0n }
    sum.requests += is_call ? 1n : 0n
    sum.costPico += BigInt(cost ?? 0)
    sums.set(value, sum)
  }
  return sums
}

/** Values whose sums are not those of their calls, and axes that are not the whole, each in words; empty: none. */
export async function wrongAxes(pool: Postgres): Promise<readonly string[]> {
  const wrong: string[] = []
  for (const axis of NAMES) {
    const { totals, rows } = await reportOf(pool, axis)
    const expected = await sumCalls(pool, axis)
    const found = new Map(rows.map(({ names, now }) => [names[0]?.id ?? '', now]))
    for (const value of new Set([...expected.keys(), ...found.keys()])) {
      const [own, counted] = [expected.get(value), found.get(value)]
      if (own?.requests !== counted?.requests || own?.costPico !== counted?.costPico)
        wrong.push(`${axis} ${value}: ${textOf(counted)} instead of ${textOf(own)}`)
    }
    const sum = rows.reduce((all, { now }) => add(all, now), NOTHING)
    if (textOf(sum) !== textOf(totals.now))
      wrong.push(`${axis} adds up to ${textOf(sum)} instead of ${textOf(totals.now)}`)
  }
  return wrong
}

const NOTHING: Sums = { requests: 0n, costPico: 0n }

function add(one: Sums, other: Sums): Sums {
  return { requests: one.requests + other.requests, costPico: one.costPico + other.costPico }
}

function textOf(sums: Sums | undefined): string {
  return sums === undefined ? 'nothing' : `${sums.requests} calls, ${sums.costPico} pUSD`
}

export async function describeAxes(pool: Postgres): Promise<string> {
  const parts = await Promise.all(
    NAMES.map(async (axis) => {
      const { totals, rows } = await reportOf(pool, axis)
      return `${axis} ${rows.length} values, of ${textOf(totals.now)}`
    }),
  )
  return parts.join('; ')
}

async function reportOf(pool: Postgres, axis: string) {
  const answer = await readReport(
    pool,
    {
      period: await periodOfAll(pool),
      groupBy: [`axis:${axis}`],
      ...{ before: null, filters: [], interval: null, top: 1, sort: 'cost', order: 'desc' },
      ...{ search: null, limit: 1_000, after: null },
    },
    () => false,
  )
  if (answer.kind === 'same') throw new Error('nothing is held')
  return answer.report
}
