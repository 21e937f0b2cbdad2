import type { JobObservation } from '../../call/observation.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { chatUsage } from '../openai/openai-usage.ts'
import { member, objectIn, objectsIn, textIn } from '../reading/json-value.ts'
import { compileProjection, JsonScanner } from '../wires/json.ts'
import { createJobSums } from './job-sums.ts'

const PAGE = compileProjection({
  has_more: 'value',
  last_id: 'value',
  data: [
    {
      sample: {
        model: 'value',
        usage: {
          prompt_tokens: 'value',
          completion_tokens: 'value',
          total_tokens: 'value',
          cached_tokens: 'value',
        },
      },
    },
  ],
})

/** One page of them, as it comes. */
interface ItemPage {
  push(chunk: Buffer): void
  /** The id behind which the next page begins; `null`: this was the last. */
  end(): string | null
}

/**
 * The items that a run of an eval put out, each with the use of its sample: all of them tell what a run used that does not
 * sum it up. What graders used is not among it. Source: OpenAI's API reference, "The eval run output item object".
 */
export function createEvalItems(): {
  page(): ItemPage
  /** By model; none: no item has any. */
  jobs(runId: string): readonly JobObservation[]
} {
  const sums = createJobSums()
  return {
    page() {
      const scanner = new JsonScanner(PAGE)
      return {
        push: (chunk) => scanner.push(chunk),
        end() {
          scanner.end()
          const page = objectIn(scanner.extracted.value)
          for (const item of objectsIn(page?.data)) {
            const sample = member(item, 'sample')
            const usage = member(sample, 'usage')
            if (usage === null) continue
            const { cached_tokens, ...counts } = usage
            const written = { ...counts, prompt_tokens_details: { cached_tokens: cached_tokens ?? 0 } }
            sums.add(
              textIn(sample?.model),
              chatUsage(written, USAGE_IF_ASKED, null),
              null,
              JSON.stringify(written),
            )
          }
          return page?.has_more === true ? textIn(page.last_id) : null
        },
      }
    },
    jobs: (runId) => sums.jobs({ responseId: runId, serviceTier: null }),
  }
}
