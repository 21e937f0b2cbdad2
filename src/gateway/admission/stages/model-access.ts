import type { Caller } from '../../../call/caller.ts'
import type { RequestScan } from '../../bodies/request-body.ts'
import type { Route } from '../../routing/route.ts'
import { matchesModel } from '../../routing/upstream-table.ts'

/**
 * Whether `caller` may make this call. A key with a model list may make calls that run no model, and such whose model is beyond
 * doubt: on a path that nobody knows it may stand anywhere, a batch names models that nobody sees, and two `model` keys in one body are read first-wins by some servers and
 * last-wins by others.
 *
 * @param scan `null`: the body was not read.
 */
export function mayUseModel(
  caller: Caller,
  { reading, isFetch, modelInPath, dialect }: Pick<Route, 'reading' | 'isFetch' | 'modelInPath' | 'dialect'>,
  scan: RequestScan | null,
): boolean {
  if (caller.models === null) return true
  if (modelInPath !== null && !matchesModel(caller.models, modelInPath)) return false
  if (reading === 'free' || isFetch) return true
  if (reading !== 'metered' || dialect?.hidesModel === true) return false
  // A body may name another model than the path, which then has to be allowed too.
  const model = scan?.model ?? modelInPath
  if (model === null || !matchesModel(caller.models, model)) return false
  return scan === null
    ? modelInPath !== null
    : scan.readable && !scan.duplicateModel && !scan.namesOtherModels
}
