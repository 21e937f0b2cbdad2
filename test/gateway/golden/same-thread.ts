import { vi } from 'vitest'
import type * as Estimates from '../../../src/gateway/estimation/estimate-thread.ts'
import { estimatePromptTokens, estimateTextTokens } from '../../../src/gateway/estimation/estimate-tokens.ts'

export const { tokensByLength } = await vi.importActual<typeof Estimates>(
  '../../../src/gateway/estimation/estimate-thread.ts',
)

type Estimate = Estimates.EstimateThread['estimate']

/**
 * In the place of the thread that counts tokens: counts the same by the stopped clock of the test. The thread counts a
 * text for 0.1 s at most and extrapolates the rest, so that on a busy machine its figures differ.
 */
export class EstimateThread {
  async estimate(...[, counted, model, format]: Parameters<Estimate>): ReturnType<Estimate> {
    const tokens =
      typeof counted === 'string'
        ? await estimateTextTokens(counted, model, format)
        : await estimatePromptTokens(counted, model, format)
    // As a thread's answer, it comes in a later turn: what was written meanwhile has left.
    await new Promise((resolve) => setImmediate(resolve))
    return tokens ?? tokensByLength(counted)
  }
}
