import { z } from 'zod'
import { isPathPattern } from '../../domain/path-patterns.ts'
import { type KeyPathRules, NO_PATH_RULES, type PathRules } from '../../domain/path-rules.ts'

/** The `paths` of the YAML file. */
export interface PathsConfig extends PathRules {
  /** The first rule that matches a caller applies. */
  readonly keys: readonly KeyPathRules[]
}

export const NO_PATHS: PathsConfig = { ...NO_PATH_RULES, keys: [] }

const pattern = z.string().refine(isPathPattern, {
  error: ({ input }) => `has "${input}", which is not a pattern such as POST /v1/files/*`,
})

const fields = {
  allow: z.array(pattern).default([]),
  deny: z.array(pattern).default([]),
  unknown: z.enum(['pass', 'refuse']).nullable().default(null),
}

const keyPaths = z
  .strictObject({ client: z.string().min(1).optional(), key: z.string().min(1).optional(), ...fields })
  .refine(({ client, key }) => client !== undefined || key !== undefined, 'must name a client or a key')
  .transform(({ client = null, key = null, ...rules }): KeyPathRules => ({ client, key, ...rules }))

/** Rules of one upstream. */
export const upstreamPaths: z.ZodType<PathRules> = z.strictObject(fields)

/** Rules for all calls, and for those of some keys. */
export const filePaths: z.ZodType<PathsConfig> = z
  .strictObject({ ...fields, keys: z.array(keyPaths).default([]) })
  .optional()
  .transform((paths) => paths ?? NO_PATHS)
