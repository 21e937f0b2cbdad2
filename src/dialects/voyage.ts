import { type BodyFormat, createBodyReader } from './body-reader.ts'
import { saysTokens, totalDisagrees } from './counts.ts'
import type { Dialect } from './dialect.ts'
import { type JsonObject, member, textIn } from './json-value.ts'
import { promptOnlyUsage } from './openai-usage.ts'
import { createToldGatherer, type Told } from './told.ts'
import { planJson } from './wires/json.ts'
import { findMembers } from './wires/telling.ts'

/**
 * Voyage AI's embeddings (also contextualized and multimodal) and reranking: `usage.total_tokens`, all of them
 * input, with an image's pixels already counted as tokens.
 * https://docs.voyageai.com/reference/embeddings-api
 */
export const voyage: Dialect = {
  name: 'voyage.embeddings',
  readsRequest: true,
  takesIncludeUsage: false,
  errorShape: 'openai',
  modelInPath: () => null,
  createReader: (_request, head) => createBodyReader(head, format),
  textOf: () => '',
}

const format: BodyFormat = {
  plan: planJson({ usage: 'usage', model: 'value', error: 'value' }),
  findTelling: findMembers(['usage', 'error']),
  createGatherer: () => createToldGatherer(read),
}

function read(document: JsonObject): Told {
  const written = member(document, 'usage')
  const counted = written === null ? null : promptOnlyUsage(written)
  const says = counted !== null && (saysTokens(counted.usage) || counted.invalid)
  return {
    usage: says ? { ...counted, totalMismatch: totalDisagrees(counted.total, counted.usage) } : null,
    isFinal: true,
    model: textIn(document.model),
    failed: document.error !== undefined && document.error !== null,
  }
}
