import type { Place } from '../domain/conditions/condition.ts'
import { type Finding, failure, warning } from '../domain/conditions/finding.ts'
import { reasonOf } from '../lib/reason-of.ts'
import type { Condition } from '../store/conditions/condition.ts'
import { isQueryTimeout } from '../store/connection/postgres.ts'
import { lazyRedis } from '../store/connection/redis.ts'
import { CONDITIONS, type ConditionPorts } from './conditions.ts'

/** What is looked at. */
export interface Examined
  extends Omit<ConditionPorts, 'redis' | 'nowMs' | 'replica' | 'ownPrices'>,
    Partial<Pick<ConditionPorts, 'nowMs' | 'replica' | 'ownPrices'>> {}

const REDIS_SILENCE_MS = 3_000
const PLACES: readonly Place[] = ['postgres', 'redis', 'machine']

/** Inspects everything that can be wrong: one line at least for each thing that was looked at. */
export async function runChecks(examined: Examined): Promise<readonly Finding[]> {
  const redis = lazyRedis(examined.redisUrl, REDIS_SILENCE_MS)
  const ports: ConditionPorts = {
    nowMs: Date.now(),
    replica: null,
    ownPrices: (theirs) => theirs,
    ...examined,
    redis: redis.get,
  }
  try {
    const places = PLACES.map((place) =>
      inspectInTurn(
        CONDITIONS.filter((condition) => condition.place === place),
        ports,
      ),
    )
    return (await Promise.all(places)).flat()
  } finally {
    redis.close()
  }
}

async function inspectInTurn(
  conditions: readonly Condition<ConditionPorts>[],
  ports: ConditionPorts,
): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  for (const condition of conditions) {
    findings.push(...(await inspect(condition, ports)))
    if (findings.at(-1)?.isEnd === true) break
  }
  return findings
}

/** One that takes too long, or fails, must not hide the findings of the others. */
async function inspect(
  { name, find }: Condition<ConditionPorts>,
  ports: ConditionPorts,
): Promise<readonly Finding[]> {
  try {
    return find === undefined ? [] : [await find(ports)].flat()
  } catch (error) {
    if (!isQueryTimeout(error))
      return [
        failure(name, `not known: ${reasonOf(error)}`, 'see that the servers answer, and run doctor again'),
      ]
    return [
      warning(
        name,
        'not known: Postgres answers, but took too long to work it out',
        'look at the load of Postgres, and at how many rows daily_usage and calls have',
      ),
    ]
  }
}

/** All findings as JSON, the same on the command line and over HTTP. */
export function renderFindings(findings: readonly Finding[]) {
  const isSound = findings.every(({ state }) => state !== 'wrong')
  const checks = findings.map(({ name, state, detail, mend }) => ({ name, state, detail, mend }))
  return { ok: isSound, node: process.version, checks }
}
