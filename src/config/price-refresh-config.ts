import { AZURE_REGIONS } from '#prices/azure/azure-catalog.ts'
import { PRICE_URLS, type PriceCatalogKind } from '../pricing/sources/price-catalog-source.ts'
import { type Environment, readVariable } from './environment.ts'
import { ConfigError } from './variables.ts'

/** The configuration of the price refresh: where each source's newest data is. */
export interface PriceRefreshConfig {
  /** `null`: it is not fetched. */
  readonly urls: Readonly<Record<PriceCatalogKind, string | null>>
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
  const urls = {
    'genai-prices': readPricesUrl(env, problems, 'genai-prices'),
    'models.dev': readPricesUrl(env, problems, 'models.dev'),
    litellm: readPricesUrl(env, problems, 'litellm'),
    azure: readPricesUrl(env, problems, 'azure'),
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return wanted === 'off' ? null : { urls }
}

const ASKED_ANYWAY: Readonly<Partial<Record<PriceCatalogKind, string>>> = {
  'models.dev': 'https://models.dev/api.json',
  litellm: 'https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json',
  azure: `https://prices.azure.com/api/retail/prices?$filter=${encodeURIComponent(
    `serviceName eq 'Foundry Models' and priceType eq 'Consumption' and (${[...AZURE_REGIONS.keys()]
      .map((region) => `armRegionName eq '${region}'`)
      .join(' or ')})`,
  )}`,
}

/**
 * Where price data is fetched; only an http or https URL without credentials is valid. `null`: nowhere. Where a
 * copy of the first list is named, nothing is to be fetched from elsewhere, so the others have to be named too.
 */
export function readPricesUrl(env: Environment, problems: string[], kind: PriceCatalogKind): string | null {
  const name = PRICE_URLS[kind]
  const isCopied = (env.PRICES_URL ?? '') !== ''
  const url = readVariable(env, name) ?? (isCopied ? null : (ASKED_ANYWAY[kind] ?? null))
  if (url === null) return null
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    problems.push(`${name}: must be an http:// or https:// URL`)
    return url
  }
  const { username, password } = new URL(url)
  // It is kept in Postgres and shown by `doctor`.
  if (username !== '' || password !== '') problems.push(`${name}: must not hold a user or password`)
  return url
}
