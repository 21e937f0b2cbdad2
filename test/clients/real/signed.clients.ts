import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest'
import { isSignedWith, readClaims, readSignature } from '../../../src/gateway/sigv4/read-signature.ts'
import { signatureHeaders } from '../../../src/gateway/sigv4/sign-request.ts'
import { makeSigningSecret } from '../../../src/keys/signing-secrets.ts'
import { bedrockEvent } from '../../fixtures/event-messages.ts'
import { PEPPER, startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { json, startUpstream, type TestUpstream, type UpstreamRequest } from '../../support/upstream.ts'

const PROGRAMS = fileURLToPath(new URL('./programs', import.meta.url))
const AT_AWS = { id: 'AKIAOFTHEGATEWAY', secret: 'the secret of the gateway at AWS' }

let upstream: TestUpstream
let folder: string
let stack: TestStack
let client: TestClient
let secret: string

beforeAll(async () => {
  for (const [name, value] of [
    ['AWS_ACCESS_KEY_ID', AT_AWS.id],
    ['AWS_SECRET_ACCESS_KEY', AT_AWS.secret],
    ['AWS_SESSION_TOKEN', undefined],
    ['AWS_PROFILE', undefined],
  ] as const)
    vi.stubEnv(name, value)
  upstream = await startUpstream(serve)
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-'))
  await cp(PROGRAMS, join(inject('installedClients').node, 'programs'), { recursive: true })
  stack = await startStack(upstream.url, {
    env: { UPSTREAM_PROVIDER: 'bedrock', UPSTREAM_CREDENTIALS: 'aws', AWS_REGION: 'us-east-1' },
  })
  client = await stack.addClient('acme')
  const made = await makeSigningSecret(stack.pool, client.keyId, PEPPER)
  if (typeof made === 'string') throw new Error(made)
  secret = made.secretAccessKey
})

afterAll(async () => {
  vi.unstubAllEnvs()
  await stack?.stop()
  await upstream?.close()
  await rm(folder, { recursive: true, force: true })
})

/** Bedrock's answers, with 5 tokens of output each, to requests that AWS would take. */
function serve(request: UpstreamRequest, response: Parameters<typeof json>[0]): void {
  if (!isRightlySigned(request)) {
    json(response, 403, { message: 'SignatureDoesNotMatch' })
    return
  }
  const usage = { inputTokens: 7, outputTokens: 5, totalTokens: 12 }
  const message = { role: 'assistant', content: [{ text: 'hi' }] }
  if (request.url.endsWith('/converse')) {
    json(response, 200, { output: { message }, stopReason: 'end_turn', usage, metrics: { latencyMs: 1 } })
  } else if (request.url.endsWith('/converse-stream')) {
    response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' })
    response.write(bedrockEvent('messageStart', { role: 'assistant' }))
    response.write(bedrockEvent('messageStop', { stopReason: 'end_turn' }))
    response.end(bedrockEvent('metadata', { usage, metrics: { latencyMs: 1 } }))
  } else {
    const content = [{ type: 'text', text: 'hi' }]
    const own = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn' }
    json(response, 200, { ...own, content, usage: { input_tokens: 7, output_tokens: 5 } })
  }
}

function isRightlySigned({ method, url, headers, rawHeaders }: UpstreamRequest): boolean {
  const received = { method, target: url, rawHeaders }
  const signature = readSignature(headers.authorization ?? '')
  const claims = signature === null ? '' : readClaims(received, signature)
  if (signature?.accessKeyId !== AT_AWS.id || typeof claims === 'string') return false
  return isSignedWith(AT_AWS.secret, received, signature, claims, claims.payloadHash ?? '')
}

test.each([
  ['bedrock-sigv4.py', 'HTTP/1.1', 5],
  ['bedrock-sigv4.mjs', 'HTTP/1.1', 4],
  ['bedrock-sigv4.mjs', 'HTTP/2', 4],
])('%s by %s signs for the gateway, which signs for AWS; each call is counted', async (program, PROTOCOL, calls) => {
  upstream.requests.length = 0
  const before = await stack.usage(client)
  const { node, python } = inject('installedClients')
  const signing = { SIGNING_ID: client.keyId, SIGNING_SECRET: secret, PROTOCOL }
  const { stdout } = await promisify(execFile)(
    program.endsWith('.py') ? 'python3' : process.execPath,
    [join(node, 'programs', program)],
    {
      cwd: folder,
      env: { PATH: process.env.PATH, BASE: stack.url, PYTHONPATH: python, HOME: folder, ...signing },
    },
  )
  const { refused, ...tokens } = JSON.parse(stdout)
  expect([Object.values(tokens), refused]).toEqual([
    Array.from({ length: calls }, () => 5),
    'SignatureDoesNotMatch',
  ])
  expect(upstream.requests).toHaveLength(calls)
  const seen = upstream.requests.map(({ rawHeaders }) => rawHeaders.join(' ')).join(' ')
  expect(seen).not.toContain(client.keyId)
  await expect.poll(async () => (await stack.usage(client)).requests).toBe(before.requests + calls)
  expect((await stack.usage(client)).output_tokens).toBe(before.output_tokens + 5 * calls)
})

test('requests for AWS are signed as botocore signs them', async () => {
  const time = '20260228T235959Z'
  const cases = [
    ['POST', '/model/anthropic.claude-3%3A0/converse', '{"a":1}'],
    ['POST', '/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fx/invoke', ''],
    ['GET', '/async-invoke?maxResults=5&nextToken=a%2Fb%3D', ''],
    ['POST', '/model/a:0/converse', 'ü'],
  ].map(([method = '', target = '', body = '']) => {
    const host = 'bedrock-runtime.us-east-1.amazonaws.com'
    const headers = signatureHeaders(
      { method, target, host, body: body === '' ? null : Buffer.from(body), headers: [] },
      { accessKeyId: 'AKIA', secretAccessKey: 's/+=', sessionToken: 'token' },
      { region: 'us-east-1', service: 'bedrock' },
      Date.UTC(2026, 1, 28, 23, 59, 59),
    )
    return {
      method,
      target,
      host,
      body,
      hash: headers[1],
      id: 'AKIA',
      secret: 's/+=',
      token: 'token',
      time,
      ours: headers.at(-1),
    }
  })
  const { node, python } = inject('installedClients')
  const child = spawn('python3', [join(node, 'programs', 'botocore-sign.py')], {
    env: { PATH: process.env.PATH, PYTHONPATH: python },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(JSON.stringify(cases))
  const [output] = await Promise.all([text(child.stdout), once(child, 'exit')])
  expect(JSON.parse(output)).toEqual(cases.map(({ ours }) => ours))
})
