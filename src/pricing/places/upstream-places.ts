import { findEntry } from '../../providers/registry.ts'
import { isPlace, PLACE_UNKNOWN } from './place-tiers.ts'

/** What an operator may say of a deployment on Azure. */
export const DEPLOYMENTS = [
  'global',
  'data-zone',
  'data-zone-us',
  'data-zone-eu',
  'data-zone-apac',
  'regional',
] as const

export type Deployment = (typeof DEPLOYMENTS)[number]

/**
 * Where an upstream serves: a word of its provider's places, or by the names of deployments, exact or `prefix*`, of which
 * the longest that fits decides. `''`: the usual place.
 */
export type UpstreamPlace = string | Readonly<Record<string, string>>

/** Whether the answers, hosts and paths of `provider` do not say where it serves, so that the operator has to. */
export function isPlaceAsked(provider: string): boolean {
  return findEntry(provider)?.place?.isAsked === true
}

/**
 * Where an upstream serves, as far as it is known before any call. `null`: nowhere in particular.
 *
 * @param host in lower case, without port
 * @param written as the configuration says
 */
export function placeOfUpstream(
  provider: string,
  host: string,
  written: Deployment | Readonly<Record<string, Deployment>> | undefined,
): UpstreamPlace | null {
  const rules = findEntry(provider)?.place
  if (rules === undefined) return null
  if (typeof written === 'string') return wordOf(written)
  if (written !== undefined)
    return Object.fromEntries(
      Object.entries(written)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, word]) => [name, wordOf(word)]),
    )
  const ofHost = rules.ofHost?.(host) ?? null
  if (ofHost !== null) return isPlace(provider, ofHost) ? ofHost : PLACE_UNKNOWN
  return rules.isAsked === true ? PLACE_UNKNOWN : null
}

function wordOf(deployment: Deployment): string {
  return deployment === 'global' ? '' : deployment
}

/** The place of a call that asked for `requestedModel`, on Azure the name of a deployment; `null`: not known. */
export function placeOfCall(place: UpstreamPlace | undefined, requestedModel: string | null): string | null {
  if (place === undefined || typeof place === 'string') return place ?? null
  if (requestedModel === null) return null
  const name = requestedModel.toLowerCase()
  let found = PLACE_UNKNOWN
  let longest = -1
  for (const [pattern, word] of Object.entries(place)) {
    const wanted = pattern.toLowerCase()
    if (name === wanted) return word
    const fits = wanted.endsWith('*') && name.startsWith(wanted.slice(0, -1))
    if (!fits || wanted.length <= longest) continue
    longest = wanted.length
    found = word
  }
  return found
}

/** Where the path of a call says that it is served: a word of `provider`'s, `''`: the usual place; `null`: nothing. */
export function placeInPath(provider: string, path: string): string | null {
  const place = findEntry(provider)?.place?.ofPath
  return place === undefined ? null : place(path)
}

/** Upstreams by name that serve at a place that matters. */
export function placesOfUpstreams(
  upstreams: readonly { readonly name: string; readonly place: UpstreamPlace | null }[],
): ReadonlyMap<string, UpstreamPlace> {
  return new Map(
    upstreams.flatMap(({ name, place }): [string, UpstreamPlace][] =>
      place === null ? [] : [[name, place]],
    ),
  )
}
