import { z } from 'zod'
import { urlProblem } from '../../alerts/receiver-order.ts'
import { parseDurationSeconds } from '../../domain/duration.ts'
import { MEASURES } from '../../statements/billing/measures.ts'
import { MOUTH_KINDS, MOUTHS } from '../../statements/billing/mouths.ts'

const LEAST_SECONDS = 60
const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/

const meterShape = z.strictObject({
  measure: z.string().refine((name) => MEASURES.has(name), {
    error: ({ input }) => `must not be "${input}", but one of ${[...MEASURES.keys()].join(', ')}`,
  }),
  as: z.string().regex(/^[\x21-\x7e]{1,100}$/, 'must be 1 to 100 characters of ASCII without spaces'),
})

const receiverShape = z
  .strictObject({
    name: z.string().regex(NAME, 'must be 1 to 64 lower-case letters, digits, "_" or "-"'),
    kind: z.enum(MOUTH_KINDS),
    url: z
      .string()
      .refine((url) => urlProblem(url) === null, 'must be an http or https URL without a user or a password')
      .optional(),
    secret_env: z.string().min(1, 'must name a variable'),
    every: z
      .string()
      .refine(
        (text) => (parseDurationSeconds(text) ?? 0) >= LEAST_SECONDS,
        'must be 1m or longer, such as 1h',
      )
      .default('1h'),
    meters: z
      .array(meterShape)
      .min(1, 'must name a meter')
      .refine(
        (meters) => new Set(meters.map(({ as }) => as)).size === meters.length,
        'must have each name once',
      ),
    by: z.enum(['model']).optional(),
    sends: z.enum(['changes', 'totals']).default('changes'),
  })
  .superRefine(({ kind, url, meters }, context) => {
    if (url === undefined && MOUTHS[kind].url === null)
      context.addIssue({ code: 'custom', path: ['url'], message: 'is missing' })
    if (MOUTHS[kind].takesFractions) return
    for (const [index, { measure }] of meters.entries())
      if (MEASURES.get(measure)?.isWhole === false)
        context.addIssue({
          code: 'custom',
          path: ['meters', index, 'measure'],
          message: `must be a whole number for ${kind}, such as cost_nanousd`,
        })
  })

/** The `billing` of the YAML file. Its secrets are of workers alone, which send. */
export const fileBilling = z
  .array(receiverShape)
  .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, 'must have each name once')
  .default([])
