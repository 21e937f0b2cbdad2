import type { Catalog } from '../../pricing/catalog/catalog.ts'
import { ConfigError } from '../config-error.ts'
import type { KeptElsewhere } from '../current-catalog.ts'
import { type Environment, readVariable } from '../environment.ts'
import { readEnvironmentUpstream } from '../environment-upstream.ts'
import { readConfigFile } from './config-file.ts'
import { loadPriceConfig } from './price-config.ts'
import type { UpstreamConfig } from './upstream.ts'
import { joinUpstreams } from './upstreams.ts'

/** The configuration for fetching jobs: upstreams and prices. */
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
 * `null`: FETCH_JOBS is not set, so the worker needs no upstreams and no credentials.
 * @throws {ConfigError} With every problem.
 */
export function loadJobFetchConfig(env: Environment): JobFetchConfig | null {
  const wanted = readVariable(env, 'FETCH_JOBS')
  if (wanted === 'false') return null
  const problems: string[] = []
  if (wanted !== 'true') problems.push(`FETCH_JOBS: must be true or false, not "${wanted}"`)
  const { upstreams, models } = joinUpstreams(
    readEnvironmentUpstream(env, problems),
    env,
    readConfigFile(env, problems),
  )
  if (upstreams.length === 0 && problems.length === 0) {
    problems.push('FETCH_JOBS: the worker needs the upstreams too: UPSTREAM_URL or TALLYGATE_CONFIG')
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return {
    upstreams,
    catalog: loadPriceConfig(env).catalog,
    catalogOn: (data) => loadPriceConfig(env, data).catalog,
    listedModels: new Set(models?.map(({ id }) => id)),
  }
}
