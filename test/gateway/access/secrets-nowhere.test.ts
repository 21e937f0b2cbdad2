import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { createKey, keyPrefix } from '../../../src/domain/api-key.ts'
import { randomBase62 } from '../../../src/domain/base62.ts'
import { createClient } from '../../../src/keys/clients.ts'
import { createClientKey, revokeKey } from '../../../src/keys/keys.ts'
import { makeSigningSecret } from '../../../src/keys/signing-secrets.ts'
import type { Postgres } from '../../../src/store/connection/postgres.ts'
import { run } from '../../cli/command-line.ts'
import { OFFLINE } from '../../support/offline.ts'
import { createTestDatabase, openTestPool, type TestDatabase } from '../../support/servers/database.ts'
import { startPrivateRedis, type TestServer } from '../../support/servers/servers.ts'
import { event } from '../../support/upstream.ts'
import { dial, exchange, type RawResponse, requestText } from '../raw-http.ts'
import { signedHeaders, wireText } from '../sigv4/signing-client.ts'
import { type HeardGateway, startHeard, startHeardGateway } from '../support/heard-process.ts'
import { type SecretSearch, searchFor } from '../support/secret-search.ts'

const UPSTREAM_CREDENTIAL = `sk-${randomBase62(30)}`
const ADMIN_TOKEN = randomBase62(30)
const PEPPER = randomBase62(30)
/** Secrets with which clouds give tokens, and the tokens. */
const REFRESH_TOKEN = randomBase62(30)
const GOOGLE_SECRET = randomBase62(30)
const ENTRA_SECRET = randomBase62(30)
const CLOUD_TOKEN = randomBase62(30)
const AWS_SECRET = randomBase62(40)
const AWS_SESSION = randomBase62(30)
/** A client's own credential at the upstream. */
const OWN_CREDENTIAL = `sk-ant-oat01-${randomBase62(30)}`
const PROMPT = randomBase62(30)
const ANSWER = randomBase62(30)
/** Has the form of a key, and belongs to no client. */
const UNKNOWN_KEY = createKey()
const STRANGE_KEY = `sk-${randomBase62(40)}`
const BEARER = 'Authorization: Bearer'
const CHAT_PATH = '/v1/chat/completions'

interface Holder {
  readonly client: string
  readonly key: string
  readonly keyId: string
}

let redis: TestServer
let database: TestDatabase
let pool: Postgres
let folder: string
/** Of what the gateway is given, and does not write. */
let secrets: string
let gateway: HeardGateway
let holders: Record<'one' | 'two' | 'revoked', Holder>
let search: SecretSearch
/** What each place was found to hold in the end. */
const places = new Map<string, Buffer | string>()
/** What the gateway answered by itself, heads included. */
const refusals: Buffer[] = []
const callIds: string[] = []
/** Of a call that is open when its gateway is killed. */
let openCallId: string | undefined

const upstream = createServer(answer)
const sessions = new WebSocketServer({ noServer: true })
upstream.on('upgrade', (request, socket, head) => {
  if (request.url?.startsWith('/v1/refused') === true) {
    const echo = request.rawHeaders.join('|')
    socket.end(`HTTP/1.1 403 No\r\nContent-Length: ${echo.length}\r\nConnection: close\r\n\r\n${echo}`)
    return
  }
  sessions.handleUpgrade(request, socket, head, (session) => {
    const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 }
    session.send(JSON.stringify({ type: 'response.output_text.delta', delta: ANSWER }))
    session.send(JSON.stringify({ type: 'response.done', response: { id: 'resp_1', usage, output: ANSWER } }))
    session.send(`{"type":"response.done", ${ANSWER}`)
  })
})

let tokenRequests = 0
let signingSecret = ''

/** Answers with the secret, in as many broken ways as a path asks for. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await buffer(request).catch(() => Buffer.alloc(0))
  const how = request.headers['x-how'] ?? 'well'
  const { socket } = response
  if (/token$/.test(request.url ?? '')) {
    // The first attempt fails, and its answer repeats what was sent.
    tokenRequests += 1
    response.writeHead(tokenRequests < 3 ? 400 : 200, { 'content-type': 'application/json' })
    const token = { access_token: CLOUD_TOKEN, expires_in: 3_600 }
    response.end(
      tokenRequests < 3 ? `{"error":"invalid_grant","error_description":"${body}"}` : JSON.stringify(token),
    )
    return
  }
  const reply = (
    status: number,
    type: string,
    content: string | Buffer,
    more: Record<string, string> = {},
  ) => {
    response.writeHead(status, {
      'content-type': type,
      'content-length': Buffer.byteLength(content),
      ...more,
    })
    response.end(content)
  }
  const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }
  const message = { role: 'assistant', content: ANSWER }
  const chat = JSON.stringify({ model: 'gpt-4o-mini', choices: [{ index: 0, message }], usage })
  switch (how) {
    case 'well':
      return reply(200, 'application/json', chat)
    case 'echo':
      return reply(
        500,
        'application/json',
        JSON.stringify({ error: { message: request.rawHeaders.join('|') }, body: `${body}` }),
      )
    case 'broken json':
      return reply(200, 'application/json', `{"model":"gpt-4o-mini","usage":${ANSWER}}`)
    case 'text':
      return reply(200, 'application/json', ANSWER)
    case 'broken gzip':
      return reply(200, 'application/json', `\x1f\x8b${ANSWER}`, { 'content-encoding': 'gzip' })
    case 'gzip':
      return reply(200, 'application/json', gzipSync(chat), { 'content-encoding': 'gzip' })
    case 'no http':
      return void socket?.end(`${ANSWER} ${request.headers.authorization}\r\n\r\n`)
    case 'broken headers':
      return void socket?.end(`HTTP/1.1 200 OK\r\n${ANSWER} ${request.headers.authorization}\r\n\r\n`)
    case 'odd status line':
      return void socket?.end(`HTTP/1.1 200 ${ANSWER}\x01\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`)
    case 'reset':
      return void socket?.resetAndDestroy()
    case 'cut':
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(event({ choices: [{ index: 0, delta: { content: ANSWER } }] }), () =>
        socket?.resetAndDestroy(),
      )
      return
    case 'broken events':
      return reply(200, 'text/event-stream', `data: {"usage":${ANSWER}}\n\ndata: ${ANSWER}\n\ndata: {"usage`)
    default:
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(event({ choices: [{ index: 0, delta: { content: ANSWER } }] }))
      if (how === 'hang') return
      response.end(`${event({ choices: [], usage })}data: [DONE]\n\n`)
  }
}

function chatBody(more: object = {}): string {
  const messages = [{ role: 'user', content: PROMPT }]
  return JSON.stringify({ model: 'gpt-4o-mini', messages, ...more })
}

function chatRequest(credential: string, how: string, body = chatBody(), path = CHAT_PATH): string {
  const headers = [
    credential,
    `X-How: ${how}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ]
  return requestText(path, headers, 'POST', body)
}

/** A call that goes upstream: counted, whatever becomes of it. */
async function call(text: string): Promise<RawResponse> {
  const answered = await exchange(gateway.url, text)
  const id = answered.lines.find((line) => line.startsWith('x-tallygate-call-id: '))?.slice(21)
  expect([text.slice(0, 40), answered.status, id]).toEqual([
    text.slice(0, 40),
    answered.status,
    expect.stringMatching(/-/),
  ])
  callIds.push(id ?? '')
  return answered
}

/** Calls that the gateway answers by itself, with this status. */
async function refused(status: number, ...texts: readonly string[]): Promise<void> {
  for (const text of texts) {
    const answered = await exchange(gateway.url, text)
    expect([text.slice(0, 60), answered.status]).toEqual([text.slice(0, 60), status])
    refusals.push(answered.bytes)
  }
}

/** A stream that has begun and does not end by itself. */
async function hangingStream(key: string): Promise<Socket> {
  const socket = dial(gateway.url)
  socket.write(chatRequest(`${BEARER} ${key}`, 'hang', chatBody({ stream: true })))
  let seen = ''
  for (; !seen.includes(ANSWER); ) seen += (await once(socket, 'data'))[0]
  const [, id] = /x-tallygate-call-id: (\S+)/.exec(seen) ?? []
  callIds.push(id ?? '')
  return socket.resume()
}

/** A session in which both sides have said a secret. */
async function session(
  path: string,
  headers: Record<string, string>,
  protocols: string[] = [],
): Promise<WebSocket> {
  const webSocket = new WebSocket(`${gateway.url.replace('http', 'ws')}${path}`, protocols, { headers })
  webSocket.on('error', () => {})
  let answers = 0
  await new Promise<void>((resolve) => {
    webSocket.on('message', () => {
      answers += 1
      if (answers === 3) resolve()
    })
  })
  webSocket.send(JSON.stringify({ type: 'response.create', response: { instructions: PROMPT } }))
  return webSocket
}

async function refusedSession(path: string, headers: Record<string, string>, status: number): Promise<void> {
  const webSocket = new WebSocket(`${gateway.url.replace('http', 'ws')}${path}`, { headers })
  webSocket.on('error', () => {})
  const [, answered]: [unknown, IncomingMessage] = await new Promise((resolve) => {
    webSocket.on('unexpected-response', (request, response) => resolve([request, response]))
  })
  expect(answered.statusCode).toBe(status)
  const head = answered.rawHeaders.join('\n')
  const body = await buffer(answered)
  if (!path.startsWith('/v1/refused')) refusals.push(Buffer.from(head), body)
}

async function everyKindOfCall(): Promise<void> {
  const { one, two, revoked } = holders
  const bearer = `${BEARER} ${one.key}`
  // Each place where a client puts its key.
  for (const credential of [
    bearer,
    ...['X-Api-Key', 'Api-Key', 'X-Goog-Api-Key'].map((name) => `${name}: ${two.key}`),
  ])
    await call(chatRequest(credential, 'well'))
  await call(chatRequest('X-None: 1', 'well', chatBody(), `${CHAT_PATH}?key=${one.key}&q=${PROMPT}`))
  await call(chatRequest(bearer, 'well', chatBody(), `${CHAT_PATH}?key=${STRANGE_KEY}`))
  await call(chatRequest('X-None: 1', 'well', chatBody(), `${CHAT_PATH}?api-key=${two.key}`))
  await call(chatRequest(bearer, 'well', chatBody(), `${CHAT_PATH}?key=${two.key}&api-key=${one.key}`))
  // Places where a key has no business, and its owner puts it.
  await call(chatRequest(bearer, 'well', chatBody({ model: two.key })))
  await call(requestText(`/v1/files/${one.key}`, [bearer]))
  // Each way in which an upstream answers or fails.
  for (const how of [
    'echo',
    'broken json',
    'text',
    'broken gzip',
    'gzip',
    'no http',
    'broken headers',
    'odd status line',
    'reset',
  ])
    await call(chatRequest(bearer, how))
  for (const how of ['stream', 'cut', 'broken events', 'broken gzip', 'reset'])
    await call(chatRequest(bearer, how, chatBody({ stream: true })))
  await call(chatRequest(bearer, 'well', chatBody(), `/away${CHAT_PATH}`))
  await call(chatRequest(bearer, 'echo', chatBody(), '/v1/unknown'))
  // No upstream here speaks that.
  await refused(404, chatRequest(bearer, 'echo', chatBody(), '/v1/messages'))
  await call(chatRequest(bearer, 'well', chatBody().slice(0, -9), CHAT_PATH))
  await call(chatRequest(bearer, 'well', `{"model":${PROMPT}}`))
  await call(chatRequest(bearer, 'well', `{"model":"gpt-4o-mini","stream":true,"other":${PROMPT}}`))
  await refused(
    400,
    chatRequest(bearer, 'well', `{"model":"gpt-4o-mini","stream":${JSON.stringify(PROMPT)}}`),
    chatRequest(bearer, 'well', `{"model":"m","stream":true,"stream_options":${JSON.stringify(PROMPT)}}`),
  )
  // Upstreams whose credentials are fetched, and one that takes the client's own.
  const converse = '/aws/model/m/converse'
  const fetched = ['/aws', '/vertex', '/entra', '/seat'].map((prefix) => `${prefix}/v1/chat/completions`)
  for (const path of fetched) {
    await usable(bearer, path)
    for (const how of ['well', 'echo', 'broken headers', 'reset'])
      await call(chatRequest(bearer, how, chatBody(), path))
  }
  for (const how of ['well', 'echo', 'no http', 'stream'])
    await call(
      chatRequest(
        `${BEARER} ${OWN_CREDENTIAL}\r\nX-Tallygate-Key: ${two.key}`,
        how,
        chatBody(),
        '/seat/v1/chat/completions',
      ),
    )
  // Clients that sign.
  const body = chatBody()
  for (const [secret, status] of [
    [signingSecret, 200],
    [STRANGE_KEY, 403],
  ] as const) {
    const order = { target: converse, body, keyId: one.keyId, secret, sessionToken: STRANGE_KEY }
    const text = wireText(order, await signedHeaders(order))
    if (status === 200) await call(text)
    else await refused(status, text)
  }
  // A client that leaves: what was delivered is estimated from the texts.
  const leaver = await hangingStream(one.key)
  leaver.destroy()
  const early = dial(gateway.url)
  early.write(chatRequest(bearer, 'hang', chatBody()).slice(0, -20))
  early.destroy()
  // Sessions.
  const spoken = await session(`/v1/realtime?model=gpt-realtime&key=${one.key}`, {})
  spoken.terminate()
  const inProtocol = await session('/v1/realtime?model=gpt-realtime', {}, [
    'realtime',
    `openai-insecure-api-key.${two.key}`,
  ])
  inProtocol.close()
  await refusedSession('/v1/refused', { authorization: `Bearer ${one.key}` }, 403)
  await refusedSession('/away/v1/realtime', { authorization: `Bearer ${one.key}` }, 502)
  await refusedSession(`/v1/realtime?key=${UNKNOWN_KEY}`, {}, 401)
  await refusedSession('/v1/realtime', { 'x-api-key': STRANGE_KEY }, 401)
  await refusedSession('/v1/realtime', { authorization: `Bearer ${revoked.key}` }, 403)
  // What is refused.
  const basic = Buffer.from(`user:${one.key}`).toString('base64')
  for (const credential of [
    ...['Authorization: Bearer', 'X-Api-Key:', 'Api-Key:', 'X-Goog-Api-Key:'].flatMap((way) => [
      `${way} ${UNKNOWN_KEY}`,
      `${way} ${STRANGE_KEY}`,
    ]),
    `Authorization: Basic ${basic}`,
    `X-Api-Key: ${one.key}, ${two.key}`,
  ])
    await refused(401, chatRequest(credential, 'well'))
  await refused(
    401,
    requestText(`/v1/x?key=${UNKNOWN_KEY}`),
    requestText(`/v1/x?key=${one.key}`, ['Sec-Fetch-Mode: navigate']),
  )
  await refused(403, chatRequest(`${BEARER} ${revoked.key}`, 'well'))
  await refused(
    400,
    chatRequest(`${bearer}\r\n${BEARER} ${two.key}`, 'well'),
    requestText(`/v1/100%?key=${one.key}`),
    requestText(`/v1/../x?key=${one.key}`, [bearer]),
    requestText(`/v1/usage?days=${one.key}`, [bearer]),
    requestText(`/v1/usage?group_by=${one.key}`, [bearer]),
    requestText('/v1/x', [bearer, `Bad Header: ${one.key}`]),
    requestText('/v1/x', [`Authorization : Bearer ${one.key}`]),
    requestText('/v1/x', [`${BEARER} ${one.key}\x00`]),
    requestText(CHAT_PATH, [bearer, 'Content-Length: 5', 'Transfer-Encoding: chunked'], 'POST', PROMPT),
    `GET /v1/x?key=${one.key} HTTP/9.9\r\n\r\n`,
    `${one.key} ${PROMPT}\r\n\r\n`,
    `GET /v1/x HTTP/1.1\r\n${bearer}\r\n\r\n`,
  )
  await refused(
    404,
    requestText(`/v1/models/none?key=${two.key}`, [bearer]),
    requestText(`/v1/models/${two.key}`, [bearer]),
  )
  await refused(413, chatRequest(bearer, 'well', chatBody({ padding: PROMPT.repeat(5_000) })))
  await refused(
    431,
    requestText('/v1/x', [bearer, `X-Large: ${one.key.repeat(2_000)}`]),
    requestText('/v1/x', [`${BEARER} ${one.key.repeat(2_000)}`]),
    requestText(`/v1/x?key=${one.key}&${PROMPT.repeat(3_000)}`),
  )
}

/** Waits until the upstream of the path has a credential, which is fetched. */
async function usable(credential: string, path: string): Promise<void> {
  await vi.waitUntil(
    async () => {
      const answered = await exchange(gateway.url, chatRequest(credential, 'well', chatBody(), path))
      const id = answered.lines.find((line) => line.startsWith('x-tallygate-call-id: '))?.slice(21)
      if (id === undefined) refusals.push(answered.bytes)
      else callIds.push(id)
      return id !== undefined
    },
    { interval: 100 },
  )
}

/** Every key and value of a Redis, whatever its type, as text. */
async function dumpRedis(url: string): Promise<string> {
  const client = new Redis(url)
  const lines: string[] = []
  for (const key of await client.keys('*')) {
    const type = await client.type(key)
    const value: unknown = await readValue(client, key, type)
    lines.push(`${key} ${type} ${JSON.stringify(value)}`)
  }
  client.disconnect()
  return lines.join('\n')
}

async function readValue(client: Redis, key: string, type: string): Promise<unknown> {
  switch (type) {
    case 'string':
      return await client.get(key)
    case 'hash':
      return await client.hgetall(key)
    case 'list':
      return await client.lrange(key, 0, -1)
    case 'set':
      return await client.smembers(key)
    case 'zset':
      return await client.zrange(key, '0', '-1')
    case 'stream':
      return await client.xrange(key, '-', '+')
    // It has expired since its name was read.
    case 'none':
      return null
    default:
      throw new Error(`this test cannot look into a ${type}`)
  }
}

/** Every row of every table, as text. */
async function dumpPostgres(): Promise<string> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `select quote_ident(table_schema) || '.' || quote_ident(table_name) as name from information_schema.tables
     where table_schema not in ('pg_catalog', 'information_schema') and table_type = 'BASE TABLE'`,
  )
  const lines: string[] = []
  for (const { name } of tables) {
    const { rows } = await pool.query<{ row: string }>(`select t::text as row from ${name} t`)
    lines.push(name, ...rows.map(({ row }) => row))
  }
  return lines.join('\n')
}

/** The bytes of every file under a folder. */
async function filesUnder(path: string, except: RegExp | null = null): Promise<Buffer> {
  const parts: Buffer[] = []
  for (const entry of await readdir(path, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile() || except?.test(entry.name) === true) continue
    const file = join(entry.parentPath, entry.name)
    parts.push(Buffer.from(`${file}\n`), await readFile(file).catch(() => Buffer.alloc(0)))
  }
  return Buffer.concat(parts)
}

async function askOperator(): Promise<string> {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
  const answers: string[] = []
  for (const path of [
    'clients',
    'keys',
    'usage',
    'usage?group_by=day,model,key,client',
    'unpriced',
    'health',
    'nothing',
  ])
    answers.push(
      await fetch(`${gateway.adminUrl}/admin/v1/${path}`, { headers }).then((answered) => answered.text()),
    )
  const wrong = { authorization: `Bearer ${STRANGE_KEY}` }
  answers.push(
    await fetch(`${gateway.adminUrl}/admin/v1/keys`, { headers: wrong }).then((answered) => answered.text()),
  )
  for (const path of ['readyz', 'openapi.json', 'dashboard'])
    answers.push(await fetch(`${gateway.adminUrl}/${path}`, { headers }).then((answered) => answered.text()))
  return answers.join('\n')
}

async function runCommands(env: Record<string, string>): Promise<string> {
  const said: string[] = []
  for (const command of [
    ['doctor'],
    ['client', 'list'],
    ['key', 'list'],
    ['usage', '--by', 'day,model,key,client'],
    ['usage', '--client', 'holder one'],
    ['prices', 'check'],
    ['ledger', 'status'],
    ['ledger', 'gaps'],
    ['ledger', 'verify'],
    ['dead-letters', 'list'],
  ]) {
    for (const more of [[], ['--json']]) {
      const { out, err } = await run(env, ...command, ...more)
      said.push(command.join(' '), out, err)
    }
  }
  return said.join('\n')
}

async function countedCalls(): Promise<number> {
  const { rows } = await pool.query<{ count: string }>('select count(*) from tallygate.calls')
  return Number(rows[0]?.count)
}

beforeAll(async () => {
  await once(upstream.listen(0, '127.0.0.1'), 'listening')
  ;[redis, database] = await Promise.all([startPrivateRedis({ durable: true }), createTestDatabase()])
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-secrets-'))
  secrets = await mkdtemp(join(tmpdir(), 'tallygate-test-of-google-'))
  pool = openTestPool(database.url)
  const holder = async (client: string): Promise<Holder> => {
    await createClient(pool, client)
    const order = { client, name: 'label', models: null, expiresInSeconds: null }
    const made = await createClientKey(pool, order, PEPPER)
    if (made === null) throw new Error('no key')
    return { client, key: made.key, keyId: made.id }
  }
  holders = {
    one: await holder('holder one'),
    two: await holder('holder two'),
    revoked: await holder('holder three'),
  }
  await revokeKey(pool, holders.revoked.keyId)
  const signer = await makeSigningSecret(pool, holders.one.keyId, PEPPER)
  if (typeof signer === 'string') throw new Error(signer)
  signingSecret = signer.secretAccessKey
  const { password } = new URL(redis.url)
  search = searchFor({
    // What identifies a key on a screen may stand anywhere; the rest of it nowhere.
    'the first key': holders.one.key.slice(keyPrefix(holders.one.key).length),
    'the second key': holders.two.key.slice(keyPrefix(holders.two.key).length),
    'the revoked key': holders.revoked.key.slice(keyPrefix(holders.revoked.key).length),
    'the unknown key': UNKNOWN_KEY,
    'the key of another kind': STRANGE_KEY,
    'the credential at the upstream': UPSTREAM_CREDENTIAL,
    'the signing secret': signingSecret,
    "Google's refresh token": REFRESH_TOKEN,
    "Google's client secret": GOOGLE_SECRET,
    "Entra's client secret": ENTRA_SECRET,
    'the token of a cloud': CLOUD_TOKEN,
    "AWS's secret": AWS_SECRET,
    "AWS's session": AWS_SESSION,
    "a client's own credential": OWN_CREDENTIAL,
    ADMIN_TOKEN,
    KEY_PEPPER: PEPPER,
    'the prompt': PROMPT,
    'the answer': ANSWER,
    "Redis's password": password,
  })
  const config = join(folder, 'tallygate.yaml')
  const { port } = upstream.address() as AddressInfo
  const credentials = join(secrets, 'google.json')
  const google = { client_id: 'c', client_secret: GOOGLE_SECRET, refresh_token: REFRESH_TOKEN }
  const document = { type: 'authorized_user', ...google, token_uri: `http://127.0.0.1:${port}/token` }
  await writeFile(credentials, JSON.stringify(document))
  await writeFile(
    config,
    `upstreams:
  - { name: main, url: 'http://127.0.0.1:${port}', provider: openai, api_key_env: UPSTREAM_CREDENTIAL }
  - { name: away, url: 'http://127.0.0.1:1', provider: openai, path_prefix: /away, api_key_env: UPSTREAM_CREDENTIAL }
  - { name: aws, url: 'http://127.0.0.1:${port}', provider: bedrock, path_prefix: /aws, credentials: aws, region: us-east-1 }
  - { name: vertex, url: 'http://127.0.0.1:${port}', provider: vertex, path_prefix: /vertex, credentials: google, credentials_file: '${credentials}' }
  - { name: entra, url: 'http://127.0.0.1:${port}', provider: azure-openai, path_prefix: /entra, credentials: azure, tenant_id: t, client_id: c, client_secret_env: ENTRA_SECRET }
  - { name: seat, url: 'http://127.0.0.1:${port}', provider: openai, path_prefix: /seat, credentials: client }
`,
  )
  const journalDir = join(folder, 'journal')
  const env = {
    TALLYGATE_CONFIG: config,
    UPSTREAM_CREDENTIAL,
    ENTRA_SECRET,
    AZURE_AUTHORITY_HOST: `http://127.0.0.1:${port}`,
    AWS_ACCESS_KEY_ID: 'AKIAGATEWAY',
    AWS_SECRET_ACCESS_KEY: AWS_SECRET,
    AWS_SESSION_TOKEN: AWS_SESSION,
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    KEY_PEPPER: PEPPER,
    ADMIN_TOKEN,
    JOURNAL_DIR: journalDir,
    TALLYGATE_DATA_DIR: folder,
    BODY_LIMIT_BYTES: '100000',
    SHUTDOWN_GRACE_MS: '500',
    ...OFFLINE,
  }
  const [worker, killed] = await Promise.all([
    startHeard('workers/main.ts', { ...env, LOG_LEVEL: 'trace' }, /worker\.started/),
    startHeardGateway({ ...env, LOG_LEVEL: 'debug' }),
  ])
  gateway = killed
  await everyKindOfCall()
  const open = await Promise.all([hangingStream(holders.one.key), hangingStream(holders.two.key)])
  openCallId = callIds.at(-1)
  await session('/v1/realtime?model=gpt-realtime', { 'x-api-key': holders.two.key })
  places.set("a running gateway's journal", await filesUnder(journalDir))
  await killed.end('SIGKILL')
  for (const socket of open) socket.destroy()
  places.set("a killed gateway's journal", await filesUnder(journalDir))

  gateway = await startHeardGateway({ ...env, LOG_LEVEL: 'trace' })
  await call(chatRequest(`${BEARER} ${holders.one.key}`, 'well'))
  // Both stores break off while there are calls: errors of connections are logged, and what waits is sent again.
  await redis.kill()
  await pool.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  )
  await call(chatRequest(`${BEARER} ${holders.two.key}`, 'stream', chatBody({ stream: true })))
  await redis.start()
  const sessionsCounted = 5
  const expected = callIds.length + sessionsCounted
  await vi.waitUntil(async () => (await countedCalls()) >= expected, { interval: 100 })
  places.set('metrics', await fetch(`${gateway.adminUrl}/metrics`).then((answered) => answered.text()))
  places.set("the operator's listings", await askOperator())
  places.set('the command line', await runCommands(env))
  await gateway.end('SIGTERM')
  await worker.end('SIGTERM')
  places.set("the killed gateway's log", killed.output())
  places.set("the second gateway's log", gateway.output())
  places.set("the worker's log", worker.output())
  places.set('Redis', await dumpRedis(redis.url))
  // The append-only file has every command that ever changed anything, so also what was trimmed since.
  places.set("Redis's append-only file", await filesUnder(redis.folder, /\.conf$/))
  places.set('Postgres', await dumpPostgres())
  places.set('what is left of the journals', await filesUnder(journalDir))
  places.set('refusals', Buffer.concat(refusals))
})

afterAll(async () => {
  for (const session of sessions.clients) session.terminate()
  upstream.closeAllConnections()
  upstream.close()
  await pool?.end()
  await Promise.all([redis?.stop(), database?.drop()])
  for (const made of [folder, secrets])
    if (made !== undefined) await rm(made, { recursive: true, force: true })
})

/** What must be found in a place, so that finding nothing else there says something. */
const PRESENT: readonly (readonly [place: string, what: () => string | undefined])[] = [
  ["a running gateway's journal", () => openCallId],
  ["a killed gateway's journal", () => openCallId],
  ["the killed gateway's log", () => callIds[0]],
  ["the second gateway's log", () => callIds.at(-1)],
  ["the worker's log", () => 'the worker ends'],
  ['Redis', () => 'tallygate:'],
  ["Redis's append-only file", () => callIds[0]],
  ['Postgres', () => callIds[0]],
  ['what is left of the journals', () => callIds.at(-1)],
  ['metrics', () => 'tallygate_calls_total'],
  ["the operator's listings", () => holders.one.client],
  ['the command line', () => holders.one.keyId],
  ['refusals', () => '"invalid_api_key"'],
]

test.each(PRESENT)('%s: no key, credential, token, pepper, prompt or answer', (place, present) => {
  const held = places.get(place) ?? ''
  expect(held.includes(present() ?? 'nothing')).toBe(true)
  expect(search.findIn(held)).toEqual([])
})

test('every place that was looked at is one of those, and each call is in Postgres', () => {
  expect([...places.keys()].sort()).toEqual(PRESENT.map(([place]) => place).sort())
  for (const id of callIds) expect(places.get('Postgres')).toContain(id)
})
