import { createVerify, generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { readCredentials } from '../../../src/config/yaml/credentials-config.ts'
import { fetchAzureToken } from '../../../src/gateway/credentials/azure-tokens.ts'
import { fetchGoogleToken } from '../../../src/gateway/credentials/google-tokens.ts'
import { json, startUpstream, type TestUpstream } from '../../support/upstream.ts'

const NOW_MS = Date.UTC(2026, 1, 28, 23, 59, 30)
const TOKEN = 'ya29.a-token'
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

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
  server.answer((_request, response) =>
    json(response, 200, { access_token: TOKEN, expires_in: 3_599, token_type: 'Bearer' }),
  )
})

const EXPECTED = { value: TOKEN, endsAtMs: NOW_MS + 3_599_000 }

async function keyFile(document: object): Promise<string> {
  const file = join(folder, 'key.json')
  await writeFile(file, JSON.stringify(document))
  return file
}

const serviceAccount = () => ({
  type: 'service_account',
  client_email: 'gateway@project.iam.gserviceaccount.com',
  private_key_id: 'k1',
  private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  token_uri: `${server.url}/token`,
})

const formOf = (index = 0) => Object.fromEntries(new URLSearchParams(server.requests[index]?.body.toString()))

test('a service account of Google signs what it asks a token with', async () => {
  const file = await keyFile(serviceAccount())
  expect(await fetchGoogleToken({ file, metadataHost: 'x' }, NOW_MS)).toEqual(EXPECTED)
  const { grant_type, assertion = '' } = formOf()
  expect([server.requests[0]?.url, grant_type]).toEqual([
    '/token',
    'urn:ietf:params:oauth:grant-type:jwt-bearer',
  ])
  const [head = '', claims = '', signature = ''] = assertion.split('.')
  const verify = createVerify('RSA-SHA256').update(`${head}.${claims}`)
  expect(verify.verify(publicKey, signature, 'base64url')).toBe(true)
  expect([head, claims].map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()))).toEqual([
    { alg: 'RS256', typ: 'JWT', kid: 'k1' },
    {
      iss: 'gateway@project.iam.gserviceaccount.com',
      scope: 'https://www.googleapis.com/auth/cloud-platform',
      aud: `${server.url}/token`,
      iat: NOW_MS / 1000,
      exp: NOW_MS / 1000 + 3_600,
    },
  ])
})

test("a user's file of Google's and its metadata server give tokens, too", async () => {
  const user = { type: 'authorized_user', client_id: 'c', client_secret: 's', refresh_token: 'r' }
  const file = await keyFile({ ...user, token_uri: `${server.url}/token` })
  expect(await fetchGoogleToken({ file, metadataHost: 'x' }, NOW_MS)).toEqual(EXPECTED)
  expect(formOf()).toEqual({
    grant_type: 'refresh_token',
    client_id: 'c',
    client_secret: 's',
    refresh_token: 'r',
  })
  const { host } = new URL(server.url)
  expect(await fetchGoogleToken({ file: null, metadataHost: host }, NOW_MS)).toEqual(EXPECTED)
  expect(server.requests[1]).toMatchObject({
    method: 'GET',
    url: '/computeMetadata/v1/instance/service-accounts/default/token',
    headers: { 'metadata-flavor': 'Google' },
  })
})

const AZURE = { provider: 'azure-openai', host: 'x.openai.azure.com', hasApiKey: false } as const

async function azureToken(env: Record<string, string>) {
  const problems: string[] = []
  const credentials = readCredentials({ credentials: 'azure' }, AZURE, env, (what) => problems.push(what))
  expect(problems).toEqual([])
  if (credentials?.kind !== 'azure') throw new Error('no credentials')
  return await fetchAzureToken(credentials, NOW_MS)
}

test('an application of Entra proves itself by its secret, or by the token of a federated identity', async () => {
  const client = { AZURE_TENANT_ID: 'tenant', AZURE_CLIENT_ID: 'app', AZURE_AUTHORITY_HOST: `${server.url}/` }
  expect(await azureToken({ ...client, AZURE_CLIENT_SECRET: 'secret' })).toEqual(EXPECTED)
  const asked = { grant_type: 'client_credentials', client_id: 'app' }
  const scope = 'https://cognitiveservices.azure.com/.default'
  expect(server.requests[0]?.url).toBe('/tenant/oauth2/v2.0/token')
  expect(formOf()).toEqual({ ...asked, scope, client_secret: 'secret' })
  const file = join(folder, 'token')
  await writeFile(file, 'assertion\n')
  await azureToken({ ...client, AZURE_FEDERATED_TOKEN_FILE: file })
  expect(formOf(1)).toEqual({
    ...asked,
    scope,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: 'assertion',
  })
})

test('managed identities of machines and of apps give tokens', async () => {
  server.answer((_request, response) =>
    json(response, 200, { access_token: TOKEN, expires_on: `${NOW_MS / 1000 + 3_599}` }),
  )
  expect(await azureToken({ AZURE_POD_IDENTITY_AUTHORITY_HOST: server.url })).toEqual(EXPECTED)
  expect(
    await azureToken({
      IDENTITY_ENDPOINT: `${server.url}/msi`,
      IDENTITY_HEADER: 'h',
      AZURE_CLIENT_ID: 'mine',
    }),
  ).toEqual(EXPECTED)
  const resource = 'resource=https%3A%2F%2Fcognitiveservices.azure.com'
  expect(server.requests).toMatchObject([
    {
      url: `/metadata/identity/oauth2/token?api-version=2018-02-01&${resource}`,
      headers: { metadata: 'true' },
    },
    { url: `/msi?api-version=2019-08-01&${resource}&client_id=mine`, headers: { 'x-identity-header': 'h' } },
  ])
})

test.each([
  [
    400,
    '{"error":"invalid_client","error_description":"AADSTS7000215: secret a-secret is wrong"}',
    'answered 400 (invalid_client, AADSTS7000215)',
  ],
  [500, 'a-secret', 'answered 500'],
  [200, '{"token":"a-secret"}', 'no access_token'],
  [200, 'a-secret', 'is not JSON'],
  [200, '{"access_token":"a-secret"}', 'says no end'],
  [200, '{"access_token":"a-secret\\nx: y","expires_in":1}', 'no access_token'],
])('an endpoint that answers %i %s is an error that repeats nothing of it', async (status, body, message) => {
  server.answer((_request, response) => void response.writeHead(status).end(body))
  const env = { AZURE_TENANT_ID: 't', AZURE_CLIENT_ID: 'c', AZURE_CLIENT_SECRET: 'a-secret' }
  const found = await azureToken({ ...env, AZURE_AUTHORITY_HOST: server.url }).catch(
    (error: Error) => error.message,
  )
  expect(found).toContain(message)
  expect(found).not.toContain('a-secret')
})

test('an endpoint that is away, or leads elsewhere, is an error', async () => {
  const gone = await startUpstream()
  await gone.close()
  const away = fetchGoogleToken({ file: null, metadataHost: new URL(gone.url).host }, NOW_MS)
  await expect(away).rejects.toThrow('does not answer: ECONNREFUSED')
  server.answer(
    (_request, response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
  )
  const { host } = new URL(server.url)
  await expect(fetchGoogleToken({ file: null, metadataHost: host }, NOW_MS)).rejects.toThrow(
    'does not answer',
  )
})

test('an answer that does not end is not read to its end', async () => {
  let sent = 0
  server.answer((_request, response) => {
    response.writeHead(200)
    const more = () => {
      sent += 1
      if (!response.destroyed) response.write('x'.repeat(64 * 1024), () => setImmediate(more))
    }
    more()
  })
  const { host } = new URL(server.url)
  await expect(fetchGoogleToken({ file: null, metadataHost: host }, NOW_MS)).rejects.toThrow(
    'at great length',
  )
  expect(sent).toBeLessThan(2_000)
})
