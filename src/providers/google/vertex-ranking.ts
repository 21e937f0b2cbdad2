import type { Dialect } from '../dialect.ts'
import { searchUnitsOf } from '../reading/billed-units.ts'
import { carriesError } from '../reading/error-in-body.ts'
import { requestDialect } from '../reading/json-dialect.ts'
import { arrayIn, textIn } from '../reading/json-value.ts'

/** What ranks unless the request names another. */
const VERTEX_RANKER = 'semantic-ranker-default@latest'

/**
 * Google's ranking API: a query with up to a hundred records.
 * Source: cloud.google.com/generative-ai-app-builder/docs/ranking.
 */
export const vertexRanking: Dialect = requestDialect({
  name: 'vertex.ranking',
  fields: { error: 'value' },
  prefilter: ['error'],
  requestFields: { records: ['length'], model: 'value' },
  readRequest: ({ fields, isRead }) => ({
    model: isRead ? (textIn(fields.model) ?? VERTEX_RANKER) : null,
    units: {
      // Records are cut to what it reads, so that none counts twice.
      searchUnits: Array.isArray(fields.records)
        ? searchUnitsOf(
            arrayIn(fields.records).map(() => 1),
            0,
            1,
          )
        : null,
    },
  }),
  readAnswer: (document) => ({ failed: carriesError(document) }),
})
