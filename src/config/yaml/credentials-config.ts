import { existsSync, readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import type { Provider } from '../../providers/registry.ts'
import { messageOf } from '../variables.ts'
import { parseGoogleKeyFile } from './google-key-file.ts'

/** Clouds whose credentials end, and are fetched again. */
export const CREDENTIAL_KINDS = ['aws', 'google', 'azure'] as const

/** Requests are signed with what AWS's own tools would find. */
export interface AwsCredentials {
  readonly kind: 'aws'
  readonly region: string
  /** As AWS names it in signatures. */
  readonly service: string
  readonly profile: string | null
  /** `null`: what is found is used itself. */
  readonly roleArn: string | null
  /** Where a role is asked for. */
  readonly stsUrl: string
}

interface GoogleCredentials {
  readonly kind: 'google'
  /** `null`: the metadata server. */
  readonly file: string | null
  /** `host[:port]` */
  readonly metadataHost: string
}

/** An application of Entra that has a secret, or a token of a federated identity. */
interface EntraClient {
  /** `https://host` */
  readonly authority: string
  readonly tenantId: string
  readonly clientId: string
}

export type AzureSource =
  | (EntraClient & { readonly kind: 'secret'; readonly clientSecret: string })
  | (EntraClient & { readonly kind: 'federated'; readonly tokenFile: string })
  | {
      readonly kind: 'managed'
      readonly endpoint: string
      readonly apiVersion: string
      readonly headers: Readonly<Record<string, string>>
      /** `null`: the identity of the host itself. */
      readonly clientId: string | null
    }

export interface AzureCredentials {
  readonly kind: 'azure'
  readonly scope: string
  readonly from: AzureSource
}

export type UpstreamCredentials = AwsCredentials | GoogleCredentials | AzureCredentials

const text = z.string().regex(/^[\x21-\x7e]{1,256}$/, 'must be printable ASCII without spaces')

/** The settings of an upstream in the YAML file that are about its credentials. */
export const credentialFields = {
  credentials: z.enum([...CREDENTIAL_KINDS, 'client']).optional(),
  region: z
    .string()
    .regex(/^[a-z0-9-]{1,64}$/, 'must be a region such as us-east-1')
    .optional(),
  profile: text.optional(),
  role_arn: z
    .string()
    .regex(/^arn:aws[a-z-]*:iam::\d{12}:role\/[\w+=,.@/-]+$/, 'must be the ARN of a role')
    .optional(),
  credentials_file: z.string().min(1, 'must not be empty').optional(),
  tenant_id: text.optional(),
  client_id: text.optional(),
  client_secret_env: z.string().optional(),
} as const

export type WrittenCredentials = z.output<z.ZodObject<typeof credentialFields>>

/** An upstream, as far as its credentials depend on it. */
interface CredentialPlace {
  readonly provider: Provider
  /** Lower case. */
  readonly host: string
  readonly hasApiKey: boolean
}

/** An upstream of the YAML file, as far as it says who pays for its calls. */
interface PaidUpstream {
  readonly name: string
  readonly credentials?: WrittenCredentials['credentials']
  readonly line: number
}

/** Calls with a client's own credential are billed to the client by the provider: they cost nothing here. */
export function ownCredentialMarkups(upstreams: readonly PaidUpstream[]) {
  return upstreams.flatMap(({ name, credentials, line }) =>
    credentials === 'client' ? [{ line, upstream: name, factor: '0' }] : [],
  )
}

type Variables = Readonly<Record<string, string | undefined>>
type Report = (what: string) => void
type FindPackage = (name: string) => unknown

const PROVIDERS_OF: Readonly<Record<UpstreamCredentials['kind'], readonly Provider[]>> = {
  aws: ['bedrock'],
  google: ['vertex'],
  azure: ['azure-openai', 'azure-ai'],
}
const SETTINGS_OF: Readonly<Record<UpstreamCredentials['kind'], readonly (keyof WrittenCredentials)[]>> = {
  aws: ['region', 'profile', 'role_arn'],
  google: ['credentials_file'],
  azure: ['tenant_id', 'client_id', 'client_secret_env'],
}
const SETTINGS = Object.entries(SETTINGS_OF)

/**
 * What an upstream's requests are proven with beside an API key; `null`: nothing, or what is wrong was reported.
 *
 * @param env with the variables that the clouds' own tools read
 * @param find throws where a package is not installed
 */
export function readCredentials(
  written: WrittenCredentials,
  place: CredentialPlace,
  env: Variables,
  report: Report,
  find: FindPackage = (name) => findPackageJSON(name, import.meta.url),
): UpstreamCredentials | null {
  const { credentials: kind } = written
  const foreign = SETTINGS.flatMap(([of, names]) =>
    names.flatMap((name) =>
      of === kind || written[name] === undefined ? [] : `${name} is for credentials: ${of}`,
    ),
  )
  for (const what of foreign) report(what)
  if (kind === undefined || foreign.length > 0) return null
  if (place.hasApiKey) {
    report('it has an API key and credentials, and sends one of them')
    return null
  }
  if (kind === 'client') return null
  if (!PROVIDERS_OF[kind].includes(place.provider)) {
    report(`credentials: ${kind} is for ${PROVIDERS_OF[kind].join(' and ')}, and it is ${place.provider}`)
    return null
  }
  switch (kind) {
    case 'aws':
      return awsOf(written, place.host, env, report, find)
    case 'google':
      return googleOf(written, env, report)
    case 'azure':
      return azureOf(written, place.host, env, report)
    default:
      return kind satisfies never
  }
}

const AWS_HOST = /(?:^|\.)(bedrock(?:-[a-z]+)*)\.([a-z]{2}(?:-[a-z]+)+-\d)\./
/** Optional, as only who signs for AWS needs it. */
const AWS_CHAIN = '@aws-sdk/credential-provider-node'

function awsOf(
  written: WrittenCredentials,
  host: string,
  env: Variables,
  report: Report,
  find: FindPackage,
): AwsCredentials | null {
  const [, service = '', inHost] = AWS_HOST.exec(host) ?? []
  const region = written.region ?? inHost ?? (env.AWS_REGION || env.AWS_DEFAULT_REGION || undefined)
  if (region === undefined) {
    report('credentials: aws needs a region: neither its URL nor AWS_REGION says it')
    return null
  }
  try {
    find(AWS_CHAIN)
  } catch {
    report(`credentials: aws needs a package that is not installed: npm install ${AWS_CHAIN}`)
    return null
  }
  const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'
  return {
    kind: 'aws',
    region,
    service: service === 'bedrock-mantle' ? service : 'bedrock',
    profile: written.profile ?? null,
    roleArn: written.role_arn ?? null,
    stsUrl: env.AWS_ENDPOINT_URL_STS || `https://sts.${region}.${domain}/`,
  }
}

/** Where `gcloud auth application-default login` leaves what it made. */
const GCLOUD_FILE = ['.config', 'gcloud', 'application_default_credentials.json']

function googleOf(written: WrittenCredentials, env: Variables, report: Report): GoogleCredentials | null {
  const named = written.credentials_file ?? (env.GOOGLE_APPLICATION_CREDENTIALS || null)
  const gcloud = join(env.HOME || homedir(), ...GCLOUD_FILE)
  const file = named ?? (existsSync(gcloud) ? gcloud : null)
  const found = file === null ? null : problemOf(file)
  if (found !== null) {
    report(`the file of Google's credentials ${file} ${found}`)
    return null
  }
  return { kind: 'google', file, metadataHost: env.GCE_METADATA_HOST || 'metadata.google.internal' }
}

function problemOf(file: string): string | null {
  try {
    const key = parseGoogleKeyFile(readFileSync(file, 'utf8'))
    return typeof key === 'string' ? key : null
  } catch (error) {
    return `cannot be read: ${messageOf(error)}`
  }
}

const PUBLIC_AUTHORITY = 'https://login.microsoftonline.com'
const METADATA_HOST = 'http://169.254.169.254'

function azureOf(
  written: WrittenCredentials,
  host: string,
  env: Variables,
  report: Report,
): AzureCredentials | null {
  const domain = host.endsWith('.us') ? 'us' : 'com'
  const scope = `https://cognitiveservices.azure.${domain}/.default`
  const { client_secret_env: secretName = 'AZURE_CLIENT_SECRET' } = written
  const clientSecret = env[secretName] || null
  if (written.client_secret_env !== undefined && clientSecret === null) {
    report(`client_secret_env names ${secretName}, which is not set`)
    return null
  }
  const tenantId = written.tenant_id ?? (env.AZURE_TENANT_ID || null)
  const clientId = written.client_id ?? (env.AZURE_CLIENT_ID || null)
  const tokenFile = env.AZURE_FEDERATED_TOKEN_FILE || null
  if (clientSecret === null && tokenFile === null) {
    return { kind: 'azure', scope, from: { ...managedIdentity(env), kind: 'managed', clientId } }
  }
  if (tenantId === null || clientId === null) {
    report('credentials: azure with a client secret or a federated token needs tenant_id and client_id')
    return null
  }
  const client = {
    authority: (env.AZURE_AUTHORITY_HOST || PUBLIC_AUTHORITY).replace(/\/+$/, ''),
    tenantId,
    clientId,
  }
  if (clientSecret !== null)
    return { kind: 'azure', scope, from: { ...client, kind: 'secret', clientSecret } }
  if (tokenFile === null) return null
  if (!existsSync(tokenFile)) {
    report(`AZURE_FEDERATED_TOKEN_FILE names ${tokenFile}, which is not there`)
    return null
  }
  return { kind: 'azure', scope, from: { ...client, kind: 'federated', tokenFile } }
}

/** Where apps and hosts at Azure ask for the token of their identity. */
function managedIdentity(
  env: Variables,
): Omit<Extract<AzureSource, { readonly kind: 'managed' }>, 'kind' | 'clientId'> {
  const { IDENTITY_ENDPOINT: endpoint, IDENTITY_HEADER: header } = env
  if (endpoint && header) {
    return { endpoint, apiVersion: '2019-08-01', headers: { 'x-identity-header': header } }
  }
  const host = env.AZURE_POD_IDENTITY_AUTHORITY_HOST || METADATA_HOST
  return {
    endpoint: `${host.replace(/\/+$/, '')}/metadata/identity/oauth2/token`,
    apiVersion: '2018-02-01',
    headers: { metadata: 'true' },
  }
}
