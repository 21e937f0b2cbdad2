import { listedAs } from '../catalog-lists.ts'
import type { Dialect } from '../dialect.ts'
import { endpoint } from '../dialect.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { ADMIN, KEYS_REFUSED } from '../paths/refused-paths.ts'
import { BEARER, type HostedProvider } from '../provider.ts'
import { unitsIn } from '../reading/billed-units.ts'
import { carriesError } from '../reading/body-format.ts'
import { requestDialect } from '../reading/json-dialect.ts'
import { arrayIn, textIn } from '../reading/json-value.ts'

const MODEL = /\/workflows\/(accounts\/[^/]+\/models\/[^/]+)(?:\/|$)/i

/** Models billed by the step, and the steps they take unless the request says another number; `null`: not known. */
const STEPS: readonly (readonly [RegExp, number | null])[] = [
  [/flux-1-schnell/i, 4],
  [/flux-1-dev|stable-diffusion|ssd-1b|playground/i, null],
]

/**
 * Fireworks' workflows: a picture a call, by the step or by the picture. The answer is the picture, as bytes or in JSON, or the
 * id of one that is made later.
 * Source: docs.fireworks.ai, "Generate an image with FLUX".
 */
const fireworksWorkflows: Dialect = requestDialect({
  name: 'fireworks.workflows',
  fields: {
    base64: ['length'],
    request_id: 'value',
    model: 'value',
    error: 'value',
  },
  prefilter: ['error'],
  modelInPath: workflowModel,
  requestFields: { num_inference_steps: 'value' },
  readRequest: ({ request, fields, isRead }) => {
    const model = workflowModel(request.path)
    if (!isRead || model === null) return {}
    return { units: { images: 1 }, serviceTier: stepsTier(model, fields.num_inference_steps) }
  },
  readAnswer: (document) => {
    const drawn = arrayIn(document.base64).length
    return {
      ...(drawn > 0 ? { units: { images: drawn } } : {}),
      responseId: textIn(document.request_id),
      failed: carriesError(document),
    }
  },
})

function workflowModel(path: string): string | null {
  return MODEL.exec(path)?.[1] ?? null
}

function stepsTier(model: string, said: unknown): string | null {
  const [, usual] = STEPS.find(([models]) => models.test(model)) ?? []
  if (usual === undefined) return null
  const steps = said === undefined || said === null ? usual : unitsIn(said)
  return steps === null ? 'unknown_steps' : `${steps}_steps`
}

/** Fireworks AI. Some models always report usage, others only when asked (vercel/ai pull request 16087). */
export const fireworks: HostedProvider = {
  hosts: ['api.fireworks.ai'],
  credential: BEARER,
  catalog: listedAs('fireworks'),
  apis: ['openai', 'anthropic'],
  isBelowV1: true,
  openAi: USAGE_IF_ASKED,
  endpoints: [
    endpoint('POST', /\/workflows\/accounts\/[^/]+\/models\/[^/]+(?:\/text_to_image)?$/, fireworksWorkflows),
  ],
  refusedPaths: [KEYS_REFUSED, { patterns: ['* **/apiKeys', '* **/apiKeys/**'], why: ADMIN }],
}
