import type { z } from 'zod'
import { NO_PATH_RULES } from '../domain/path-rules.ts'
import { placeOfUpstream } from '../pricing/places/upstream-places.ts'
import { modelListPathOf, PROVIDERS } from '../providers/registry.ts'
import type { Environment, EnvironmentName } from './environment.ts'
import { choice, readVariables, upstreamUrl, word } from './variables.ts'
import type { UpstreamConfig } from './yaml/upstream.ts'
import { pricesOfHost, providerOfHost, saysItsCost } from './yaml/upstream.ts'

const upstreamVariables = {
  UPSTREAM_URL: upstreamUrl.nullable(),
  UPSTREAM_API_KEY: word.nullable(),
  UPSTREAM_PROVIDER: choice(PROVIDERS).nullable(),
} as const satisfies Partial<Record<EnvironmentName, z.ZodType>>

/** The upstream that UPSTREAM_URL describes, named `default`; `null`: it is unset, or wrong. */
export function readEnvironmentUpstream(env: Environment, problems: string[]): UpstreamConfig | null {
  const values = readVariables(env, upstreamVariables, problems)
  if (values === null) return null
  const { UPSTREAM_URL: address, UPSTREAM_API_KEY: apiKey, UPSTREAM_PROVIDER: provider } = values
  if (address === null) return null
  return {
    name: 'default',
    origin: address.origin,
    basePath: address.basePath,
    provider: provider ?? providerOfHost(address.host),
    apiKey,
    models: null,
    modelsPath: modelListPathOf(provider ?? providerOfHost(address.host)),
    pathPrefix: null,
    includeUsage: 'auto',
    trustReportedCost: saysItsCost(address.host),
    pricesOf: pricesOfHost(provider ?? providerOfHost(address.host), address.host),
    place: placeOfUpstream(provider ?? providerOfHost(address.host), address.host, undefined),
    paths: NO_PATH_RULES,
    objects: 'owned',
    keepAlive: true,
  }
}
