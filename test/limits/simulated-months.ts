import { utcDayOf } from '../../src/domain/utc-day.ts'
import type { Reservation } from '../../src/limits/engine/limiter.ts'
import type { BudgetPeriod, Limit } from '../../src/limits/limit.ts'
import type { PastUse } from '../../src/limits/replay/limit-replay.ts'
import { oneOf, type Random } from '../model/faults/random.ts'
import { type Answer, callOf, Fleet, limitOf, settled } from './engine/fakes.ts'

/** Sunday, 1 November 2026. */
export const MONTH_MS = Date.UTC(2026, 10, 1)
const HOUR_MS = 3_600_000
const MODELS = ['gpt-4o', 'gpt-4o-2024-08-06', 'gpt-4o-mini', 'claude-sonnet-4-5'] as const
const KEYS = ['k', 'l'] as const

/** A limit of any kind, such that calls of such a month reach it. */
export function randomLimit(random: Random): Limit {
  const scope = {
    keyId: random(3) === 0 ? 'k' : null,
    model: random(3) === 0 ? (oneOf(['gpt-4o-mini', 'gpt-4o*'], random) ?? null) : null,
  }
  switch (random(4)) {
    case 0:
      return limitOf('1', { ...scope, kind: 'requests', amount: BigInt(1 + random(6)) })
    case 1:
      return limitOf('1', {
        ...scope,
        kind: 'tokens',
        amount: BigInt(500 + random(6_000)),
        countsCached: random(2) === 0,
      })
    case 2:
      return limitOf('1', { ...scope, kind: 'concurrent', amount: BigInt(1 + random(3)) })
    default: {
      const periods: readonly BudgetPeriod[] = ['day', 'week', 'month', 'total']
      const per = oneOf(periods, random) ?? 'day'
      const amount = BigInt((per === 'day' ? 500 : 5_000) + random(20_000))
      return limitOf('1', { ...scope, per, amount, since: per === 'total' ? '2026-11-01' : null })
    }
  }
}

/** Bursts of calls over a month, some of them side by side. */
export function randomMonth(random: Random): PastUse[] {
  const calls: PastUse[] = []
  let nowMs = MONTH_MS
  for (let burst = 0; burst < 6; burst += 1) {
    nowMs += HOUR_MS + random(100 * HOUR_MS)
    for (let left = 3 + random(12); left > 0; left -= 1) {
      nowMs += random(3) === 0 ? 0 : random(9_000)
      const model = oneOf(MODELS, random) ?? MODELS[0]
      const tokens = 1 + random(2_000)
      calls.push({
        keyId: oneOf(KEYS, random) ?? 'k',
        requestedModel: model,
        model,
        arrivedAtMs: nowMs,
        latencyMs: 1 + random(20_000),
        costPico: BigInt(1 + random(2_000)),
        isUnpriced: false,
        tokens,
        cachedTokens: random(tokens),
        isSettlement: false,
      })
    }
  }
  return calls
}

/** The calls that a gateway refuses which gets them one after the other, as it estimates what they use. */
export async function enforced(limit: Limit, calls: readonly PastUse[]): Promise<number[]> {
  const fleet = new Fleet([limit])
  const { clock } = fleet
  clock.pass(MONTH_MS - clock.wallMs)
  clock.nowMs = 1_000_000
  const refused: number[] = []
  let sequence = 0
  let running: { readonly endsAtMs: number; readonly call: PastUse; readonly held: Reservation }[] = []
  /** Lets time pass, and calls end on their way. */
  const passTo = (wallMs: number) => {
    const ended = running
      .filter(({ endsAtMs }) => endsAtMs <= wallMs)
      .toSorted((a, b) => a.endsAtMs - b.endsAtMs)
    running = running.filter(({ endsAtMs }) => endsAtMs > wallMs)
    for (const { endsAtMs, call, held } of ended) {
      clock.pass(Math.max(0, endsAtMs - clock.wallMs))
      sequence += 1
      const { model, costPico, tokens, cachedTokens } = call
      held.settle([{ model, costPico: costPico ?? 0n, tokens, cachedTokens }], sequence)
      held.release()
      const pico = costPico ?? 0n
      const counted = { clientId: 'c', keyId: call.keyId, model, day: utcDayOf(call.arrivedAtMs), pico }
      fleet.postgres.commit('p1', sequence, counted)
    }
    clock.pass(Math.max(0, wallMs - clock.wallMs))
  }
  const tick = async () => {
    fleet.first.tick()
    await settled()
  }
  for (const [index, call] of calls.entries()) {
    // It has heard of Redis since the call before.
    for (let ms = 1_000; ms > 0; ms -= 100)
      if (call.arrivedAtMs - ms > clock.wallMs) {
        passTo(call.arrivedAtMs - ms)
        await tick()
      }
    passTo(Math.max(call.arrivedAtMs, clock.wallMs))
    const { keyId, model, tokens, costPico, arrivedAtMs } = call
    const estimates = { estimatedPico: costPico ?? 0n, estimatedTokens: tokens }
    let answer: Answer
    void Promise.resolve(fleet.first.admit(callOf({ keyId, model, arrivedAtMs, ...estimates }))).then(
      (found) => {
        answer = found
      },
    )
    await settled()
    for (let tickMs = clock.wallMs + 100; answer === undefined; ) {
      const endMs = Math.min(...running.map(({ endsAtMs }) => endsAtMs))
      passTo(Math.min(tickMs, endMs))
      if (tickMs <= clock.wallMs) {
        await tick()
        tickMs += 100
      } else await settled()
    }
    const decided: Answer = answer
    if (decided === null) continue
    if ('error' in decided) refused.push(index)
    else running.push({ endsAtMs: clock.wallMs + call.latencyMs, call, held: decided })
  }
  return refused
}
