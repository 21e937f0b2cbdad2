import { type BilledUnits, NO_UNITS } from '../../call/usage.ts'
import type { MessageReader } from '../dialect.ts'
import { addUnits } from '../reading/billed-units.ts'
import { observe } from '../reading/counts.ts'
import { objectIn } from '../reading/json-value.ts'
import { createPartsSum, createUsageSum } from '../reading/usage-sum.ts'
import { asBuffer } from '../wires/elements.ts'
import { compileProjection } from '../wires/json.ts'
import { findMembers, mayContainUsage } from '../wires/prefilter.ts'
import { scanJson } from '../wires/scan-json.ts'
import type { OpenAiOverrides } from './openai-overrides.ts'
import { RESPONSE_FIELDS, ResponsesAccumulator } from './responses-accumulator.ts'

const PROJECTION = compileProjection(RESPONSE_FIELDS)
const PREFILTER = findMembers(['usage', 'error'])

/**
 * The WebSocket mode: the same events as in a stream, for one response after the other; their usage is added.
 * Source: OpenAI's guide "WebSocket mode".
 */
export function createSessionReader(overrides: OpenAiOverrides): MessageReader {
  const sum = createUsageSum()
  let current = new ResponsesAccumulator(overrides)
  const parts = createPartsSum()
  let units: BilledUnits = NO_UNITS
  let model: string | null = null
  let serviceTier: string | null = null
  let failed = false
  let revision = 0
  let contextTokens = 0
  return {
    message(bytes) {
      if (!current.wantsEvery && !mayContainUsage(PREFILTER, asBuffer(bytes))) return
      const { value, raw } = scanJson(bytes, PROJECTION)
      if (!current.add(objectIn(value), raw, false)) return
      revision += 1
      const observed = current.snapshot()
      model = observed.model ?? model
      serviceTier = observed.serviceTier ?? serviceTier
      failed ||= observed.failed
      if (observed.usageSource === 'none') return
      sum.add(
        { usage: observed.usage, invalid: observed.usageSource === 'invalid' },
        observed.totalMismatch,
        observed.raw,
      )
      contextTokens = (observed.usage.inputTokens ?? 0) + (observed.usage.outputTokens ?? 0)
      parts.add(observed)
      units = addUnits(units, observed.units)
      current = new ResponsesAccumulator(overrides)
    },
    peek: () =>
      observe({
        ...sum.observed(!current.isRunning),
        model,
        serviceTier,
        failed,
        units,
        parts: parts.observed(),
      }),
    get revision() {
      return revision
    },
    get underWay() {
      return current.isRunning
    },
    soundTokens: 0,
    get contextTokens() {
      return contextTokens
    },
  }
}
