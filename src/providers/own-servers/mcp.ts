import { NOTHING_OBSERVED } from '../../call/observation.ts'
import type { Dialect, RequestContext, ResponseHead } from '../dialect.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { BEARER, type OwnServer } from '../provider.ts'
import { bodyFormat, type UsageFormat } from '../reading/body-format.ts'
import { createBodyReader } from '../reading/body-reader.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { objectIn } from '../reading/json-value.ts'
import type { UsageAccumulator } from '../reading/usage-update.ts'

const ANSWER: UsageFormat = {
  fields: {
    method: 'value',
    result: { isError: 'value', resultType: 'value', content: 'length', structuredContent: 'length' },
    error: {},
  },
  // Progress and what else comes before the answer names neither.
  prefilter: ['result', 'error'],
}
const FORMAT = bodyFormat(ANSWER)

/**
 * Tools of MCP servers, by Streamable HTTP: a request of JSON-RPC, whose answer is one document, or the last event of a
 * stream. It counts as a call of a tool once the server has taken it, as an answer may also come by another connection.
 * An error of the protocol is none: no tool ran. What a tool says went wrong is its answer.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
 */
const tools: Dialect = {
  ...jsonDialect({ name: 'mcp.tools', ...ANSWER }),
  callsTools: 'tools/call',
  countsTokens: false,
  generatesNothing: true,
  createReader: (request, head) =>
    createBodyReader(head, { ...FORMAT, createAccumulator: () => createAccumulator(request, head) }),
}

/** @param request Its model is the tool; `null`: it calls none. */
function createAccumulator({ model }: RequestContext, { status }: ResponseHead): UsageAccumulator {
  const isTaken = model !== null && status >= 200 && status < 300
  let answer: 'none' | 'error' | 'result' | 'bad_result' = 'none'
  return {
    wantsEvery: false,
    add(document) {
      // A request or a notice of the server's own has a method.
      if (document === null || document.method !== undefined || answer !== 'none') return false
      const result = objectIn(document.result)
      if (result !== null) answer = result.isError === true ? 'bad_result' : 'result'
      else if (objectIn(document.error) !== null) answer = 'error'
      return isTaken && answer !== 'none'
    },
    snapshot: () => ({
      ...NOTHING_OBSERVED,
      usageSource: isTaken && answer !== 'error' ? 'reported' : 'none',
      model: answer === 'result' || answer === 'bad_result' ? model : null,
      failed: answer === 'error' || answer === 'bad_result',
    }),
  }
}

/** A server of the Model Context Protocol. Its one endpoint may have any path. */
export const mcp: OwnServer = {
  hosts: [],
  credential: BEARER,
  catalog: null,
  modelListPath: null,
  billsCalls: true,
  openAi: USAGE_IF_ASKED,
  endpoints: [{ method: 'POST', matches: () => true, dialect: tools }],
}
