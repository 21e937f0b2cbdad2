import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { fetchAwsCredentials } from '../../../src/gateway/credentials/aws-credentials.ts'
import { json, startUpstream, type TestUpstream } from '../../support/upstream.ts'

const END = '2099-12-31T23:59:59Z'
let server: TestUpstream
let folder: string

beforeAll(async () => {
  server = await startUpstream()
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-'))
})

afterAll(async () => {
  await server?.close()
  await rm(folder, { recursive: true, force: true })
})

beforeEach(() => {
  server.requests.length = 0
  for (const name of Object.keys(process.env).filter((one) => one.startsWith('AWS_')))
    vi.stubEnv(name, undefined)
  vi.stubEnv('AWS_CONFIG_FILE', join(folder, 'config'))
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', join(folder, 'credentials'))
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true')
})

afterEach(() => vi.unstubAllEnvs())

const SETTINGS = {
  kind: 'aws',
  region: 'us-east-1',
  service: 'bedrock',
  profile: null,
  roleArn: null,
} as const
const settings = (changes = {}) => ({ ...SETTINGS, stsUrl: `${server.url}/`, ...changes })

/** The answer of STS to a role that is asked for. */
function stsAnswer(action: string): string {
  const credentials = `<Credentials><AccessKeyId>ASIAROLE</AccessKeyId><SecretAccessKey>rs</SecretAccessKey><SessionToken>rt</SessionToken><Expiration>${END}</Expiration></Credentials>`
  return `<${action}Response><${action}Result>${credentials}</${action}Result></${action}Response>`
}

const OF_ROLE = {
  value: { accessKeyId: 'ASIAROLE', secretAccessKey: 'rs', sessionToken: 'rt' },
  endsAtMs: Date.parse(END),
}

test('credentials of the environment, and of a profile, say no end', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIAENV')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'es')
  expect(await fetchAwsCredentials(settings())).toEqual({
    value: { accessKeyId: 'AKIAENV', secretAccessKey: 'es', sessionToken: null },
    endsAtMs: null,
  })
  await writeFile(
    join(folder, 'credentials'),
    '[other]\naws_access_key_id = AKIAFILE\naws_secret_access_key = fs\n',
  )
  expect(await fetchAwsCredentials(settings({ profile: 'other' }))).toMatchObject({
    value: { accessKeyId: 'AKIAFILE', secretAccessKey: 'fs' },
  })
})

test('a container and an instance give credentials that end', async () => {
  const answer = { AccessKeyId: 'ASIA', SecretAccessKey: 'cs', Token: 'ct', Expiration: END, Code: 'Success' }
  const expected = {
    value: { accessKeyId: 'ASIA', secretAccessKey: 'cs', sessionToken: 'ct' },
    endsAtMs: Date.parse(END),
  }
  server.answer(({ url }, response) => {
    if (url.endsWith('/api/token')) response.end('imds-token')
    else if (url.endsWith('/security-credentials/')) response.end('role')
    else json(response, 200, answer)
  })
  vi.stubEnv('AWS_CONTAINER_CREDENTIALS_FULL_URI', `${server.url}/credentials`)
  expect(await fetchAwsCredentials(settings())).toEqual(expected)
  vi.stubEnv('AWS_CONTAINER_CREDENTIALS_FULL_URI', undefined)
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', undefined)
  vi.stubEnv('AWS_EC2_METADATA_SERVICE_ENDPOINT', server.url)
  expect(await fetchAwsCredentials(settings())).toEqual(expected)
})

test('a web identity is changed for the credentials of its role', async () => {
  server.answer(
    (_request, response) =>
      void response.setHeader('content-type', 'text/xml').end(stsAnswer('AssumeRoleWithWebIdentity')),
  )
  const file = join(folder, 'token')
  await writeFile(file, 'web-token')
  vi.stubEnv('AWS_WEB_IDENTITY_TOKEN_FILE', file)
  vi.stubEnv('AWS_ROLE_ARN', 'arn:aws:iam::123456789012:role/r')
  vi.stubEnv('AWS_ENDPOINT_URL_STS', server.url)
  expect(await fetchAwsCredentials(settings())).toEqual(OF_ROLE)
  expect(server.requests[0]?.body.toString()).toContain('web-token')
})

test('a role is asked for with what was found, in a signed request', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIAENV')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'es')
  server.answer((_request, response) => void response.end(stsAnswer('AssumeRole')))
  const roleArn = 'arn:aws:iam::123456789012:role/r'
  expect(await fetchAwsCredentials(settings({ roleArn }))).toEqual(OF_ROLE)
  const [request] = server.requests
  expect(Object.fromEntries(new URLSearchParams(request?.body.toString()))).toEqual({
    Action: 'AssumeRole',
    Version: '2011-06-15',
    RoleArn: roleArn,
    RoleSessionName: 'tallygate',
  })
  expect(request?.headers.authorization).toMatch(
    /^AWS4-HMAC-SHA256 Credential=AKIAENV\/\d{8}\/us-east-1\/sts\//,
  )
  server.answer(
    (_request, response) =>
      void response.writeHead(403).end('<Code>AccessDenied</Code><Message>es</Message>'),
  )
  await expect(fetchAwsCredentials(settings({ roleArn }))).rejects.toThrow('answered 403 (AccessDenied)')
})

test('what is missing is said, and a command of the profile is not quoted', async () => {
  await expect(fetchAwsCredentials(settings())).rejects.toThrow(/credentials/i)
  await writeFile(join(folder, 'config'), '[profile p]\ncredential_process = /nowhere/program --secret es\n')
  const failed = fetchAwsCredentials(settings({ profile: 'p' })).catch((error: Error) => error.message)
  expect(await failed).toMatch(/^(?!.*--secret)./)
})
