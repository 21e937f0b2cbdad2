import type { Caller } from '../domain/caller.ts'
import type { RequestScan } from './request-body.ts'
import { matchesModel } from './upstream-table.ts'

export interface NamedModel {
  /** The model the call is for, from its path, query or body. */
  readonly model: string | null
  /** Where the path names it; a body may name another, which then has to be allowed too. */
  readonly modelInPath: string | null
  /** `null`: the body was not read. */
  readonly scan: RequestScan | null
}

/**
 * Whether `caller` may make this call. A key with a model list may only make calls whose model is beyond doubt: two `model` keys in
 * one body are read first-wins by some servers and last-wins by others.
 */
export function mayUseModel(caller: Caller, named: NamedModel): boolean {
  if (caller.models === null) return true
  const { scan, model, modelInPath } = named
  if (model === null || !matchesModel(caller.models, model)) return false
  if (modelInPath !== null && !matchesModel(caller.models, modelInPath)) return false
  return scan === null
    ? modelInPath !== null
    : scan.readable && !scan.duplicateModel && !scan.namesOtherModels
}
