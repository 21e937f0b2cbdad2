import type { Dialect } from './dialect.ts'
import { jsonDialect } from './reading/json-dialect.ts'

/**
 * Credentials with which a client talks to the provider by itself, and calls whose media go between the two (WebRTC): refused
 * unless the operator allows them. Then they have no cost and an unpriced reason of their own, as the gateway sees none of it.
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
