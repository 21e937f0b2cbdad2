import { percentDecoded } from '../../domain/canonical-path.ts'
import { type CallTarget, targetOf } from './call-target.ts'

/** One parameter with the model of a session, up to the next one. */
const IN_QUERY = /([?&](?:model|deployment)=)[^&;#]*/g

/**
 * The target with `model` in the place of `asked`: a whole segment of its path, or one up to a colon, as Google's
 * methods stand behind their models. All other bytes stay. `null`: it stands there not once.
 */
export function withModelInPath(target: CallTarget, asked: string, model: string): CallTarget | null {
  const { path, pathAndQuery } = target
  let found = 0
  const segments = path.split('/').map((segment) => {
    if (percentDecoded(segment) === asked) {
      found += 1
      return encodeURIComponent(model)
    }
    const colon = segment.indexOf(':')
    if (colon < 0 || percentDecoded(segment.slice(0, colon)) !== asked) return segment
    found += 1
    return encodeURIComponent(model) + segment.slice(colon)
  })
  if (found !== 1) return null
  return targetOf(segments.join('/') + pathAndQuery.slice(path.length))
}

/** The same of a query that names one model. */
export function withModelInQuery(target: CallTarget, model: string): CallTarget | null {
  const { path, pathAndQuery } = target
  const query = pathAndQuery.slice(path.length)
  if ([...query.matchAll(IN_QUERY)].length !== 1) return null
  return targetOf(path + query.replace(IN_QUERY, (_whole, name: string) => name + encodeURIComponent(model)))
}
