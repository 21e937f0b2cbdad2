import { z } from 'zod'
import { isModelPattern } from '../domain/names.ts'
import { isReadOnlyUrl, parsePostgresUrl } from '../domain/postgres-url/postgres-url.ts'
import { parseRedisUrl } from '../domain/redis/redis-url.ts'
import { type Environment, type EnvironmentName, readVariable } from './environment.ts'

/** All problems of the configuration together. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  /** One line each, beginning with the variable's name or `<file>:<line>`. Never shows a secret's value. */
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`
    super(`${count} in the configuration:\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
    this.problems = problems
  }
}

/** Why a file could not be used, as a short code: `ENOENT`. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return 'code' in error ? String(error.code) : error.message
}

/** Where an upstream is: see `UpstreamConfig`. */
export interface UpstreamAddress {
  readonly origin: string
  readonly basePath: string
  /** Lower case, without port. */
  readonly host: string
}

/** The kinds of variables, as zod schemas: text in, typed value out, one message when invalid. */

/** A whole number written plainly. */
export function integer(min: number, max: number): z.ZodType<number, string> {
  return z.string().transform((text, context) => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    context.addIssue({
      code: 'custom',
      message: `must be a whole number from ${min} to ${max}, not "${text}"`,
    })
    return z.NEVER
  })
}

/** One of the given words. */
export function choice<const Word extends string>(words: readonly Word[]): z.ZodType<Word, string> {
  return z.string().transform((text, context) => {
    const word = words.find((candidate) => candidate === text)
    if (word !== undefined) return word
    context.addIssue({ code: 'custom', message: `must be one of ${words.join(', ')}, not "${text}"` })
    return z.NEVER
  })
}

/** A path prefix such as `/llm`: without trailing slash, `/` alone is none. Only unreserved characters. */
export const pathPrefix: z.ZodType<string, string> = z.string().transform((text, context) => {
  const path = text.replace(/\/+$/, '')
  if (/^(\/[A-Za-z0-9._~-]+)*$/.test(path) && !/\/\.{1,2}(\/|$)/.test(path)) return path
  context.addIssue({ code: 'custom', message: `must be a path such as /llm, not "${text}"` })
  return z.NEVER
})

/** The URL of this gateway for its clients, without a slash at its end. */
export const publicUrl: z.ZodType<string, string> = z.string().transform((text, context) => {
  if (/^https?:\/\/[^\s?#@]+$/i.test(text) && URL.canParse(text)) return text.replace(/\/+$/, '')
  context.addIssue({ code: 'custom', message: 'must be a URL such as https://llm.example.com' })
  return z.NEVER
})

/** Origins as browsers write them, separated by commas, or `*` alone. */
export const originList: z.ZodType<readonly string[], string> = z.string().transform((text, context) => {
  const origins = text.split(',').map((origin) => origin.trim().replace(/\/$/, ''))
  if (text.trim() === '*' || origins.every(isOrigin)) return origins
  context.addIssue({
    code: 'custom',
    message: `must be origins such as https://app.example.com, separated by commas, or *, not "${text}"`,
  })
  return z.NEVER
})

function isOrigin(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text) && new URL(text).origin === text
}

/** REDIS_URL, with a message for everything in it that cannot work. The text is never shown. */
export const redisUrl: z.ZodType<string, string> = z.string().superRefine((text, context) => {
  for (const message of parseRedisUrl(text).problems) context.addIssue({ code: 'custom', message })
})

/** A URL of PostgreSQL servers, of which any will do. The text is never shown, since it may hold a password. */
export const postgresReadUrl: z.ZodType<string, string> = z.string().superRefine((text, context) => {
  const parsed = parsePostgresUrl(text)
  if ('problem' in parsed) context.addIssue({ code: 'custom', message: parsed.problem })
})

/** A URL of PostgreSQL servers that can be written to. The text is never shown. */
export const postgresUrl: z.ZodType<string, string> = z.string().superRefine((text, context) => {
  const parsed = parsePostgresUrl(text)
  if ('problem' in parsed) context.addIssue({ code: 'custom', message: parsed.problem })
  else if (isReadOnlyUrl(parsed.value))
    context.addIssue({
      code: 'custom',
      message: 'must lead to a server that can be written to: target_session_attrs=read-write or primary',
    })
})

/** A model's exact name, or a prefix of names followed by `*`. */
export const modelPattern: z.ZodType<string, string> = z
  .string()
  .refine(isModelPattern, { message: 'must be a model name, or the beginning of names followed by *' })

/** Text without spaces or control characters: an address, a token, a credential. Never shown. */
export const word: z.ZodType<string, string> = z
  .string()
  .refine(isHeaderValue, { message: 'must be printable ASCII without spaces' })

/** Whether a credential can be sent in a header as it is. */
export function isHeaderValue(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text)
}

/** Secrets separated by commas, the one in use first. Never shown. */
export const pepperList: z.ZodType<readonly string[], string> = z.string().transform((text, context) => {
  const peppers = text.split(',').map((pepper) => pepper.trim())
  if (peppers.every((pepper) => pepper !== '') && new Set(peppers).size === peppers.length) return peppers
  context.addIssue({ code: 'custom', message: 'must be one secret, or "new,old" while changing it' })
  return z.NEVER
})

/**
 * An upstream's URL. A trailing `/v1` is dropped, since paths of calls include it. The text is never shown,
 * since it may hold a password.
 */
export const upstreamUrl: z.ZodType<UpstreamAddress, string> = z.string().transform((text, context) => {
  const problem =
    /^https?:\/\//i.test(text) && URL.canParse(text) ? urlProblem(text) : 'must be an http:// or https:// URL'
  if (problem !== null) {
    context.addIssue({ code: 'custom', message: problem })
    return z.NEVER
  }
  const { origin, pathname, hostname } = new URL(text)
  const basePath = pathname.replace(/\/+$/, '').replace(/\/v1$/, '').replace(/\/+$/, '')
  return { origin, basePath, host: hostname }
})

function urlProblem(text: string): string | null {
  const { username, password } = new URL(text)
  if (username !== '' || password !== '') return 'must not hold a user or password: give the API key apart'
  if (/[?#]/.test(text)) return 'must not have a query or fragment'
  return null
}

/** The most that `setTimeout` accepts; a longer time would fire at once. */
export const LONGEST_TIMEOUT_MS = 2 ** 31 - 1

/** The variables' values; `null`, and a line in `problems` for each wrong one, when any is wrong. */
export function readVariables<Shape extends Partial<Record<EnvironmentName, z.ZodType>>>(
  env: Environment,
  shape: Shape,
  problems: string[],
): z.output<z.ZodObject<Shape>> | null {
  const names = Object.keys(shape) as EnvironmentName[]
  const texts = Object.fromEntries(names.map((name) => [name, readVariable(env, name)]))
  const parsed = z.object(shape).safeParse(texts)
  for (const { path, code, message } of parsed.error?.issues ?? []) {
    problems.push(`${path.join('.')}: ${code === 'invalid_type' ? 'is not set' : message}`)
  }
  return parsed.success ? parsed.data : null
}
