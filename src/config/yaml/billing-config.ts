import { parseDurationSeconds } from '../../domain/duration.ts'
import { type BillingReceiver, MOUTHS } from '../../statements/billing/mouths.ts'
import { type Environment, readVariable } from '../environment.ts'
import { ConfigError, isHeaderValue } from '../variables.ts'
import { readConfigFile } from './config-file.ts'

/**
 * Billing systems that sums are sent to; empty: none.
 *
 * @throws {ConfigError} Where a secret is not set, or the section has problems.
 */
export function loadBillingConfig(env: Environment): readonly BillingReceiver[] {
  if (readVariable(env, 'TALLYGATE_CONFIG') === null) return []
  const found: string[] = []
  const { billing } = readConfigFile(env, found)
  // What other sections lack here is no matter of a worker.
  const problems = found.filter((problem) => /:\d+: billing\b/.test(problem))
  const receivers = billing.map(
    ({ name, kind, url, secret_env, every, meters, by, sends }): BillingReceiver => {
      const secret = env[secret_env] ?? ''
      if (!isHeaderValue(secret))
        problems.push(
          `billing of ${name}: secret_env names ${secret_env}, which is not set, or has spaces in it`,
        )
      return {
        name,
        kind,
        url: (url ?? MOUTHS[kind].url ?? '').replace(/\/+$/, ''),
        secret,
        everyMs: (parseDurationSeconds(every) ?? 0) * 1_000,
        meters: meters.map(({ measure, as }) => ({ measure, name: as })),
        byModel: by === 'model',
        sends,
      }
    },
  )
  if (problems.length > 0) throw new ConfigError(problems)
  return receivers
}
