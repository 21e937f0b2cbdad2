import { apiFamilyOf } from '../../providers/paths/family.ts'
import { entryOf, type Provider } from '../../providers/registry.ts'
import { type CallTarget, targetOf } from './call-target.ts'

/** A base URL that ends in `/v1` was given to a library that adds it itself. */
const DOUBLED = /^(?:\/v1)+(?=\/v1(?:\/|$))/
const HAS_VERSION = /\/v\d/i
const NO_HEADERS = {}

/**
 * The target as `provider` knows it, where the client's base URL has a `/v1` too many or none. Only what leaves no
 * doubt is changed, and what is sent is what every stage judges.
 */
export function meantAt(provider: Provider, target: CallTarget): CallTarget {
  const { canonicalPath, pathAndQuery } = target
  if (canonicalPath.startsWith('/v1/')) {
    const extra = canonicalPath.startsWith('/v1/v1') ? DOUBLED.exec(pathAndQuery) : null
    return extra === null ? target : (targetOf(pathAndQuery.slice(extra[0].length)) ?? target)
  }
  if (canonicalPath === '' || HAS_VERSION.test(canonicalPath)) return target
  const { isBelowV1, apis = ['openai'] } = entryOf(provider)
  if (isBelowV1 !== true || canonicalPath.startsWith('/openai/')) return target
  const family = apiFamilyOf(`/v1${canonicalPath}`, NO_HEADERS)
  return family !== null && apis.includes(family) ? (targetOf(`/v1${pathAndQuery}`) ?? target) : target
}
