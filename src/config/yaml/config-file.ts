import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { decimalOfText, scaleToInteger } from '#prices/decimal.ts'
import {
  isPathPattern,
  type KeyPathRules,
  NO_PATH_RULES,
  type PathRules,
} from '../../domain/path-patterns.ts'
import { PRICES_OF } from '../../pricing/catalog/catalog-providers.ts'
import { PROVIDERS } from '../../providers/registry.ts'
import { type Environment, readVariable } from '../environment.ts'
import { isHeaderValue, messageOf, modelPattern, pathPrefix, upstreamUrl } from '../variables.ts'
import { type AxisConfig, axesWithoutClaims, fileAxes } from './axes.ts'
import { fileBilling } from './billing-shape.ts'
import { credentialFields, ownCredentialMarkups } from './credentials-config.ts'
import { type IdentityConfig, identityShape } from './identity-config.ts'
import { type FileRoute, routeShape } from './routes.ts'
import { type SelfServiceConfig, selfServiceShape } from './self-service-config.ts'
import { type SignInConfig, signInShape } from './sign-in-config.ts'
import { deploymentShape, type TextEntry, YamlSource } from './yaml-source.ts'

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
const upstreamPaths: z.ZodType<PathRules> = z.strictObject(fields)

/** Rules for all calls, and for those of some keys. */
const filePaths: z.ZodType<PathsConfig> = z
  .strictObject({ ...fields, keys: z.array(keyPaths).default([]) })
  .optional()
  .transform((paths) => paths ?? NO_PATHS)

/** What calls reserve whose requests do not say how much they may use. */
export interface EstimateConfig {
  /** Tokens that an answer may have where nothing bounds it. */
  readonly defaultOutputTokens: number
  /** Integer pico-USD for a job whose requests are not in the body that begins it. */
  readonly jobReservePico: bigint
}

const PICO_PER_DOLLAR = 1_000_000_000_000n

/** Longer than nearly all answers, and a few cents at the price of the dearest models. */
const DEFAULT_OUTPUT_TOKENS = 4_096
const DEFAULT_JOB_RESERVE_USD = '1'

const usd = z.string().regex(/^\d{1,9}(?:\.\d{1,12})?$/, "must be US dollars as text, such as '1' or '0.25'")

/** The `limits` of the YAML file. */
const fileEstimates: z.ZodType<EstimateConfig | null> = z
  .strictObject({
    default_output_tokens: z
      .int()
      .min(1, 'must be 1 or more tokens')
      .max(10_000_000, 'must be at most 10000000 tokens')
      .default(DEFAULT_OUTPUT_TOKENS),
    job_reserve_usd: usd.default(DEFAULT_JOB_RESERVE_USD),
  })
  .optional()
  .transform((limits) =>
    limits === undefined ? null : estimatesOf(limits.default_output_tokens, limits.job_reserve_usd),
  )

/** Where the file has no `limits`. */
export const DEFAULT_ESTIMATES: EstimateConfig = estimatesOf(DEFAULT_OUTPUT_TOKENS, DEFAULT_JOB_RESERVE_USD)

function estimatesOf(defaultOutputTokens: number, jobReserveUsd: string): EstimateConfig {
  return {
    defaultOutputTokens,
    jobReservePico: scaleToInteger(decimalOfText(jobReserveUsd), PICO_PER_DOLLAR, 1n),
  }
}

/** The valid parts of the YAML file of `TALLYGATE_CONFIG`, with line numbers for problems found later. */
export interface ConfigFile {
  readonly upstreams: readonly FileUpstream[]
  /** The names of all upstreams, of those with problems too. */
  readonly upstreamNames: readonly string[]
  readonly defaultUpstream: string | null
  readonly defaultUpstreamLine: number
  readonly models: readonly FileModel[] | null
  readonly routes: readonly FileRoute[]
  /** Empty: there are none. */
  readonly axes: readonly AxisConfig[]
  readonly paths: PathsConfig
  readonly prices: readonly TextEntry[]
  readonly markups: readonly TextEntry[]
  /** For upstreams that do not set it themselves. */
  readonly objects: 'owned' | 'shared'
  /** Whose programs are answered as they expect it; `null`: no others than those of the APIs. */
  readonly compat: 'litellm' | null
  /** Clients by name, and keys by id, whose answers say what they cost, `*`: all; `null`: none. */
  readonly costInAnswers: readonly string[] | null
  /** `null`: the file has no `limits`. */
  readonly estimates: EstimateConfig | null
  /** Who may call without a key of ours; `null`: no identity is taken. */
  readonly identity: IdentityConfig | null
  /** How operators sign in beside their tokens; `null`: they do not. */
  readonly signIn: SignInConfig | null
  /** How members of groups make keys of their own; `null`: they do not. */
  readonly selfService: SelfServiceConfig | null
  /** Billing systems; empty: there are none. */
  readonly billing: z.output<typeof fileBilling>
  /** Adds a problem found later, `line` counting from 1. */
  readonly report: (line: number, what: string) => void
}

export type FileUpstream = z.output<ReturnType<typeof upstreamShape>> & { readonly line: number }
export type FileModel = z.output<typeof modelShape> & { readonly line: number }

/** The gateway answers these paths itself: an upstream's prefix would hide them. */
const OWN_PATHS = /^(\/v1(\/(models|usage)(\/.*)?)?|\/healthz|\/readyz)?$/

const sections = z.strictObject({
  upstreams: z.unknown().optional(),
  default_upstream: z.unknown().optional(),
  models: z.unknown().optional(),
  routes: z.unknown().optional(),
  axes: z.unknown().optional(),
  paths: z.unknown().optional(),
  prices: z.unknown().optional(),
  markups: z.unknown().optional(),
  objects: z.unknown().optional(),
  limits: z.unknown().optional(),
  compat: z.unknown().optional(),
  cost_in_answers: z.unknown().optional(),
  identity: z.unknown().optional(),
  sign_in: z.unknown().optional(),
  self_service: z.unknown().optional(),
  billing: z.unknown().optional(),
})

/** What the file may have at its top. */
export const SECTIONS: readonly string[] = Object.keys(sections.shape)

/** Names of clients, and ids of keys. */
const costInAnswers = z
  .array(z.string().min(1, 'must not be empty'))
  .min(1, 'must name a client or a key, or be ["*"]')

const objectSharing = z.enum(['owned', 'shared'])

/** Whether tokens are taken, whatever else is invalid. */
const hasIssuers = z
  .looseObject({ issuers: z.array(z.unknown()).min(1) })
  .transform(() => true)
  .catch(false)

/** The names only, whatever else is invalid. */
const named = z.array(z.looseObject({ name: z.string() }).catch({ name: '' })).catch([])

const modelShape = z.strictObject({
  id: z.string().min(1, 'must not be empty'),
  owned_by: z.string().min(1, 'must not be empty').optional(),
  created: z.int().min(0, 'must be seconds since 1970').optional(),
})

function upstreamShape(env: Environment) {
  return z.strictObject({
    name: z.string().regex(/^[A-Za-z0-9._-]{1,64}$/, 'must be 1 to 64 letters, digits, ".", "_" or "-"'),
    url: upstreamUrl,
    api_key_env: z
      .string()
      .refine((name) => Boolean(env[name]), { error: ({ input }) => `names ${input}, which is not set` })
      .refine((name) => !env[name] || isHeaderValue(env[name]), {
        error: ({ input }) => `names ${input}, which must be printable ASCII without spaces`,
      })
      .optional(),
    provider: z.enum(PROVIDERS).optional(),
    models: z.union([z.literal(false), z.array(modelPattern).min(1, 'must name a model')]).optional(),
    models_path: z
      .string()
      .regex(/^\/[\x21-\x22\x24-\x7e]*$/, 'must be a path such as /v1/models, with its query')
      .optional(),
    path_prefix: pathPrefix
      .refine((path) => !OWN_PATHS.test(path), "must not hide the gateway's own paths")
      .optional(),
    include_usage: z.enum(['auto', 'always', 'never']).default('auto'),
    keep_alive: z.boolean().default(true),
    trust_reported_cost: z.boolean().optional(),
    prices_of: z.enum(PRICES_OF).optional(),
    deployment: deploymentShape.optional(),
    ...credentialFields,
    paths: upstreamPaths.optional(),
    objects: objectSharing.optional(),
  })
}

/**
 * Parses the YAML file. Problems are added as lines `<file>:<line>: <what>`; an invalid part is left out of
 * the result, so that everything else is still checked.
 */
function parseConfigFile(text: string, fileName: string, env: Environment, problems: string[]): ConfigFile {
  const source = new YamlSource(text, fileName, problems)
  source.parse(sections, [])
  const upstreams = source.parseEach(upstreamShape(env), 'upstreams') ?? []
  const axes = source.parse(hasIssuers, ['identity']) === true ? fileAxes : axesWithoutClaims
  return {
    upstreams,
    upstreamNames: (source.parse(named, ['upstreams']) ?? []).map(({ name }) => name),
    defaultUpstream: source.parse(z.string().optional(), ['default_upstream']) ?? null,
    defaultUpstreamLine: source.lineOf(['default_upstream']),
    models: source.parseEach(modelShape, 'models'),
    routes: source.parseEach(routeShape, 'routes') ?? [],
    axes: source.parse(axes, ['axes']) ?? [],
    paths: source.parse(filePaths, ['paths']) ?? NO_PATHS,
    prices: source.textEntries('prices'),
    markups: [...source.textEntries('markups'), ...ownCredentialMarkups(upstreams)],
    objects: source.parse(objectSharing.default('owned'), ['objects']) ?? 'owned',
    compat: source.parse(z.enum(['litellm']).optional(), ['compat']) ?? null,
    costInAnswers: source.parse(costInAnswers.optional(), ['cost_in_answers']) ?? null,
    estimates: source.parse(fileEstimates, ['limits']) ?? null,
    identity: source.parse(identityShape(env).optional(), ['identity']) ?? null,
    signIn: source.parse(signInShape(env).optional(), ['sign_in']) ?? null,
    selfService: source.parse(selfServiceShape(env).optional(), ['self_service']) ?? null,
    billing: source.parse(fileBilling, ['billing']) ?? [],
    report: (line, what) => source.report(line, what),
  }
}

/** Reads the file that TALLYGATE_CONFIG names; without one, or when it cannot be read, it reads as empty. */
export function readConfigFile(env: Environment, problems: string[]): ConfigFile {
  const fileName = readVariable(env, 'TALLYGATE_CONFIG')
  if (fileName === null) return parseConfigFile('', '', env, problems)
  try {
    return parseConfigFile(readFileSync(fileName, 'utf8'), fileName, env, problems)
  } catch (error) {
    problems.push(`TALLYGATE_CONFIG: cannot read ${fileName}: ${messageOf(error)}`)
    return parseConfigFile('', fileName, env, problems)
  }
}
