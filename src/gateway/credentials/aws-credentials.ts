import type { AwsCredentials } from '../../config/yaml/credentials-config.ts'
import type { Fetched } from '../../lib/credential-keeper.ts'
import { type SigningKey, signatureHeaders } from '../sigv4/sign-request.ts'
import { askEndpoint } from './token-request.ts'

/** A role's name of its holder, in AWS's logs. */
const SESSION = 'tallygate'
const MAX_MESSAGE = 200

/**
 * The credentials that AWS's own tools would use: of the environment, the shared files, a container, a web identity or
 * the instance; then those of a role, where one is configured.
 */
export async function fetchAwsCredentials({
  profile,
  region,
  roleArn,
  stsUrl,
}: AwsCredentials): Promise<Fetched<SigningKey>> {
  const own = await fromChain(profile, region)
  return roleArn === null ? own : await assumeRole(own.value, roleArn, region, stsUrl)
}

async function fromChain(profile: string | null, region: string): Promise<Fetched<SigningKey>> {
  // Megabytes that only those load who sign.
  const { defaultProvider } = await import('@aws-sdk/credential-provider-node')
  const chain = defaultProvider({
    ...(profile === null ? {} : { profile }),
    clientConfig: { region },
  })
  const { accessKeyId, secretAccessKey, sessionToken, expiration } = await chain().catch((error: unknown) => {
    throw new Error(shown(error))
  })
  return {
    value: { accessKeyId, secretAccessKey, sessionToken: sessionToken ?? null },
    endsAtMs: expiration?.getTime() ?? null,
  }
}

/** A command that failed is quoted with its arguments, which may hold a secret. */
function shown(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  if (/command failed/i.test(message)) return 'the credential_process of the profile failed'
  return message.split('\n', 1)[0]?.slice(0, MAX_MESSAGE) ?? ''
}

/** Source: docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html. */
async function assumeRole(
  key: SigningKey,
  roleArn: string,
  region: string,
  stsUrl: string,
): Promise<Fetched<SigningKey>> {
  const form = { Action: 'AssumeRole', Version: '2011-06-15', RoleArn: roleArn, RoleSessionName: SESSION }
  const { host, pathname } = new URL(stsUrl)
  const body = Buffer.from(new URLSearchParams(form).toString())
  const request = { method: 'POST', target: pathname, host, body, headers: [] }
  const signed = signatureHeaders(request, key, { region, service: 'sts' }, Date.now())
  const headers: Record<string, string> = { accept: 'text/xml' }
  for (let i = 0; i + 1 < signed.length; i += 2) headers[signed[i] ?? ''] = signed[i + 1] ?? ''
  const text = await askEndpoint({ url: stsUrl, headers, form })
  const [accessKeyId, secretAccessKey, sessionToken, end] = [
    'AccessKeyId',
    'SecretAccessKey',
    'SessionToken',
    'Expiration',
  ].map((name) => new RegExp(`<${name}>([^<]+)</${name}>`).exec(text)?.[1]?.trim())
  if (accessKeyId === undefined || secretAccessKey === undefined || sessionToken === undefined) {
    throw new Error('the answer of STS has no credentials')
  }
  const endsAtMs = Date.parse(end ?? '')
  if (Number.isNaN(endsAtMs)) throw new Error('the credentials of STS say no end')
  return { value: { accessKeyId, secretAccessKey, sessionToken }, endsAtMs }
}
