import { setTimeout as delay } from 'node:timers/promises'
import { ERRORS } from '../../src/http/errors.ts'
import { selectSpent } from '../../src/limits/spent/select-spent.ts'
import { setLimits } from '../../src/limits/table/change-limits.ts'
import type { CallTrace } from '../../src/standalone/prove/load.ts'
import { TARGETS } from '../../src/standalone/prove/planned-calls.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import type { Gateway } from './gateway.ts'
import type { Injection } from './injection.ts'
import { type Death, isUnder } from './lives.ts'

/** Above what a run can spend: what is reserved, charged and given back is to be exact, and no call refused. */
const BUDGET_PICO = 10_000_000n * 1_000_000_000_000n
/** An open circuit lets a call through after 10 s; after connections that failed again, after 2 minutes at most. */
const CIRCUITS_CLOSE_WITHIN_MS = 180_000
const CIRCUIT = /^tallygate_upstream_circuit_open\{.*?upstream="([^"]*)".*\} 1$/gm

/** Every call reserves of a budget, for the dearest target and for each attempt that may be billed. */
export async function setBudget(pool: Postgres, clientId: string): Promise<void> {
  const budget = { kind: 'budget', per: 'month', isSoft: false, amount: BUDGET_PICO } as const
  await setLimits(pool, { clientId, keyId: null, model: null }, [budget], 'chaos')
}

/** Waits, while calls go on, until every gateway asks all targets again. @returns what is left open, in words. */
export async function awaitClosedCircuits(gateways: readonly Gateway[]): Promise<readonly string[]> {
  const until = performance.now() + CIRCUITS_CLOSE_WITHIN_MS
  while (true) {
    const open: string[] = []
    for (const { name, adminUrl } of gateways) {
      const answer = await fetch(`${adminUrl}/metrics`)
      for (const [, upstream] of (await answer.text()).matchAll(CIRCUIT))
        open.push(`the circuit of ${upstream} at ${name} stays open`)
    }
    if (open.length === 0 || performance.now() > until) return open
    await delay(1_000)
  }
}

/**
 * Calls that failed before their answers began, although a target served, and that no gateway's end cut. A gateway that
 * lacks its disk, or cannot ask what is left of a budget, takes no calls: what it refused so, before it sent anything,
 * has not failed. Neither has a call for which it could ask no further target, as each attempt may be billed.
 *
 * @param sent Numbers of the calls that reached a target.
 * @param wants When stores or disks were away; none: no call may be refused.
 */
export function failedCalls(
  traces: readonly CallTrace[],
  deaths: readonly Death[],
  { sent, wants }: { readonly sent: Pick<ReadonlySet<number>, 'has'>; readonly wants: readonly Injection[] },
): readonly CallTrace[] {
  return traces.filter(
    (trace) =>
      (trace.answer === 'error' || (trace.answer === 'cut' && trace.status === 0)) &&
      !(wants.length > 0 && REFUSALS.includes(trace.status) && !sent.has(trace.number)) &&
      !wants.some((want) => lackedAnAttempt(trace, want)) &&
      !deaths.some((death) => isUnder(trace, death) || isHandedToIt(trace, death)),
  )
}

/** What calls are refused with for want of a disk or a store: of a hard budget, silence grants nothing. */
const REFUSALS: readonly number[] = [ERRORS.metering_unavailable.status, ERRORS.rate_limit_exceeded.status]

/** So long after a store is back a gateway may not know yet what is left of a budget. */
const RECOVERY_MS = 10_000

function lackedAnAttempt({ attempts, beganMs, endedMs }: CallTrace, { fromMs, toMs }: Injection): boolean {
  return attempts !== null && attempts < TARGETS.length && endedMs >= fromMs && beganMs <= toMs + RECOVERY_MS
}

/** A cluster's primary hands connections to a process of it until it learns that this one died. */
const HANDED_MS = 2_000

function isHandedToIt({ gateway, callId, beganMs }: CallTrace, death: Death): boolean {
  return callId === null && death.gateway === gateway && Math.abs(beganMs - death.missedMs) <= HANDED_MS
}

/** Tells whether the target that a call is booked at is one that answered it. */
export function isBookedRight(upstream: string, answeredBy: ReadonlySet<number> | undefined): boolean {
  return [...(answeredBy ?? [])].some((place) => upstream.startsWith(`${TARGETS[place]}-`))
}

/** Clients of whose budget another amount is spent than their calls and attempts cost. */
export async function wrongBudgets(pool: Postgres): Promise<readonly string[]> {
  const { rows } = await pool.query<Record<'id' | 'name' | 'cost', string>>(
    `select c.id, c.name, coalesce((select sum(cost_pico) from tallygate.calls where client_id = c.id), 0) as cost
     from tallygate.clients c`,
  )
  const accounts = rows.map(({ id }) => ({
    clientId: id,
    keyId: null,
    model: null,
    fromDay: '0001-01-01',
    toDay: null,
  }))
  const { spentPico, chargedPico } = await selectSpent(pool, accounts, [])
  return rows.flatMap(({ name, cost }, place) => {
    const spent = (spentPico[place] ?? 0n) - (chargedPico[place] ?? 0n)
    return spent === BigInt(cost) ? [] : [`${name}: ${spent} spent, its calls cost ${cost}`]
  })
}
