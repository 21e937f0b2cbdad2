import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readCredentials, type WrittenCredentials } from '../../src/config/yaml/credentials-config.ts'
import type { Provider } from '../../src/providers/registry.ts'
import { loadedModules } from '../support/loaded-modules.ts'

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tallygate-test-'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const HOSTS = {
  bedrock: 'bedrock-runtime.eu-west-1.amazonaws.com',
  vertex: 'us-central1-aiplatform.googleapis.com',
  'azure-openai': 'x.openai.azure.com',
  openai: 'api.openai.com',
} as const satisfies Partial<Record<Provider, string>>

function read(
  written: WrittenCredentials,
  env: Record<string, string> = {},
  provider: keyof typeof HOSTS = 'bedrock',
  { host = HOSTS[provider] as string, hasApiKey = false, find = (_name: string): unknown => null } = {},
) {
  const problems: string[] = []
  const own = { HOME: folder, ...env }
  const found = readCredentials(
    written,
    { provider, host, hasApiKey },
    own,
    (what) => problems.push(what),
    find,
  )
  return { found, problems }
}

test('the region and the service of Bedrock are those of its address, else of the settings', () => {
  const sts = { stsUrl: 'https://sts.eu-west-1.amazonaws.com/' }
  const plain = { kind: 'aws', region: 'eu-west-1', service: 'bedrock', profile: null, roleArn: null, ...sts }
  expect(read({ credentials: 'aws' })).toEqual({ found: plain, problems: [] })
  const vpce = { host: 'vpce-0a1.bedrock-runtime.eu-west-1.vpce.amazonaws.com' }
  expect(read({ credentials: 'aws' }, {}, 'bedrock', vpce).found).toEqual(plain)
  const mantle = { host: 'bedrock-mantle.us-west-2.api.aws' }
  expect(read({ credentials: 'aws' }, {}, 'bedrock', mantle).found).toMatchObject({
    region: 'us-west-2',
    service: 'bedrock-mantle',
  })
  const other = { host: 'bedrock.internal' }
  expect(read({ credentials: 'aws' }, { AWS_REGION: 'us-east-2' }, 'bedrock', other).found).toMatchObject({
    region: 'us-east-2',
    service: 'bedrock',
  })
  const roleArn = 'arn:aws-cn:iam::123456789012:role/path/r'
  expect(read({ credentials: 'aws', region: 'cn-north-1', profile: 'p', role_arn: roleArn }).found).toEqual({
    ...plain,
    region: 'cn-north-1',
    profile: 'p',
    roleArn,
    stsUrl: 'https://sts.cn-north-1.amazonaws.com.cn/',
  })
})

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ACCOUNT = {
  type: 'service_account',
  client_email: 'a@b',
  private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  token_uri: 'https://oauth2.googleapis.com/token',
}

test.each([
  [JSON.stringify(ACCOUNT), null],
  [JSON.stringify({ ...ACCOUNT, private_key: 'secret' }), 'has a private_key that is none'],
  [JSON.stringify({ ...ACCOUNT, client_email: undefined, token_uri: 1 }), 'lacks client_email, token_uri'],
  [JSON.stringify({ type: 'external_account' }), 'is of the type "external_account"'],
  ['secret', 'is not JSON'],
  [null, 'cannot be read: ENOENT'],
])('a file of Google’s credentials that says %s is right or named at the start', (text, problem) => {
  const file = join(folder, 'google.json')
  rmSync(file, { force: true })
  if (text !== null) writeFileSync(file, text)
  const written = { credentials: 'google', credentials_file: file } as const
  const { found, problems } = read(written, {}, 'vertex')
  if (problem === null)
    expect(found).toEqual({ kind: 'google', file, metadataHost: 'metadata.google.internal' })
  else expect([found, problems.join()]).toEqual([null, expect.stringContaining(problem)])
  expect(problems.join()).not.toContain('secret')
  expect(
    read({ credentials: 'google' }, { GOOGLE_APPLICATION_CREDENTIALS: file }, 'vertex').problems,
  ).toEqual(problems)
})

test('without a file of Google’s the metadata server is asked', () => {
  expect(read({ credentials: 'google' }, {}, 'vertex').found).toMatchObject({ file: null })
})

const AWS = { credentials: 'aws' } as const
const NOT_THERE = () => {
  throw new Error('ERR_MODULE_NOT_FOUND')
}

test.each([
  ['an API key beside it', read(AWS, {}, 'bedrock', { hasApiKey: true }), 'API key and credentials'],
  ['another provider', read(AWS, {}, 'openai'), 'credentials: aws is for bedrock, and it is openai'],
  ['no region', read(AWS, {}, 'bedrock', { host: 'bedrock.internal' }), 'needs a region'],
  [
    'no package',
    read(AWS, {}, 'bedrock', { find: NOT_THERE }),
    'npm install @aws-sdk/credential-provider-node',
  ],
  ['a setting of another cloud', read({ ...AWS, tenant_id: 't' }), 'tenant_id is for credentials: azure'],
  ['a setting without credentials', read({ region: 'eu-west-1' }), 'region is for credentials: aws'],
  [
    'an unset secret',
    read({ credentials: 'azure', client_secret_env: 'MINE' }, {}, 'azure-openai'),
    'client_secret_env names MINE, which is not set',
  ],
  [
    'a secret without its application',
    read({ credentials: 'azure' }, { AZURE_CLIENT_SECRET: 's' }, 'azure-openai'),
    'needs tenant_id and client_id',
  ],
  [
    'a federated token that is not there',
    read(
      { credentials: 'azure', tenant_id: 't', client_id: 'c' },
      { AZURE_FEDERATED_TOKEN_FILE: '/nowhere' },
      'azure-openai',
    ),
    'AZURE_FEDERATED_TOKEN_FILE names /nowhere',
  ],
])('%s is named at the start', (_, { found, problems }, problem) => {
  expect([found, problems]).toEqual([null, [expect.stringContaining(problem)]])
})

test('a gateway loads what finds credentials of AWS only where an upstream has them', async () => {
  const { packages } = await loadedModules('src/gateway/server.ts', [], {
    UPSTREAM_URL: 'http://127.0.0.1:1',
  })
  expect([...packages]).toContain('fastify')
  expect([...packages].filter((name) => /^@(?:aws-sdk|smithy|aws-crypto)\//.test(name))).toEqual([])
})
