import type { Dialect } from './dialect.ts'
import { jsonDialect } from './reading/json-dialect.ts'

/**
 * Credentials with which a client talks to the provider by itself, and calls whose media go between the two (WebRTC): refused
 * unless the operator allows them, and then without a cost, for a reason of their own, as none of it is seen here.
 */
export const passesBy: Dialect = jsonDialect({
  name: 'passes-by',
  fields: {},
  prefilter: [],
  readsRequest: false,
  countsTokens: false,
  billsUnits: true,
  passesBy: true,
  hidesModel: true,
})
