import { setTimeout as delay } from 'node:timers/promises'
import { CLIENTS, INEXACT_MODEL, isExact, planCall } from './plan.ts'
import type { SoakRig } from './rig.ts'

/** Whether what was counted is what the upstream was asked. */
export interface Books {
  /** That reached the upstream. */
  readonly calls: number
  readonly counted: number
  readonly lost: number
  readonly doubled: number
  /** Everything that does not agree, in words; empty: the books agree. */
  readonly complaints: readonly string[]
}

interface Counts {
  requests: number
  tokens: number
}

const SETTLES_WITHIN_MS = 120_000
const AGREES_FOR_MS = 3_000

/** Compares until the books agree, and agree again seconds later, or time is up. No calls are made any more. */
export async function settleBooks(rig: SoakRig): Promise<Books> {
  const expected = await expectedOf(rig.originPort)
  const untilMs = performance.now() + SETTLES_WITHIN_MS
  for (let agreed = false; ; ) {
    const books = await compare(rig, expected)
    const agrees = books.complaints.length === 0
    if ((agrees && agreed) || (!agrees && performance.now() > untilMs)) return books
    agreed = agrees
    await delay(agrees ? AGREES_FOR_MS : 1_000)
  }
}

/** By client: calls that the origin received, and tokens of those whose tokens are certain. */
async function expectedOf(originPort: number): Promise<readonly Counts[]> {
  const answer = await fetch(`http://127.0.0.1:${originPort}/received`)
  const received = new Uint8Array(await answer.arrayBuffer())
  const expected = Array.from({ length: CLIENTS }, (): Counts => ({ requests: 0, tokens: 0 }))
  received.forEach((came, number) => {
    const plan = planCall(number)
    const counts = expected[plan.client]
    if (came === 0 || counts === undefined) return
    counts.requests += 1
    if (isExact(plan)) counts.tokens += plan.input + plan.output
  })
  return expected
}

async function compare(rig: SoakRig, expected: readonly Counts[]): Promise<Books> {
  const totals = await totalsOf(rig)
  const singly = await singleCallsOf(rig)
  const complaints: string[] = []
  const sums = { calls: 0, counted: 0, lost: 0, doubled: 0 }
  for (const [index, { requests, tokens }] of expected.entries()) {
    const id = rig.clients[index]?.id ?? ''
    const total = totals.get(id) ?? { requests: 0, tokens: 0 }
    const rows = singly.get(id) ?? { requests: 0, distinct: 0 }
    sums.calls += requests
    sums.counted += total.requests
    sums.lost += Math.max(requests - total.requests, 0)
    sums.doubled += Math.max(total.requests - requests, 0)
    if (total.requests !== requests)
      complaints.push(`client ${index}: ${requests} calls, ${total.requests} in daily_usage`)
    if (total.tokens !== tokens)
      complaints.push(`client ${index}: ${tokens} tokens, ${total.tokens} in daily_usage`)
    if (rows.requests !== requests || rows.distinct !== requests)
      complaints.push(`client ${index}: ${requests} calls, ${rows.requests} rows, ${rows.distinct} call ids`)
    const shown = await shownTo(rig, index)
    if (shown !== requests) complaints.push(`client ${index}: ${requests} calls, ${shown} in its usage`)
  }
  return { ...sums, complaints }
}

async function totalsOf({ stand: { pool } }: SoakRig): Promise<ReadonlyMap<string, Counts>> {
  const { rows } = await pool.query<{ client_id: string; requests: string; tokens: string }>(
    `select client_id, sum(requests) as requests,
       coalesce(sum(input_tokens + output_tokens) filter (where model <> $1), 0) as tokens
     from tallygate.daily_usage group by client_id`,
    [INEXACT_MODEL],
  )
  return new Map(
    rows.map((row) => [row.client_id, { requests: Number(row.requests), tokens: Number(row.tokens) }]),
  )
}

async function singleCallsOf({ stand: { pool } }: SoakRig) {
  const { rows } = await pool.query<{ client_id: string; requests: string; ids: string }>(
    `select client_id, count(*) as requests, count(distinct call_id) as ids
     from tallygate.calls group by client_id`,
  )
  return new Map(
    rows.map((row) => [row.client_id, { requests: Number(row.requests), distinct: Number(row.ids) }]),
  )
}

async function shownTo({ gateway, clients }: SoakRig, client: number): Promise<number> {
  const answer = await fetch(`${gateway.url}/v1/usage?days=2`, {
    headers: { authorization: `Bearer ${clients[client]?.key}` },
  })
  const usage: { readonly requests?: number } = Object(await answer.json())
  return usage.requests ?? Number.NaN
}
