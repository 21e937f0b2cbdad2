import { setTimeout as delay } from 'node:timers/promises'
import type { AdmissionLimits } from '../../src/gateway/admission/admission.ts'
import { checkLimits } from '../../src/gateway/admission/stages/limits.ts'
import { CallEstimates } from '../../src/gateway/expected-use/call-estimates.ts'
import { LimitEngine } from '../../src/limits/engine/limit-engine.ts'
import type { Limit, LimitKind } from '../../src/limits/limit.ts'
import { NO_OTHERS } from '../../src/limits/subject.ts'
import { buildCatalog } from '../../src/pricing/catalog/catalog.ts'
import { admitted } from '../../test/gateway/limits/admissions.ts'
import { RedisStandIn } from '../../test/limits/engine/fakes.ts'
import { aRecord } from '../../test/rollup/records.ts'

const TICK_MS = 100
/** Between two of them timers and exchanges run, as between calls of a gateway. */
const BATCH_CALLS = 200
const CLIENT = 'acme'

function limitOf(kind: LimitKind, amount: bigint): Limit {
  return {
    id: kind,
    clientId: CLIENT,
    groupId: null,
    axis: null,
    value: null,
    keyId: null,
    formerKeys: [],
    model: null,
    kind,
    amount,
    raise: null,
    per: kind === 'budget' ? 'day' : null,
    isSoft: false,
    since: null,
    countsCached: true,
    allowsUnpriced: false,
    whenAlone: 'refuse',
  }
}

const BUDGET = limitOf('budget', 10n ** 24n)
const RATES = [
  limitOf('requests', 10n ** 12n),
  limitOf('tokens', 10n ** 12n),
  limitOf('concurrent', 10n ** 6n),
]

/** Far above what is used: what a call costs that is within its limits. */
export const STAGE_CASES: readonly (readonly [name: string, limits: readonly Limit[]])[] = [
  ['no limit', []],
  ['a budget', [BUDGET]],
  ['three rates', RATES],
  ['a budget and three rates', [BUDGET, ...RATES]],
]

/** Microseconds of CPU for the stage, the estimate, the record and the release of a call; exchanges are in it. */
export async function measureStage(limits: readonly Limit[], calls: number): Promise<number> {
  const catalog = buildCatalog()
  const estimates = new CallEstimates(() => catalog, {
    defaultOutputTokens: 4_096,
    jobReservePico: 0n,
  })
  let sequence = 0
  const clock = {
    get nowMs() {
      return performance.now()
    },
    get wallMs() {
      return Date.now()
    },
    pass() {},
  }
  const engine = new LimitEngine({
    limitsOf: () => limits,
    readSpent: async (budgets) => ({
      jobsPico: [],
      spentPico: budgets.map(() => 0n),
      committedOffsets: new Map([['producer', 0]]),
    }),
    others: NO_OTHERS,
    producerOf: () => 'producer',
    producers: ['producer'],
    gatewayId: 'bench',
    hadPeers: async () => false,
    lifeSigns: { give: async () => undefined, findMissing: async () => new Map() },
    store: new RedisStandIn(clock),
    now: () => performance.now(),
    wallNow: Date.now,
    defer: (task) => setImmediate(task),
  })
  const timer = setInterval(() => engine.tick(), TICK_MS)
  const admission: AdmissionLimits = {
    limiter: engine,
    expectedUse: (call) => estimates.estimateCall(call),
    upperUse: (call, model, asked, bytes) => estimates.upperUse(call, model, asked, bytes),
    learn: (expected, record, prompt) => estimates.learn(expected, record, prompt),
  }
  const call = admitted({
    path: '/v1/chat/completions',
    client: CLIENT,
    body: {
      model: 'gpt-4o',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'Say hello in one sentence. '.repeat(40) }],
    },
  })
  const record = aRecord({ clientId: CLIENT })
  const options = { limits: admission, now: Date.now }
  let cpuUs = 0
  for (let done = 0; done < calls; done += BATCH_CALLS) {
    const before = process.cpuUsage()
    for (let at = 0; at < BATCH_CALLS; at++) {
      const refusal = checkLimits(call, options)
      if (refusal instanceof Promise) await refusal
      sequence += 1
      call.limits?.recorded(record, sequence)
      call.release()
    }
    const { user, system } = process.cpuUsage(before)
    cpuUs += user + system
    await delay(1)
  }
  clearInterval(timer)
  return cpuUs / calls
}
