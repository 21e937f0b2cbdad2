import type { Dialect } from '../dialect.ts'
import { ANSWER_COUNTS, deploymentIn } from '../dialect.ts'
import type { OpenAiOverrides } from '../openai/openai-overrides.ts'
import { responsesUsage } from '../openai/openai-usage.ts'
import { UNKNOWN_SIZE, wordIn } from '../reading/billed-units.ts'
import type { Fields } from '../reading/body-format.ts'
import { carriesError } from '../reading/body-format.ts'
import { totalDisagrees } from '../reading/counts.ts'
import { requestDialect } from '../reading/json-dialect.ts'
import { member, textIn } from '../reading/json-value.ts'
import { ifCounted } from '../reading/usage-update.ts'

const FIELDS: Fields = { model: 'value', usage: 'usage', error: 'value', data: [{}] }
const PREFILTER = ['usage', 'error']

/**
 * Image generation and edits. GPT image models write `usage` after megabytes of base64, in a stream in the
 * `image_generation.completed` or `image_edit.completed` event; DALL-E and others write none and are billed by
 * the image, so those are counted, DALL-E's at the size and quality of the request. Source: OpenAI's API reference,
 * "Images" and "Image streaming".
 *
 * @param takesForm edits and variations come with pictures; generations never do.
 */
export function openAiImages(overrides: OpenAiOverrides, takesForm: boolean): Dialect {
  return requestDialect({
    name: 'openai.images',
    answers: ANSWER_COUNTS.openAiImages,
    medium: 'pictures',
    takesForm,
    fields: FIELDS,
    prefilter: PREFILTER,
    modelInPath: deploymentIn,
    requestFields: { size: 'value', quality: 'value' },
    readRequest: ({ request, fields, isRead }) => ({
      serviceTier: isRead
        ? pictureTier(request.model, wordIn(fields.size), wordIn(fields.quality))
        : DALLE.test(request.model ?? '')
          ? UNKNOWN_SIZE
          : null,
    }),
    readAnswer: (document, raw) => {
      const usage = member(document, 'usage')
      const counted = usage === null ? null : responsesUsage(usage)
      return {
        usage:
          counted && ifCounted({ ...counted, totalMismatch: totalDisagrees(counted.total, counted.usage) }),
        // Usage without tokens (a cost) is kept as text too.
        raw: usage === null ? null : raw,
        isFinal: true,
        units: Array.isArray(document.data) ? { images: document.data.length } : null,
        model: textIn(document.model),
        failed: carriesError(document),
        serviceTier: textIn(usage?.service_tier),
        reportedCostPico: usage === null ? null : (overrides.readCost?.(usage) ?? null),
      }
    },
  })
}

const DALLE = /^dall-?e-?[23]/i
const USUAL_SIZE = '1024x1024'
const SIZE = /^\d{3,4}x\d{3,4}$/

/** xAI's, a picture of which costs less where little is asked for. */
const GROK = /^grok-imagine-image-2\.0$/i

function pictureTier(
  model: string | null,
  size: string | null | undefined,
  quality: string | null | undefined,
): string | null {
  if (model !== null && GROK.test(model)) return quality === 'low' ? quality : null
  return dalleTier(model, size, quality)
}

/**
 * The name that a picture of DALL-E costs by, where it is not the usual one. Sizes and qualities as `wordIn` gives
 * them.
 */
function dalleTier(
  model: string | null,
  said: string | null | undefined,
  quality: string | null | undefined,
): string | null {
  if (model === null || !DALLE.test(model)) return null
  const size = said === null ? USUAL_SIZE : said
  if (size === undefined || !SIZE.test(size)) return UNKNOWN_SIZE
  if (quality === 'hd') return `hd_${size}`
  if (quality !== null && quality !== 'standard') return UNKNOWN_SIZE
  return size === USUAL_SIZE ? null : size
}
