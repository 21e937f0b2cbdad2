import { fitsPattern } from '../../domain/model-name.ts'
import { NO_PATH_RULES } from '../../domain/path-patterns.ts'
import { isPlaceAsked, placeOfUpstream } from '../../pricing/places/upstream-places.ts'
import { entryOf, modelListPathOf } from '../../providers/registry.ts'
import type { ConfigFile, FileUpstream, PathsConfig } from './config-file.ts'
import { readCredentials } from './credentials-config.ts'
import { joinRoutes, type RouteConfig } from './routes.ts'
import type { UpstreamConfig } from './upstream.ts'
import { pricesOfHost, providerOfHost, saysItsCost } from './upstream.ts'

/** A model that `/v1/models` shows. */
export interface ModelConfig {
  readonly id: string
  readonly owned_by: string
  /** Seconds since 1970, where the file says it. */
  readonly created?: number
}

/** Where calls go, and the models shown. */
export interface Upstreams {
  /** The one of UPSTREAM_URL first. */
  readonly upstreams: readonly UpstreamConfig[]
  readonly defaultUpstream: string
  /** The operator named it, so it gets the models that no upstream lists. */
  readonly isDefaultWritten: boolean
  readonly models: readonly ModelConfig[] | null
  /** Names that clients use for models of several upstreams; absent: there are none. */
  readonly routes?: readonly RouteConfig[]
  /** Which calls may pass, whatever their upstream. */
  readonly paths: PathsConfig
}

/**
 * The upstreams of UPSTREAM_URL (`fromEnvironment`) and of the YAML file together. Reports what does not fit
 * together to the file.
 */
export function joinUpstreams(
  fromEnvironment: UpstreamConfig | null,
  env: Readonly<Record<string, string | undefined>>,
  file: ConfigFile,
): Upstreams {
  const first = fromEnvironment === null ? [] : [{ ...fromEnvironment, objects: file.objects }]
  reportDoubles(first, file)
  const upstreams = [...first, ...file.upstreams.map((written) => upstreamOf(written, env, file))]
  const names = [...first.map(({ name }) => name), ...file.upstreamNames.filter((name) => name !== '')]
  if (file.defaultUpstream !== null && !names.includes(file.defaultUpstream)) {
    file.report(
      file.defaultUpstreamLine,
      `default_upstream must be one of ${names.join(', ') || 'the upstreams'}`,
    )
  }
  const defaultUpstream = file.defaultUpstream ?? upstreams[0]?.name ?? ''
  const models = shownModels(file, upstreams, defaultUpstream)
  const routes = joinRoutes(file.routes, names, file.report)
  return {
    upstreams,
    defaultUpstream,
    isDefaultWritten: file.defaultUpstream !== null,
    models,
    paths: file.paths,
    ...(routes.length === 0 ? {} : { routes }),
  }
}

function upstreamOf(
  written: FileUpstream,
  env: Readonly<Record<string, string | undefined>>,
  { objects, report }: ConfigFile,
): UpstreamConfig {
  const { origin, basePath, host } = written.url
  const provider = written.provider ?? providerOfHost(host)
  const apiKey = (written.api_key_env && env[written.api_key_env]) || null
  const place = { provider, host: host.toLowerCase(), hasApiKey: apiKey !== null }
  return {
    name: written.name,
    origin,
    basePath,
    provider,
    apiKey,
    credentials: readCredentials(written, place, env, (what) =>
      report(written.line, `upstream ${written.name}: ${what}`),
    ),
    takesClients: written.credentials === 'client',
    models: written.models === false ? null : (written.models ?? null),
    modelsPath: hasNoList(written) ? null : (written.models_path ?? modelListPathOf(provider)),
    pathPrefix: written.path_prefix ?? null,
    includeUsage: written.include_usage,
    trustReportedCost: written.trust_reported_cost ?? saysItsCost(host),
    pricesOf: written.prices_of ?? pricesOfHost(provider, host),
    place: written.prices_of === undefined ? placeOfUpstream(provider, host, written.deployment) : null,
    paths: written.paths ?? NO_PATH_RULES,
    objects: written.objects ?? objects,
    keepAlive: written.keep_alive,
  }
}

/** Without a credential of the gateway's no list of models can be fetched, unless the operator knows one. */
function hasNoList({ models, models_path: path, credentials }: FileUpstream): boolean {
  return models === false || (credentials === 'client' && path === undefined)
}

function reportDoubles(first: readonly UpstreamConfig[], file: ConfigFile): void {
  const names = new Set(first.map(({ name }) => name))
  const prefixes = new Set<string>()
  for (const { name, path_prefix: prefix, line, ...written } of file.upstreams) {
    const provider = written.provider ?? providerOfHost(written.url.host)
    if (written.deployment !== undefined && !isPlaceAsked(provider)) {
      file.report(line, `deployment is for upstreams on Azure, and ${name} is ${provider}`)
    }
    // Nothing else in a request to it says which server it is for.
    if (entryOf(provider).endpoints.some(({ dialect }) => dialect.callsTools) && prefix === undefined) {
      file.report(line, `upstream ${name} of provider ${provider} needs a path_prefix`)
    }
    if (names.has(name)) file.report(line, `the name ${name} is taken by another upstream`)
    names.add(name)
    if (prefix === undefined) continue
    if (prefixes.has(prefix)) file.report(line, `the path_prefix ${prefix} is taken by another upstream`)
    prefixes.add(prefix)
  }
  const ids = new Set<string>()
  for (const { id, line } of file.models ?? []) {
    if (ids.has(id)) file.report(line, `the model ${id} is listed twice`)
    ids.add(id)
  }
}

function shownModels(
  file: ConfigFile,
  upstreams: readonly UpstreamConfig[],
  defaultUpstream: string,
): readonly ModelConfig[] | null {
  if (file.models === null) return null
  return file.models.map(({ id, owned_by, created }) => {
    const source =
      upstreams.find(({ models }) => models?.some((pattern) => fitsPattern(pattern, id))) ??
      upstreams.find(({ name }) => name === defaultUpstream)
    return {
      id,
      owned_by: owned_by ?? source?.provider ?? 'openai-compatible',
      ...(created === undefined ? {} : { created }),
    }
  })
}
