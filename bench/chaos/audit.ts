import { verifyLedger } from '../../src/corrections/verify.ts'
import type { CallTrace } from '../../src/standalone/prove/load.ts'
import { CLIENTS, callNumberOf, planCall, plannedCost } from '../../src/standalone/prove/planned-calls.ts'
import { readStandInLedger, type StandInLedger } from '../../src/standalone/prove/stand-in-ledger.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import type { Allowances, ExpectedGap } from './allowances.ts'
import { heldBudgets } from './held-budgets.ts'
import { type Death, isUnder } from './lives.ts'
import { isBookedRight, wrongBudgets } from './routed.ts'
import type { World } from './world.ts'

/** What the comparison of everybody's books found. */
export interface Audit {
  /** Call numbers whose client has a whole answer, or which reached the upstream, and which were counted nowhere. */
  readonly lost: ReadonlySet<number>
  /** Calls that were counted more than once, or sent upstream more than once. */
  readonly doubled: ReadonlySet<number>
  /** Calls whose rows say that a gateway died under them. */
  readonly interrupted: ReadonlySet<number>
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

const SHOWN = 5

/**
 * Compares the clients' traces, the upstream's ledger, `calls`, `daily_usage` and `/v1/usage`, call by call.
 *
 * @param deaths of gateways' processes; `null`: they were not watched.
 */
export async function audit(
  world: World,
  traces: readonly CallTrace[],
  deaths: readonly Death[] | null,
): Promise<Audit> {
  const { pool, allowances, isRouted } = world
  const complaints: string[] = []
  const complain = (what: string, which: Iterable<unknown>) => {
    const all = [...which]
    if (all.length > 0)
      complaints.push(
        `${what}: ${all.length} (${all.slice(0, SHOWN).join(', ')}${all.length > SHOWN ? ', …' : ''})`,
      )
  }

  const { rows: all } = await pool.query<Row>(
    `select call_id, client, path, model, input_tokens as input, output_tokens as output, cost_pico as cost, outcome,
       usage_source as source, upstream, status, told_by
     from tallygate.calls`,
  )
  const rows = all.filter(({ told_by }) => told_by === null)
  const upstream = readStandInLedger(world.upstreamLedgerFile)
  const byNumber = new Map<number, Row>()
  const ids = new Set<string>()
  const doubled = new Set<number>()
  const unknownRows: string[] = []
  for (const row of rows) {
    const number = callNumberOf(row.path)
    const trace = number === null ? undefined : traces[number]
    if (number === null || trace === undefined || (trace.callId !== null && trace.callId !== row.call_id))
      unknownRows.push(JSON.stringify(row))
    if (ids.has(row.call_id) || (number !== null && byNumber.has(number))) doubled.add(number ?? -1)
    ids.add(row.call_id)
    if (number !== null) byNumber.set(number, row)
  }

  // What upstreams may bill that did not answer stands beside calls, and is an estimate.
  const stray = all.filter(
    ({ told_by, source }) => told_by !== null && (!ids.has(told_by) || source !== 'estimated' || !isRouted),
  )
  complain(
    'parts of no call',
    stray.map((row) => JSON.stringify(row)),
  )

  const lost = new Set<number>()
  const nameless: number[] = []
  const wrong: string[] = []
  const interrupted = new Set<number>()
  const addedMs = new Map<number, number>()
  let destroyed = 0
  for (const trace of traces) {
    const { number, callId } = trace
    const times = upstream.got.get(number) ?? 0
    if (times > 1 && !isRouted) doubled.add(number)
    const row = byNumber.get(number)
    if (row !== undefined) {
      if (row.outcome === 'interrupted') interrupted.add(number)
      const isDamaged = allowances.calls.has(row.call_id)
      const why = wrongIn(row, trace, { upstream, deaths, isRouted, isDamaged })
      if (why !== null) wrong.push(`${number}, ${why}: ${JSON.stringify(row)} ${JSON.stringify(trace)}`)
    } else if (callId !== null || times > 0) {
      // A call id is answered only where the journal has the call.
      if (callId === null) nameless.push(number)
      else if (allowances.calls.has(callId)) destroyed += 1
      else lost.add(number)
    }
    const service = upstream.done.get(number)
    if (trace.answer === 'whole' && service !== undefined)
      addedMs.set(number, trace.endedMs - trace.beganMs - service.serviceMs)
  }
  // Their clients never saw an id: which of the destroyed calls they are is unknown, but how many there may be is not.
  const destroyedNameless = [...allowances.calls].filter((id) => !ids.has(id)).length - destroyed
  if (nameless.length > destroyedNameless) for (const number of nameless) lost.add(number)
  else destroyed += nameless.length

  complain('rows without a call', unknownRows)
  for (const child of [...world.gateways, ...world.workers]) complaints.push(...child.unbidden)
  complain('lost', lost)
  complain('doubled', doubled)
  complain('counted, but not as they were', wrong)
  complain('totals that are not the sum of their calls', await wrongTotals(pool))
  if (isRouted) {
    complain('budgets that are not the sum of their calls', await wrongBudgets(pool))
    complain('budgets of which ended calls still hold a part', await heldBudgets(world))
  }
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
    complaints.push(`the committed offsets say ${proof.counted} requests, the totals ${proof.totals}`)
  const gaps = await selectGaps(pool)
  const nameOf = ({ producer, from, to, reason }: ExpectedGap) => `${producer} ${from}-${to} ${reason}`
  const expected = new Set(allowances.gaps.map(nameOf))
  const named = new Set(gaps.map(nameOf))
  complain('gaps that were not recorded', expected.difference(named))
  complain('gaps that should not be', named.difference(expected))
  complain('gaps that were given up although their records came', await selectFilled(pool, allowances))

  return {
    lost,
    doubled,
    interrupted,
    destroyed,
    namedGaps: gaps.map(({ reason, from, to }) => ({ reason, sequences: to - from + 1 })),
    rows: rows.length,
    addedMs,
    complaints,
  }
}

/** Clients and models whose `daily_usage` is another than their rows of `calls` add up to. */
async function wrongTotals(pool: Postgres): Promise<string[]> {
  const { rows } = await pool.query(
    `with singly as (
       select client_id, day, model, count(*) filter (where told_by is null) as requests, coalesce(sum(input_tokens), 0) as input,
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
 * Gaps that were filled, but for those of journals that a fault destroyed. Every other record is sent again within
 * the workers' patience. A gap that is filled only after that shows a loss that was detected too late.
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

/** A row of `calls`. */
interface Row {
  readonly call_id: string
  readonly client: string
  readonly path: string
  readonly model: string
  readonly input: string | null
  readonly output: string | null
  readonly cost: string | null
  readonly outcome: string
  /** Where its tokens are from. */
  readonly source: string
  readonly upstream: string
  readonly status: number | null
  /** The call beside which it stands; `null`: it is a call. */
  readonly told_by: string | null
}

interface Witnesses {
  readonly upstream: StandInLedger
  /** `null`: not watched. */
  readonly deaths: readonly Death[] | null
  readonly isRouted: boolean
  /** A fault destroyed what its journal had of the call. */
  readonly isDamaged: boolean
}

/** No prompt or word of a cut call is estimated at more. */
const ESTIMATE_MAX = 1_000

/** In what a row is not what clients, upstream and the ends of processes allow; `null`: in nothing. */
function wrongIn(row: Row, trace: CallTrace, witnesses: Witnesses): string | null {
  const { upstream, deaths, isRouted, isDamaged } = witnesses
  const { number, answer, sawUsage } = trace
  const { client, model } = planCall(number)
  if (row.client !== CLIENTS[client] || row.model !== model) return 'another client or model'
  if (answer === 'refused') return 'no gateway took it'
  const why = wrongTokens(row, number, upstream)
  if (why !== null) return why
  // Every target failed, and the client has the last one's answer.
  const isRefused = isRouted && (row.status ?? 0) >= 400 && row.source === 'none'
  if (row.outcome === 'complete' && !(isRefused && answer !== 'whole')) {
    if (!upstream.done.has(number)) return 'complete, and the upstream had not ended'
    if (row.source !== 'reported') return 'complete without its usage'
    if (isRouted && !isBookedRight(row.upstream, upstream.by.get(number))) return 'booked at another target'
  }
  if (row.outcome === 'client_aborted' && answer === 'whole') return 'the client has it whole'
  // What a fault destroyed of a journal may be the end of a call that was over before.
  if (isDamaged) return null
  if (trace.upstream !== null && row.upstream !== trace.upstream)
    return 'booked at another target than answered'
  if (row.outcome === 'interrupted' && deaths !== null && !deaths.some((death) => isUnder(trace, death)))
    return 'interrupted, and its gateway lived'
  if (answer === 'whole' && row.outcome !== 'complete') return 'not complete, and the client has it whole'
  if (sawUsage && row.source !== 'reported') return 'the client saw the usage'
  return null
}

/** Tokens are exact, or what the upstream had reported until then, or an estimate that says so, or none; cost follows. */
function wrongTokens(row: Row, number: number, { reported, final }: StandInLedger): string | null {
  const { input, output } = planCall(number)
  const has = (inputTokens: number, outputTokens: number) =>
    row.input === `${inputTokens}` && row.output === `${outputTokens}`
  const counted = [row.input, row.output].map(Number)
  const [countedInput = 0, countedOutput = 0] = counted
  if (row.cost !== `${plannedCost(number, countedInput, countedOutput)}`) return 'not the cost of its tokens'
  switch (row.source) {
    case 'reported':
      if (!final.has(number)) return 'usage that was never sent'
      return has(input, output) ? null : 'not its tokens'
    case 'partial':
      if (countedOutput > (reported.get(number) ?? 0)) return 'more than was reported'
      return has(input, countedOutput) && countedOutput > 0 ? null : 'not what was reported'
    case 'estimated':
      if (row.outcome === 'complete' || row.outcome === 'interrupted') return 'estimated'
      if (countedInput !== (reported.has(number) ? input : 0) && countedInput > ESTIMATE_MAX)
        return 'too much for an estimate'
      return countedOutput <= ESTIMATE_MAX ? null : 'too much for an estimate'
    case 'none':
      return row.input === null && row.output === null ? null : 'tokens from nowhere'
    default:
      return `usage ${row.source}`
  }
}
