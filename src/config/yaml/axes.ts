import { z } from 'zod'
import { AXIS_NAME, MAX_AXES } from '../../call/axes.ts'
import { AXIS_PRESETS, type AxisSource } from './axis-presets.ts'
import { claimPath } from './identity-config.ts'

/** An axis that usage is attributed on. */
export interface AxisConfig {
  readonly name: string
  /** The first of these that a call has decides. */
  readonly from: readonly AxisSource[]
  /** Its values stand nowhere as they are. */
  readonly hash: boolean
  /** `false`: its values are unbounded, so they stand in single calls alone. */
  readonly totals: boolean
}

export interface AxesConfig {
  readonly list: readonly AxisConfig[]
  /** Members of the top level of bodies that sources look into. */
  readonly members: ReadonlySet<string>
}

export function axesConfig(list: readonly AxisConfig[]): AxesConfig {
  const members = list.flatMap(({ from }) =>
    from.flatMap((source) => (source.kind === 'body' ? (source.path[0] ?? []) : [])),
  )
  return { list, members: new Set(members) }
}

const MAX_SOURCES = 16
const MAX_DEPTH = 3

const header = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/, 'must be the name of a header')
  .transform((name) => name.toLowerCase())
const bodyPath = z
  .string()
  .regex(/^[^.\s]{1,64}(\.[^.\s]{1,64}){0,2}$/, `must be at most ${MAX_DEPTH} names between dots`)
  .transform((path) => path.split('.'))
const member = z.string().min(1).max(64).nullable().default(null)
const fixed = z.record(z.string(), z.string().min(1)).transform((values) => new Map(Object.entries(values)))

const source = z.union(
  [
    z
      .strictObject({ header, member })
      .transform((it) => ({ kind: 'header' as const, name: it.header, member: it.member })),
    z
      .strictObject({ baggage: z.string().min(1) })
      .transform((it) => ({ kind: 'baggage' as const, name: it.baggage })),
    z
      .strictObject({ body: bodyPath, member })
      .transform((it) => ({ kind: 'body' as const, path: it.body, member: it.member })),
    z.strictObject({ claim: claimPath }).transform((it) => ({ kind: 'claim' as const, path: it.claim })),
    z.strictObject({ key: fixed }).transform((it) => ({ kind: 'key' as const, values: it.key })),
    z.strictObject({ client: fixed }).transform((it) => ({ kind: 'client' as const, values: it.client })),
    z
      .strictObject({ preset: z.enum(Object.keys(AXIS_PRESETS)) })
      .transform((it) => AXIS_PRESETS[it.preset] ?? []),
  ],
  `must be one of header, baggage, body, claim, key, client, or preset with one of ${Object.keys(AXIS_PRESETS).join(', ')}`,
)

const axis = z.strictObject({
  name: z.string().regex(AXIS_NAME, 'must be 1 to 32 lower-case letters, digits, "_" or "-", a letter first'),
  from: z
    .array(source)
    .min(1, 'must name a source')
    .max(MAX_SOURCES, `must have at most ${MAX_SOURCES} sources`)
    .transform((sources): readonly AxisSource[] => sources.flat()),
  hash: z.boolean().default(false),
  totals: z.boolean().default(true),
})

/** The `axes` of the YAML file. */
export const fileAxes: z.ZodType<readonly AxisConfig[]> = z
  .array(axis)
  .max(MAX_AXES, `must be at most ${MAX_AXES} axes`)
  .refine((axes) => new Set(axes.map(({ name }) => name)).size === axes.length, 'must have each name once')
  .optional()
  .transform((axes) => axes ?? [])

/** The same where no tokens are taken, so that a claim would never say anything. */
export const axesWithoutClaims: typeof fileAxes = fileAxes.refine(
  (axes) => !axes.some(({ from }) => from.some(({ kind }) => kind === 'claim')),
  'must have no claim as a source: identity names no issuer of tokens',
)
