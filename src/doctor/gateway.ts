import { z } from 'zod'
import { type Finding, failure, ok } from '../domain/conditions/finding.ts'
import { reasonOf } from '../lib/reason-of.ts'
import type { Condition } from '../store/conditions/condition.ts'

const TIMEOUT_MS = 2_000
const readiness = z.object({
  degraded: z.array(z.string()).default([]),
  advice: z.array(z.string()).default([]),
})
const UNREADABLE = { degraded: [], advice: [] }

/** What the gateway reports about itself on the operator's listener at `adminUrl`. */
async function checkGateway(adminUrl: string): Promise<Finding> {
  try {
    const response = await fetch(`${adminUrl}/readyz`, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    const { degraded, advice } = readiness.catch(UNREADABLE).parse(await response.json())
    const lacks = degraded.length === 0 ? '' : `, without ${degraded.join(', ')}`
    if (response.ok && degraded.length === 0) return ok('gateway', 'takes calls')
    return failure(
      'gateway',
      response.ok ? `takes calls${lacks}` : `takes no calls (${response.status})${lacks}`,
      advice.length === 0 ? 'see its log' : advice.join('; '),
    )
  } catch (error) {
    return failure('gateway', `does not answer on ${adminUrl}: ${reasonOf(error)}`, 'see its log')
  }
}

export const GATEWAY_ANSWERS: Condition<{ readonly adminUrl: string | null }> = {
  name: 'gateway',
  place: 'machine',
  severity: 'wrong',
  find: async ({ adminUrl }) => (adminUrl === null ? [] : checkGateway(adminUrl)),
}
