import type { Catalog } from '../../pricing/catalog/catalog.ts'
import type { KeptElsewhere } from '../current-catalog.ts'
import { type Environment, readVariable } from '../environment.ts'
import { ConfigError } from '../variables.ts'
import { readConfigFile } from './config-file.ts'
import { loadPriceConfig } from './price-config.ts'
import type { UpstreamConfig } from './upstream.ts'
import { readEnvironmentUpstream } from './upstream.ts'
import { joinUpstreams } from './upstreams.ts'

export interface JobFetchConfig {
  readonly upstreams: readonly UpstreamConfig[]
  readonly catalog: Catalog
  /**
   * The same prices with newer catalogs.
   * @throws {ConfigError} When the files have become invalid since.
   */
  catalogOn(data: KeptElsewhere): Catalog
  /** Names that `/v1/models` shows by configuration. */
  readonly listedModels: ReadonlySet<string>
}

/**
 * `null`: FETCH_JOBS is `false`, or it is not set and the worker knows no upstream, or not all that it would need.
 * @throws {ConfigError} With every problem, where it is `true` or unknown.
 */
export function loadJobFetchConfig(env: Environment): JobFetchConfig | null {
  const wanted = readVariable(env, 'FETCH_JOBS')
  if (wanted === 'false') return null
  const problems: string[] = []
  if (wanted !== null && wanted !== 'true')
    problems.push(`FETCH_JOBS: must be true or false, not "${wanted}"`)
  const { upstreams, models } = joinUpstreams(
    readEnvironmentUpstream(env, problems),
    env,
    readConfigFile(env, problems),
  )
  if (upstreams.length === 0 && problems.length === 0) {
    problems.push('FETCH_JOBS: the worker needs the upstreams too: UPSTREAM_URL or TALLYGATE_CONFIG')
  }
  if (wanted === null && problems.length > 0) return null
  if (problems.length > 0) throw new ConfigError(problems)
  return {
    upstreams,
    catalog: loadPriceConfig(env).catalog,
    catalogOn: (data) => loadPriceConfig(env, data).catalog,
    listedModels: new Set(models?.map(({ id }) => id)),
  }
}
