import { z } from 'zod'
import { LONGEST_TIMEOUT_MS } from '../variables.ts'

/** Failures after which another target is tried. `5xx` has 529, and errors in the first event of a stream. */
export const RETRY_CAUSES = ['connect', 'timeout', '408', '429', '5xx'] as const

export type RetryCause = (typeof RETRY_CAUSES)[number]

/** How the targets of a route are put into the order in which they are tried. */
const ORDERS = ['weight', 'listed', 'price', 'health'] as const

/** A name that clients use for models of several upstreams. */
export interface RouteConfig {
  readonly model: string
  /** At least one. */
  readonly to: readonly RouteTargetConfig[]
  readonly retryOn: readonly RetryCause[]
  /** At most so many requests go upstream for a call. */
  readonly attempts: number
  /** The longest wait for the first byte of an answer; `null`: as for calls without a route. */
  readonly firstByteTimeoutMs: number | null
  /** What keeps to one target as long as that answers; `null`: nothing. */
  readonly sticky: 'client' | 'session' | null
  readonly order: (typeof ORDERS)[number]
}

export interface RouteTargetConfig {
  /** The name of one of the upstreams. */
  readonly upstream: string
  /** What the model is called there. */
  readonly model: string
  readonly weight: number
}

const DEFAULT_ATTEMPTS = 3
const MAX_ATTEMPTS = 10
const MAX_TARGETS = 20
const MAX_WEIGHT = 1_000
const MAX_NAME_LENGTH = 256

const modelName = z
  .string()
  .regex(/^[\x21-\x7e]+$/, 'must be a name of printable ASCII without spaces')
  .max(MAX_NAME_LENGTH, `must have at most ${MAX_NAME_LENGTH} characters`)

const MS_OF: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 }

/** In milliseconds. */
const duration = z.string().transform((text, context) => {
  const [, digits = '', unit = ''] = /^([1-9]\d{0,8})(ms|s|m)$/.exec(text) ?? []
  const ms = Number(digits) * (MS_OF[unit] ?? 0)
  if (ms > 0 && ms <= LONGEST_TIMEOUT_MS) return ms
  context.addIssue({ code: 'custom', message: 'must be a time such as 20s or 500ms' })
  return z.NEVER
})

const weight = z.int().min(1, 'must be 1 or more').max(MAX_WEIGHT, `must be at most ${MAX_WEIGHT}`)

const retryShape = z.strictObject({
  // YAML has 429 as a number.
  on: z
    .array(z.union([z.string(), z.number()]).transform(String).pipe(z.enum(RETRY_CAUSES)))
    .default([...RETRY_CAUSES]),
  attempts: z
    .int()
    .min(1, 'must be 1 or more')
    .max(MAX_ATTEMPTS, `must be at most ${MAX_ATTEMPTS}`)
    .default(DEFAULT_ATTEMPTS),
})

/** One entry of `routes`. */
export const routeShape = z.strictObject({
  model: modelName.refine(
    (name) => !name.endsWith('*'),
    'must be one name: clients write it, and lists show it',
  ),
  to: z
    .array(z.strictObject({ upstream: z.string(), model: modelName.optional(), weight: weight.default(1) }))
    .min(1, 'must name a target')
    .max(MAX_TARGETS, `must have at most ${MAX_TARGETS} targets`),
  retry: retryShape.optional(),
  first_byte_timeout: duration.optional(),
  sticky: z.enum(['client', 'session']).optional(),
  order: z.enum(ORDERS).default('weight'),
})

export type FileRoute = z.output<typeof routeShape> & { readonly line: number }

/** The routes of the file. Reports what does not fit together, or to the upstreams of these names. */
export function joinRoutes(
  routes: readonly FileRoute[],
  upstreamNames: readonly string[],
  report: (line: number, what: string) => void,
): readonly RouteConfig[] {
  const names = new Set<string>()
  return routes.map(({ line, model, to, retry, sticky = null, order, ...written }) => {
    if (names.has(model)) report(line, `the route ${model} is there twice`)
    names.add(model)
    if (sticky !== null && order !== 'weight') {
      report(line, `the route ${model} has sticky, which is for order: weight, and order: ${order}`)
    }
    const targets = to.map((target) => ({ ...target, model: target.model ?? model }))
    const seen = new Set<string>()
    for (const target of targets) {
      const { upstream } = target
      if (!upstreamNames.includes(upstream)) {
        const known = upstreamNames.join(', ') || 'the upstreams'
        report(line, `the route ${model} names the upstream ${upstream}, which must be one of ${known}`)
      }
      const text = `${target.model} at ${upstream}`
      if (seen.has(text)) report(line, `the route ${model} has the target ${text} twice`)
      seen.add(text)
    }
    return {
      model,
      to: targets,
      retryOn: retry?.on ?? RETRY_CAUSES,
      attempts: retry?.attempts ?? DEFAULT_ATTEMPTS,
      firstByteTimeoutMs: written.first_byte_timeout ?? null,
      sticky,
      order,
    }
  })
}
