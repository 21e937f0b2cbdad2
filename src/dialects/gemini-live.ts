import type { Observation } from '../domain/observation.ts'
import { createBodyReader } from './body-reader.ts'
import { observe } from './counts.ts'
import type { Dialect, MessageReader } from './dialect.ts'
import { textOfPart } from './gemini.ts'
import { geminiUsage } from './gemini-usage.ts'
import { arrayIn, member, objectIn } from './json-value.ts'
import { createToldGatherer } from './told.ts'
import { createUsageSum } from './usage-sum.ts'
import { planJson, scanJson } from './wires/json.ts'
import { findMembers, isTelling } from './wires/telling.ts'

/**
 * Gemini Live, a WebSocket on AI Studio or Vertex: each turn's last message has that turn's `usageMetadata`, so
 * they are added. Which model answers only the client's first message says.
 * https://ai.google.dev/api/live
 */
export const geminiLive: Dialect = {
  name: 'gemini.live',
  readsRequest: false,
  takesIncludeUsage: false,
  errorShape: 'openai',
  modelInPath: () => null,
  createReader: (_request, head) =>
    createBodyReader(head, {
      plan: PLAN,
      findTelling: findUsage,
      createGatherer: () => createToldGatherer(() => null),
    }),
  createMessageReader,
  textOf(json) {
    const turn = member(member(objectIn(json), 'serverContent'), 'modelTurn')
    return arrayIn(turn?.parts).map(textOfPart).join('')
  },
}

const PLAN = planJson({ usageMetadata: 'usage' })
const findUsage = findMembers(['usageMetadata'])

function createMessageReader(): MessageReader {
  const sum = createUsageSum()
  let serviceTier: string | null = null
  let revision = 0
  return {
    message(bytes) {
      const message = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      if (!isTelling(findUsage, message)) return
      const { value, raw } = scanJson(message, PLAN)
      const metadata = member(value, 'usageMetadata')
      const usage = metadata === null ? null : geminiUsage(metadata)
      if (usage === null) return
      sum.add(usage, usage.totalMismatch, raw)
      serviceTier = usage.serviceTier ?? serviceTier
      revision += 1
    },
    peek: (): Observation => observe({ ...sum.observed(true), serviceTier }),
    get revision() {
      return revision
    },
  }
}
