import type { Dialect } from './dialect.ts'
import { createBodyReader } from './reading/body-reader.ts'
import { createUpdateAccumulator } from './reading/usage-update.ts'
import { compileProjection } from './wires/json.ts'
import { findMembers } from './wires/prefilter.ts'

const PROJECTION = compileProjection({})
const PREFILTER = findMembers([])

/**
 * Credentials with which a client talks to the provider by itself, and calls whose media go between the two (WebRTC): refused
 * unless the operator allows them, and then without a cost, for a reason of their own, as none of it is seen here.
 */
export const passesBy: Dialect = {
  name: 'passes-by',
  readsRequest: false,
  takesIncludeUsage: false,
  errorShape: 'openai',
  countsTokens: false,
  billsUnits: true,
  passesBy: true,
  hidesModel: true,
  modelInPath: () => null,
  createReader: (_request, head) =>
    createBodyReader(head, {
      projection: PROJECTION,
      prefilter: PREFILTER,
      createAccumulator: () => createUpdateAccumulator(() => null),
    }),
  textOf: () => '',
}
