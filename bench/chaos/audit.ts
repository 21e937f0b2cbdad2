import type { Postgres } from '../../src/store/postgres.ts'
import { verifyLedger } from '../../src/store/verify.ts'
import type { Allowances, ExpectedGap } from './allowances.ts'
import type { Note } from './load.ts'
import { CLIENTS, callNumberOf, planCall } from './tokens.ts'
import { readUpstreamLedger } from './upstream-ledger.ts'
import type { World } from './world.ts'

/** What the comparison of everybody's books found. */
export interface Audit {
  /** Call numbers whose client has a whole answer, or which reached the upstream, and which were counted nowhere. */
  readonly lost: ReadonlySet<number>
  /** Calls that were counted more than once, or sent upstream more than once. */
  readonly doubled: ReadonlySet<number>
  /** Rows that say a gateway died under the call. */
  readonly interrupted: readonly string[]
  /** Calls that a fault destroyed by design (unsynced, or with the whole journal) and that are missing. */
  readonly destroyed: number
  readonly namedGaps: readonly { readonly reason: string; readonly sequences: number }[]
  /** Rows of `calls`. */
  readonly rows: number
  /** Milliseconds that the gateway added to each whole call, by call number. */
  readonly addedMs: ReadonlyMap<number, number>
  /** Everything that is not as it has to be, in words; empty: all books agree. */
  readonly complaints: readonly string[]
}

interface Row {
  readonly call_id: string
  readonly client: string
  readonly model: string
  readonly input: string | null
  readonly output: string | null
  readonly cost: string | null
  readonly outcome: string
}

const SHOWN = 5

/** Compares the clients' notes, the upstream's ledger, `calls`, `daily_usage` and `/v1/usage`, call by call. */
export async function audit(world: World, notes: readonly Note[]): Promise<Audit> {
  const { pool, allowances } = world
  const complaints: string[] = []
  const complain = (what: string, which: Iterable<unknown>) => {
    const all = [...which]
    if (all.length > 0)
      complaints.push(
        `${what}: ${all.length} (${all.slice(0, SHOWN).join(', ')}${all.length > SHOWN ? ', …' : ''})`,
      )
  }

  const { rows } = await pool.query<Row>(
    `select call_id, client, model, input_tokens as input, output_tokens as output, cost_pico as cost, outcome
     from tallygate.calls`,
  )
  const upstream = readUpstreamLedger(world.upstreamLedgerFile)
  const byId = new Map<string, Row>()
  const byNumber = new Map<number, Row>()
  const doubled = new Set<number>()
  for (const row of rows) {
    const number = row.input === null ? null : callNumberOf(Number(row.input))
    if (byId.has(row.call_id)) doubled.add(number ?? -1)
    byId.set(row.call_id, row)
    if (number === null) continue
    if (byNumber.has(number)) doubled.add(number)
    byNumber.set(number, row)
  }

  const lost = new Set<number>()
  const wrong: string[] = []
  const claimed = new Set<string>()
  const addedMs = new Map<number, number>()
  let destroyed = 0
  let nameless = 0
  for (const note of notes) {
    const { number, callId } = note
    const times = upstream.got.get(number) ?? 0
    if (times > 1) doubled.add(number)
    const row = (callId === null ? undefined : byId.get(callId)) ?? byNumber.get(number)
    const allowed = callId !== null && allowances.calls.has(callId)
    if (row !== undefined) {
      claimed.add(row.call_id)
      if (note.answer === 'whole' && !isExact(row, number) && !(allowed && row.outcome === 'interrupted'))
        wrong.push(`${number} ${JSON.stringify(row)}`)
    } else if (note.answer === 'whole' || times > 0) {
      if (allowed) destroyed += 1
      else if (callId === null) nameless += 1
      else lost.add(number)
    }
    const service = upstream.done.get(number)
    if (note.answer === 'whole' && service !== undefined)
      addedMs.set(number, note.endedMs - note.beganMs - service.serviceMs)
  }
  // Calls that died before their client saw a call id: which row is whose nobody knows, but how many there are.
  const unclaimed = rows.filter((row) => !claimed.has(row.call_id))
  const destroyedNameless = [...allowances.calls].filter((id) => !byId.has(id)).length - destroyed
  const missing = nameless - unclaimed.length
  if (missing > destroyedNameless)
    complain('calls cut before their answer are missing', Array(missing - destroyedNameless).fill('?'))
  else if (missing > 0) destroyed += missing
  const begun = notes.filter(({ answer, callId }) => callId === null && answer === 'cut').length
  if (unclaimed.length > begun)
    complain(
      'rows without a call',
      unclaimed.map((row) => row.call_id),
    )

  for (const child of [...world.gateways, ...world.workers]) complaints.push(...child.unbidden)
  complain('lost', lost)
  complain('doubled', doubled)
  complain('counted, but not as they were', wrong)
  complain('totals that are not the sum of their calls', await wrongTotals(pool))
  complain('summaries that are not the totals', await wrongSummaries(world))
  complain(
    'dead letters',
    (await pool.query('select producer, sequence from tallygate.dead_letters')).rows.map((row) =>
      JSON.stringify(row),
    ),
  )
  const { differences, proof } = await verifyLedger(pool, '0001-01-01')
  complain(
    'figures that `ledger verify` finds to differ',
    differences.map(({ key, column, against }) => `${key.day} ${key.model} ${column} against ${against}`),
  )
  if (proof.counted !== proof.totals)
    complaints.push(`the marks say ${proof.counted} requests, the totals ${proof.totals}`)
  const gaps = await selectGaps(pool)
  const nameOf = ({ producer, from, to, reason }: ExpectedGap) => `${producer} ${from}-${to} ${reason}`
  const expected = new Set(allowances.gaps.map(nameOf))
  const named = new Set(gaps.map(nameOf))
  complain('holes that were not named', expected.difference(named))
  complain('gaps that should not be', named.difference(expected))
  complain('holes that were given up although their records came', await selectFilled(pool, allowances))

  return {
    lost,
    doubled,
    interrupted: rows.filter(({ outcome }) => outcome === 'interrupted').map((row) => row.call_id),
    destroyed,
    namedGaps: gaps.map(({ reason, from, to }) => ({ reason, sequences: to - from + 1 })),
    rows: rows.length,
    addedMs,
    complaints,
  }
}

function isExact(row: Row, number: number): boolean {
  const { model, client, input, output, costPico } = planCall(number)
  return (
    row.outcome === 'complete' &&
    row.model === model &&
    row.client === CLIENTS[client] &&
    row.input === `${input}` &&
    row.output === `${output}` &&
    row.cost === `${costPico}`
  )
}

/** Clients and models whose `daily_usage` is another than their rows of `calls` add up to. */
async function wrongTotals(pool: Postgres): Promise<string[]> {
  const { rows } = await pool.query(
    `with singly as (
       select client_id, day, model, count(*) as requests, coalesce(sum(input_tokens), 0) as input,
         coalesce(sum(output_tokens), 0) as output, coalesce(sum(cost_pico), 0) as cost
       from tallygate.calls group by client_id, day, model),
     totals as (
       select client_id, day, model, sum(requests) as requests, sum(input_tokens) as input,
         sum(output_tokens) as output, sum(cost_pico) as cost
       from tallygate.daily_usage group by client_id, day, model)
     select client_id, day, model, s.requests as calls, t.requests as total from singly s full join totals t using (client_id, day, model)
     where (s.requests, s.input, s.output, s.cost) is distinct from (t.requests, t.input, t.output, t.cost)`,
  )
  return rows.map((row) => JSON.stringify(row))
}

/** Clients whose `/v1/usage`, at any gateway, is another than their totals. */
async function wrongSummaries({ pool, gateways, keys }: World): Promise<string[]> {
  const { rows } = await pool.query<Record<'name' | 'requests' | 'input' | 'output' | 'cost', string>>(
    `select c.name, sum(requests) as requests, sum(input_tokens) as input, sum(output_tokens) as output,
       sum(cost_pico + adjusted_pico) as cost
     from tallygate.daily_usage u join tallygate.clients c on c.id = u.client_id group by c.name`,
  )
  const totals = new Map(rows.map((row) => [row.name, row]))
  const wrong: string[] = []
  // Each process of a gateway is asked: connections go to them in turn.
  const asked = gateways
    .filter(({ running }) => running)
    .flatMap((gateway) => Array.from({ length: gateway.processes }, () => gateway))
  for (const { name, port } of asked) {
    for (const [index, client] of CLIENTS.entries()) {
      const answer = await fetch(`http://127.0.0.1:${port}/v1/usage?days=2`, {
        headers: { authorization: `Bearer ${keys[index]}`, connection: 'close' },
      })
      const summary = Object(await answer.json())
      const total = totals.get(client)
      const isRight =
        summary.requests === Number(total?.requests ?? 0) &&
        summary.input_tokens === Number(total?.input ?? 0) &&
        summary.output_tokens === Number(total?.output ?? 0) &&
        Math.abs(summary.cost_usd - Number(total?.cost ?? 0) / 1e12) <= 1e-9 * summary.cost_usd
      if (!isRight)
        wrong.push(`${client} at ${name}: ${JSON.stringify(summary)} for ${JSON.stringify(total)}`)
    }
  }
  return wrong
}

async function selectGaps(pool: Postgres) {
  const { rows } = await pool.query<Record<'producer' | 'from_seq' | 'to_seq' | 'reason', string>>(
    'select producer, from_seq, to_seq, reason from tallygate.ledger_gaps where filled_at is null',
  )
  return rows.map(({ producer, from_seq, to_seq, reason }) => ({
    producer,
    reason,
    from: Number(from_seq),
    to: Number(to_seq),
  }))
}

/**
 * Holes that were filled, but for those of journals that a fault destroyed. Every other record is sent again within
 * the workers' patience: who fills a hole only after that has not seen a loss that was there to be seen.
 */
async function selectFilled(pool: Postgres, { gaps }: Allowances): Promise<string[]> {
  const destroyed = new Set(gaps.map(({ producer }) => producer))
  const { rows } = await pool.query<Record<'producer' | 'from_seq' | 'to_seq' | 'reason', string>>(
    'select producer, from_seq, to_seq, reason from tallygate.ledger_gaps where filled_at is not null',
  )
  return rows
    .filter(({ producer }) => !destroyed.has(producer))
    .map(({ producer, from_seq, to_seq, reason }) => `${producer} ${from_seq}-${to_seq} ${reason}`)
}
