import { ConfigError } from './config-error.ts'
import { type Environment, readVariable } from './environment.ts'

/** The configuration of the price refresh. */
export interface PriceRefreshConfig {
  readonly url: string
}

/**
 * `null`: PRICES_REFRESH is off, and nothing is fetched.
 *
 * @throws {ConfigError} with every problem.
 */
export function loadPriceRefreshConfig(env: Environment): PriceRefreshConfig | null {
  const problems: string[] = []
  const wanted = readVariable(env, 'PRICES_REFRESH')
  if (wanted !== 'daily' && wanted !== 'off') {
    problems.push(`PRICES_REFRESH: must be daily or off, not "${wanted}"`)
  }
  const url = readPricesUrl(env, problems)
  if (problems.length > 0) throw new ConfigError(problems)
  return wanted === 'off' ? null : { url }
}

/** Where price data is fetched; only an http or https URL without credentials is valid. */
export function readPricesUrl(env: Environment, problems: string[]): string {
  const url = readVariable(env, 'PRICES_URL') ?? ''
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    problems.push('PRICES_URL: must be an http:// or https:// URL')
    return url
  }
  const { username, password } = new URL(url)
  // It is kept in Postgres and shown by `doctor`.
  if (username !== '' || password !== '') problems.push('PRICES_URL: must not hold a user or password')
  return url
}
