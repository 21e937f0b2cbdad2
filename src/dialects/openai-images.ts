import { deploymentIn } from './deployment-path.ts'
import type { Dialect } from './dialect.ts'
import { jsonDialect } from './json-dialect.ts'
import { createLastUsageGatherer } from './last-usage.ts'
import { type OpenAiQuirks, responsesUsage } from './openai-usage.ts'
import { planJson } from './wires/json.ts'
import { findMembers } from './wires/telling.ts'

const PLAN = planJson({ model: 'value', usage: 'usage', error: 'value', data: [{}] })
const FIND_TELLING = findMembers(['usage', 'error'])

/**
 * Image generation and edits. GPT image models write `usage` after megabytes of base64, in a stream in the
 * `image_generation.completed` or `image_edit.completed` event; DALL-E and others write none and are billed by
 * the image, so those are counted. Source: OpenAI's API reference, "Images" and "Image streaming".
 *
 * @param takesForm edits and variations come with pictures; generations never do.
 */
export function openAiImages(quirks: OpenAiQuirks, takesForm: boolean): Dialect {
  const rules = {
    readUsage: responsesUsage,
    readCost: quirks.readCost,
    readUnits: ({ data }: { readonly [key: string]: unknown }) => ({
      images: Array.isArray(data) ? data.length : null,
    }),
  }
  return jsonDialect({
    name: 'openai.images',
    takesForm,
    format: {
      plan: PLAN,
      findTelling: FIND_TELLING,
      createGatherer: () => createLastUsageGatherer(rules),
    },
    modelInPath: deploymentIn,
  })
}
