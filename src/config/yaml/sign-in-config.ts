import { z } from 'zod'
import type { ClaimPath } from '../../domain/claims.ts'
import type { Environment } from '../environment.ts'
import { claimPath, providerUrl } from './identity-config.ts'

/** A client of the company's identity provider, and which claims are read. */
export interface OidcConfig {
  readonly issuer: string
  readonly clientId: string
  /** `null`: a client without a secret, by PKCE alone. */
  readonly clientSecret: string | null
  /** Where browsers reach the listener, without a slash at its end. */
  readonly publicUrl: string
  readonly scope: string
  readonly groups: ClaimPath
  /** Of the person: the audit has it. */
  readonly name: ClaimPath
  /** The token that a sign-in gives ends after this time. */
  readonly sessionSeconds: number
}

/** How operators sign in with the company's identity provider: the `sign_in` of the YAML file. */
export interface SignInConfig extends OidcConfig {
  /** The groups of each role, compared character by character. */
  readonly roles: Readonly<Record<'read' | 'write' | 'admin', readonly string[]>>
}

export const claimedGroups = z.array(z.string().min(1, 'must not be empty')).default([])
const word = z.string().regex(/^[\x21-\x7e]{1,256}$/, 'must be printable ASCII without spaces')

/** What each sign-in of people has in the file. */
export function oidcFields(env: Environment) {
  return {
    issuer: providerUrl,
    client_id: word,
    client_secret_env: z
      .string()
      .refine((name) => Boolean(env[name]), { error: ({ input }) => `names ${input}, which is not set` })
      .optional(),
    public_url: providerUrl
      .refine((url) => !URL.canParse(url) || new URL(url).search === '', 'must have no query')
      .transform((url) => url.replace(/\/+$/, '')),
    scope: z
      .string()
      .refine((scope) => scope.split(' ').includes('openid'), 'must have openid in it')
      .default('openid email profile'),
    groups_claim: claimPath.default(['groups']),
    name_claim: claimPath.default(['email']),
    session_seconds: z
      .int()
      .min(300, 'must be 300 or more')
      .max(86_400, 'must be at most 86400, which is a day')
      .default(3_600),
  }
}

type WrittenOidc = z.output<z.ZodObject<ReturnType<typeof oidcFields>>>

export function oidcFrom(written: WrittenOidc, env: Environment): OidcConfig {
  return {
    issuer: written.issuer,
    clientId: written.client_id,
    clientSecret: written.client_secret_env === undefined ? null : (env[written.client_secret_env] ?? null),
    publicUrl: written.public_url,
    scope: written.scope,
    groups: written.groups_claim,
    name: written.name_claim,
    sessionSeconds: written.session_seconds,
  }
}

/** @param env with the secret of the client. */
export function signInShape(env: Environment): z.ZodType<SignInConfig> {
  return z
    .strictObject({
      ...oidcFields(env),
      roles: z
        .strictObject({ read: claimedGroups, write: claimedGroups, admin: claimedGroups })
        .refine((roles) => Object.values(roles).flat().length > 0, 'must name a group'),
    })
    .transform(({ roles, ...written }) => ({ ...oidcFrom(written, env), roles }))
}
