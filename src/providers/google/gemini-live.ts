import type { Observation } from '../../call/observation.ts'
import { type BilledUnits, NO_UNITS } from '../../call/usage.ts'
import type { Dialect, MessageReader } from '../dialect.ts'
import { addUnits, unitsOf } from '../reading/billed-units.ts'
import { bodyFormat } from '../reading/body-format.ts'
import { createBodyReader } from '../reading/body-reader.ts'
import { observe } from '../reading/counts.ts'
import { arrayIn, member, objectIn, textIn } from '../reading/json-value.ts'
import { createUsageSum } from '../reading/usage-sum.ts'
import { compileProjection } from '../wires/json.ts'
import { findMembers, mayContainUsage } from '../wires/prefilter.ts'
import { scanJson } from '../wires/scan-json.ts'
import { textOfPart } from './gemini.ts'
import { createGrounding, GROUNDING } from './gemini-grounding.ts'
import { geminiUsage } from './gemini-usage.ts'
import { googleModelInPath } from './google-path.ts'

const FORMAT = bodyFormat({
  fields: {
    usageMetadata: 'usage',
    serverContent: { groundingMetadata: GROUNDING },
  },
  prefilter: ['usageMetadata'],
})

/**
 * Gemini Live, a WebSocket on AI Studio or Vertex: each turn's last message has that turn's `usageMetadata`, so
 * they are added. Which model answers only the client's first message says: `setup.model`, as `models/...` or, on
 * Vertex, `projects/.../publishers/google/models/...`. https://ai.google.dev/api/live
 */
export const geminiLive: Dialect = {
  name: 'gemini.live',
  readsRequest: false,
  takesIncludeUsage: false,
  errorShape: 'openai',
  tokenizerFamily: 'gemini',
  modelInPath: () => null,
  createReader: (_request, head) => createBodyReader(head, FORMAT),
  createMessageReader,
  modelInMessage(message) {
    const name = textIn(member(scanJson(message, SETUP).value, 'setup')?.model)
    return name === null ? null : (googleModelInPath(`/${name}`) ?? name)
  },
  textOf(json) {
    const message = objectIn(json)
    const turn = member(member(message, 'serverContent'), 'modelTurn')
    const calls = arrayIn(member(message, 'toolCall')?.functionCalls).map((functionCall) => ({
      functionCall,
    }))
    return [...arrayIn(turn?.parts), ...calls].map(textOfPart).join('')
  },
}

const SETUP = compileProjection({ setup: { model: 'value' } })
const findUsage = findMembers(['usageMetadata'])
/** What the model generates, before its turn's usage comes. */
const findGenerated = findMembers(['modelTurn', 'toolCall', 'outputTranscription'])
const findSound = findMembers(['inlineData'])
const findGrounding = findMembers(['groundingMetadata'])

/** https://ai.google.dev/gemini-api/docs/tokens: a second of sound is 32 tokens. Live speaks 16 bits at 24 kHz, in base64. */
const SOUND_TOKENS_PER_BYTE = 32 / ((2 * 24_000 * 4) / 3)

function createMessageReader(): MessageReader {
  const sum = createUsageSum()
  let serviceTier: string | null = null
  let revision = 0
  let underWay = false
  let soundBytes = 0
  let contextTokens = 0
  let units: BilledUnits = NO_UNITS
  let grounding = createGrounding()
  /** The model is not known here, so each query counts, as it is billed since Gemini 3. */
  const withTurn = () => addUnits(units, unitsOf(grounding.units(null)))
  return {
    message(bytes) {
      const message = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      underWay ||= mayContainUsage(findGenerated, message)
      const isGrounded = mayContainUsage(findGrounding, message)
      if (!isGrounded && !mayContainUsage(findUsage, message)) {
        if (mayContainUsage(findSound, message)) soundBytes += message.length
        return
      }
      const { value, raw } = scanJson(message, FORMAT.projection)
      const searched = member(member(value, 'serverContent'), 'groundingMetadata')
      if (searched !== null) {
        grounding.add(searched)
        revision += 1
      }
      const metadata = member(value, 'usageMetadata')
      const usage = metadata === null ? null : geminiUsage(metadata)
      if (usage === null) return
      sum.add(usage, usage.totalMismatch, raw)
      units = withTurn()
      grounding = createGrounding()
      underWay = false
      soundBytes = 0
      contextTokens = (usage.usage.inputTokens ?? 0) + (usage.usage.outputTokens ?? 0)
      serviceTier = usage.serviceTier ?? serviceTier
      revision += 1
    },
    peek: (): Observation => observe({ ...sum.observed(!underWay), serviceTier, units: withTurn() }),
    get revision() {
      return revision
    },
    get underWay() {
      return underWay
    },
    get soundTokens() {
      return Math.ceil(soundBytes * SOUND_TOKENS_PER_BYTE)
    },
    get contextTokens() {
      return contextTokens
    },
  }
}
