import type { Observation } from '../domain/observation.ts'
import { NO_UNITS, NO_USAGE } from '../domain/usage.ts'
import type { Dialect } from './dialect.ts'

const PENDING: Observation = {
  usageSource: 'none',
  usage: NO_USAGE,
  units: NO_UNITS,
  model: null,
  raw: null,
  failed: false,
  responseId: null,
  pending: true,
  totalMismatch: false,
  reportedCostPico: null,
  serviceTier: null,
  parts: null,
}

const READER = { push: () => {}, end: () => PENDING, peek: () => PENDING, revision: 0 }

/** Requests that only begin work, as batches do: what it uses is told by a later request, or by none. */
export const deferredWork: Dialect = {
  name: 'deferred',
  readsRequest: false,
  takesIncludeUsage: false,
  errorShape: 'openai',
  modelInPath: () => null,
  createReader: () => READER,
  textOf: () => '',
}
