import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIPv4 } from 'node:net'
import { z } from 'zod'
import type { ClaimPath } from '../../domain/claims.ts'
import { isName } from '../../domain/names.ts'
import type { Environment } from '../environment.ts'
import { isHeaderValue } from '../variables.ts'

/** What a token may be signed by. Each has a public key: none can be made with what anybody can read. */
export const SIGNING_ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA'],
] as const

/** How the client of an identity is found. */
export type ClientRule =
  | { readonly kind: 'fixed'; readonly name: string }
  /** The claim has the name. */
  | { readonly kind: 'claim'; readonly path: ClaimPath }
  /** The first of these values that the claim has leads to the name beside it. */
  | { readonly kind: 'map'; readonly path: ClaimPath; readonly names: readonly (readonly [string, string])[] }

/** An identity provider whose tokens are taken in place of keys. */
export interface TokenIssuer {
  readonly name: string
  /** The claim `iss`, exactly. */
  readonly issuer: string
  /** One of them has to be in `aud`. */
  readonly audiences: readonly string[]
  readonly jwksUrl: string
  readonly algorithms: readonly string[]
  readonly skewSeconds: number
  /** A token whose end is further away is refused. */
  readonly maxLifetimeSeconds: number
  readonly subject: ClaimPath
  readonly client: ClientRule
  /** Lines `sub SUBJECT` and `jti ID`; `null`: there is no such file. */
  readonly revokedFile: string | null
}

/** A certificate that connections of a proxy have to have. */
export interface ProxyCertificate {
  /** Authorities in PEM, one of which has to have signed it. */
  readonly caFile: string
  /** One of them has to stand in it: `DNS:…` or `URI:…` of its alternative names, or `CN=…` of its subject. */
  readonly names: readonly string[]
}

/** A proxy of the operator's own that says who calls. It proves itself by a secret, by a certificate, or by both. */
export interface TrustedProxy {
  /** One of them comes with each request that it vouches for; `null`: it has a certificate. */
  readonly secrets: readonly string[] | null
  /** `null`: it has a secret. */
  readonly certificate: ProxyCertificate | null
  readonly client: Extract<ClientRule, { readonly kind: 'fixed' }> | { readonly kind: 'header' }
}

/** The `identity` of the YAML file: who may call without a key of ours. */
export interface IdentityConfig {
  readonly issuers: readonly TokenIssuer[]
  /** `null`: headers of a proxy say nothing. */
  readonly proxy: TrustedProxy | null
  /** Identities that are known, in all. */
  readonly mostKeys: number
  /** Clients that are made where a claim names one that is not there, in all; 0: none. */
  readonly mostClients: number
}

const LEAST_SECRET = 32
const LOOPBACK = /^(?:localhost|\[::1\])$/

/** An address of an identity provider: what is fetched over plain HTTP, anybody on the way could replace. */
export const providerUrl = z.string().refine((text) => {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, username, hash } = new URL(text)
  const isHere = LOOPBACK.test(hostname) || (isIPv4(hostname) && hostname.startsWith('127.'))
  return username === '' && hash === '' && (protocol === 'https:' || (protocol === 'http:' && isHere))
}, 'must be an https:// URL')

const claim = z.string().min(1, 'must name a claim').max(256, 'must be at most 256 characters')
/** A claim by its name, or by the members that lead to it. */
export const claimPath = z.union([
  claim.transform((name) => [name]),
  z.array(claim).min(1, 'must name a claim'),
])
const clientName = z.string().refine(isName, 'must be a name of a client')
const fixedClient = z
  .strictObject({ name: clientName })
  .transform(({ name }) => ({ kind: 'fixed', name }) as const)
const claimedClient = z
  .strictObject({ claim: claimPath, map: z.record(z.string(), clientName).optional() })
  .transform(
    ({ claim: path, map }): ClientRule =>
      map === undefined ? { kind: 'claim', path } : { kind: 'map', path, names: Object.entries(map) },
  )
const text = z.string().min(1, 'must not be empty').max(2_048, 'must be at most 2048 characters')

const issuerShape = z
  .strictObject({
    name: z.string().regex(/^[a-z0-9._-]{1,32}$/, 'must be 1 to 32 of a-z, 0-9, ".", "_" or "-"'),
    issuer: text,
    audience: z.union([text.transform((one) => [one]), z.array(text).min(1, 'must name an audience')]),
    jwks_url: providerUrl,
    algorithms: z
      .array(z.enum(SIGNING_ALGORITHMS))
      .min(1, 'must name an algorithm')
      .default(['RS256', 'PS256', 'ES256', 'EdDSA']),
    clock_skew_seconds: z.int().min(0, 'must be 0 or more').max(300, 'must be at most 300').default(30),
    max_lifetime_seconds: z
      .int()
      .min(60, 'must be 60 or more')
      .max(604_800, 'must be at most 604800, which is a week')
      .default(86_400),
    subject: claimPath.default(['sub']),
    client: z.union([fixedClient, claimedClient], 'must have a name, or a claim'),
    revoked_file: text.optional(),
  })
  .transform(
    ({
      audience,
      jwks_url,
      clock_skew_seconds,
      max_lifetime_seconds,
      revoked_file,
      ...rest
    }): TokenIssuer => ({
      ...rest,
      audiences: audience,
      jwksUrl: jwks_url,
      skewSeconds: clock_skew_seconds,
      maxLifetimeSeconds: max_lifetime_seconds,
      revokedFile: revoked_file ?? null,
    }),
  )

function isSecret(one: string): boolean {
  return one.length >= LEAST_SECRET && isHeaderValue(one)
}

const COMMON_NAME = /^CN=[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,62}[A-Za-z0-9])?$/
const URI_NAME = /^[a-z][a-z0-9+.-]*:\/\/[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]{1,2000}$/i
const DNS_NAME = /^(?=.{1,253}$)[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/i

/** A name as certificates are asked for it; `null`: it is none that one could have without doubt. */
function certifiedName(name: string): string | null {
  if (COMMON_NAME.test(name)) return name
  if (URI_NAME.test(name)) return `URI:${name}`
  return DNS_NAME.test(name) ? `DNS:${name.toLowerCase()}` : null
}

const proxyCertificate = z
  .strictObject({
    ca_file: text.refine(hasCertificates, 'must name a file with certificates in PEM'),
    names: z
      .array(
        z.string().transform((name, context) => {
          const found = certifiedName(name)
          if (found !== null) return found
          context.addIssue('must be a DNS name without wildcards, a URI, or CN= and a common name')
          return z.NEVER
        }),
      )
      .min(1, 'must name the certificate of a proxy')
      .max(100, 'must be at most 100'),
  })
  .transform(({ ca_file: caFile, names }): ProxyCertificate => ({ caFile, names }))

function hasCertificates(file: string): boolean {
  try {
    return certificatesIn(readFileSync(file, 'latin1')).length > 0
  } catch {
    return false
  }
}

/** @throws Where one of them cannot be read. */
export function certificatesIn(pem: string): readonly X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  return blocks.map((block) => new X509Certificate(block))
}

function proxyShape(env: Environment) {
  const secretsIn = (name: string) => (env[name] ?? '').split(',')
  return z
    .strictObject({
      secret_env: z
        .string()
        .refine((name) => Boolean(env[name]), { error: ({ input }) => `names ${input}, which is not set` })
        .refine((name) => !env[name] || secretsIn(name).every(isSecret), {
          error: ({ input }) =>
            `names ${input}: each secret in it must have ${LEAST_SECRET} characters of printable ASCII or more`,
        })
        .optional(),
      certificate: proxyCertificate.optional(),
      client: z
        .union([fixedClient, z.literal('header')], 'must be header, or have a name')
        .transform((rule) => (rule === 'header' ? ({ kind: 'header' } as const) : rule)),
    })
    .refine(
      ({ secret_env, certificate }) => secret_env !== undefined || certificate !== undefined,
      'must have a secret_env, a certificate, or both: anybody could send its headers',
    )
    .transform(
      ({ secret_env, certificate, client }): TrustedProxy => ({
        secrets: secret_env === undefined ? null : secretsIn(secret_env),
        certificate: certificate ?? null,
        client,
      }),
    )
}

/** @param env with the secret of the proxy. */
export function identityShape(env: Environment): z.ZodType<IdentityConfig> {
  return z
    .strictObject({
      issuers: z
        .array(issuerShape)
        .max(20, 'must be at most 20')
        .refine(
          (all) => new Set(all.map(({ name }) => name)).size === all.length,
          'must have names of their own',
        )
        .refine(
          (all) => new Set(all.map(({ issuer }) => issuer)).size === all.length,
          'must differ in issuer',
        )
        .default([]),
      proxy: proxyShape(env).optional(),
      most_keys: z
        .int()
        .min(1, 'must be 1 or more')
        .max(1_000_000, 'must be at most 1000000')
        .default(10_000),
      most_clients: z.int().min(0, 'must be 0 or more').max(100_000, 'must be at most 100000').default(0),
    })
    .transform(({ issuers, proxy, most_keys, most_clients }) => ({
      issuers,
      proxy: proxy ?? null,
      mostKeys: most_keys,
      mostClients: most_clients,
    }))
}
