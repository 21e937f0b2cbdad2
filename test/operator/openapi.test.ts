import Fastify, { type FastifyInstance } from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { buildPortal } from '../../src/gateway/portal/portal.ts'
import { models } from '../../src/gateway/routes/models.ts'
import { usage } from '../../src/gateway/routes/usage.ts'
import { errorBody } from '../../src/http/error-shape.ts'
import { CALL_ERROR_NAMES, ERRORS } from '../../src/http/errors.ts'
import { health } from '../../src/http/listener.ts'
import { buildOpenApi } from '../../src/operator/openapi/document.ts'
import type { Method } from '../../src/operator/openapi/types.ts'
import { NOTHING_REPORTED } from '../../src/store/processes/process-report.ts'
import { announceProcess } from '../../src/store/processes/processes-table.ts'
import { holdClockAtNoon } from '../clock/clock.ts'
import { addDailyUsage } from './support/daily-usage.ts'
import { type Operator, OWN_PRICES, startOperator } from './support/operator.ts'

const DOCUMENT = buildOpenApi({ baseUrl: 'http://localhost:8080/llm', version: '1.2.3' })

const TODAY = holdClockAtNoon()

let operator: Operator

beforeAll(async () => {
  operator = await startOperator()
})

afterAll(() => operator.close())

/** Every object inside `value`, itself included. */
function* objectsIn(value: unknown): Generator<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield Object.fromEntries(Object.entries(value))
  for (const inner of Object.values(value)) yield* objectsIn(inner)
}

/** The schema without references, so that it stands alone. */
function resolved(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(resolved)
  if (typeof value !== 'object' || value === null) return value
  if ('$ref' in value) return resolved(DOCUMENT.components.schemas[nameOf(value.$ref)])
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, resolved(inner)]))
}

function nameOf(reference: unknown): string {
  return String(reference).replace('#/components/schemas/', '')
}

const METHODS: readonly Method[] = ['get', 'post', 'put', 'delete']

type JsonSchema = Parameters<typeof z.fromJSONSchema>[0]

/** Holds a value against the schema that the document gives for it. */
function check(path: string, method: Method, status: string, value: unknown): void {
  const response = DOCUMENT.paths[path]?.[method]?.responses[status]
  const schema = response?.content?.['application/json']?.schema
  expect(schema, `${method} ${path} ${status}`).toBeDefined()
  const result = z.fromJSONSchema(resolved(schema) as JsonSchema).safeParse(value)
  expect(result.error?.issues ?? [], `${method} ${path} ${status}`).toEqual([])
}

test('the document is served as built, and is OpenAPI 3.1', async () => {
  const { statusCode, headers, body } = await operator.app.inject('/openapi.json')
  expect(statusCode).toBe(200)
  expect(headers['content-type']).toBe('application/json; charset=utf-8')
  expect(JSON.parse(body)).toEqual(
    JSON.parse(JSON.stringify(buildOpenApi({ baseUrl: 'http://localhost:8080', version: '1.2.3' }))),
  )
  expect(DOCUMENT.openapi).toMatch(/^3\.1\.\d$/)
  expect(DOCUMENT.servers[0]?.url).toBe('http://localhost:8080/llm')
})

test('every reference resolves, and every schema is used', () => {
  const references = new Set(
    [...objectsIn(DOCUMENT)].flatMap(({ $ref }) => ($ref === undefined ? [] : [nameOf($ref)])),
  )
  expect([...references].sort()).toEqual(Object.keys(DOCUMENT.components.schemas).sort())
})

test('operations have names of their own, described parameters, and credentials that are defined', () => {
  const operations = Object.entries(DOCUMENT.paths).flatMap(([path, item]) =>
    METHODS.map((method) => item[method]).flatMap((operation) =>
      operation === undefined ? [] : [{ path, item, operation }],
    ),
  )
  const ids = operations.map(({ operation }) => operation.operationId)
  expect(new Set(ids).size).toBe(ids.length)
  const tags = DOCUMENT.tags.map(({ name }) => name)
  for (const { path, item, operation } of operations) {
    const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])]
    const inPath = [...path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name)
    expect(parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)).toEqual(inPath)
    for (const { description } of parameters) expect(description).not.toBe('')
    for (const name of operation.security.flatMap((scheme) => Object.keys(scheme))) {
      expect(DOCUMENT.components.securitySchemes).toHaveProperty(name)
    }
    for (const tag of operation.tags) expect(tags).toContain(tag)
  }
})

test('every route of the three listeners is described, and nothing else is', async () => {
  const routes = new Set<string>()
  const app = Fastify({ exposeHeadRoutes: false })
  app.addHook('onRoute', ({ method, url }) => {
    routes.add(`${method} ${url}`)
  })
  health(app, '', () => ({ ready: true, degraded: [] }))
  models(app, { basePath: '', listModels: () => [] })
  usage(app, {
    basePath: '',
    summarise: async () => ({ answer: {}, wholeUntilMs: null }),
    listLimits: async () => [],
    findReceipt: async () => ({ answer: null, wholeUntilMs: null }),
    now: Date.now,
    storageFailed: () => {},
  })
  const page = buildPortal({
    logger: operator.app.log,
    tls: null,
    embedOrigins: [],
    readiness: () => ({ ready: true, degraded: [] }),
    findCaller: () => ({ kind: 'unknown' }),
    polls: operator.pool,
    peppers: ['pepper'],
    pool: operator.pool,
    summaries: { answer: (_, work) => work() },
    listModels: () => [],
    listLimits: async () => [],
    shownPrices: () => OWN_PRICES.config,
    selfService: null,
    announceKeyChange() {},
    now: Date.now,
  })
  await page.ready()
  for (const line of [...routesOf(operator.app), ...routesOf(page)]) routes.add(line)
  await page.close()
  const described = Object.entries(DOCUMENT.paths)
    .filter(([path]) => path !== '/{upstream_path}')
    .flatMap(([path, item]) => METHODS.flatMap((method) => (item[method] ? [`${method} ${path}`] : [])))
  const registered = [...routes]
    .map((route) =>
      route
        .toLowerCase()
        .replace(/\/\*$/, '/{id}')
        .replace(/:(\w+)/g, '{$1}'),
    )
    .filter((route) => !/^get \/(dashboard\/|portal\/[\w-]+\.|$)/.test(route)) // what the pages load
    .filter((route) => !route.startsWith('get /v1/organization')) // as OpenAI and Anthropic describe it
  expect(registered.sort()).toEqual(described.sort())
})

/** From the router's own listing: a tree, four characters a level, whose lines are a part of a path and its methods. */
function routesOf(app: Pick<FastifyInstance, 'printRoutes'>): readonly string[] {
  const parts: string[] = []
  return app
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const [, indent = '', part = '', methods = ''] = /^([│ ├└─]*)(\S+)(?: \(([A-Z, ]+)\))?/.exec(line) ?? []
      parts.splice(indent.length / 4 - 1, parts.length, part)
      return methods
        .split(', ')
        .filter((method) => method !== '' && method !== 'HEAD')
        .map((method) => `${method} ${parts.join('')}`)
    })
}

test('every error of a call is described with its own words', () => {
  const text = JSON.stringify(DOCUMENT.paths['/{upstream_path}'])
  for (const { status, message } of CALL_ERROR_NAMES.map((name) => ERRORS[name])) {
    expect(text).toContain(JSON.stringify(message).slice(1, -1))
    expect(DOCUMENT.paths['/{upstream_path}']?.post?.responses).toHaveProperty(String(status))
  }
})

test('answers are what the document says, field by field', async () => {
  const { ask, pool } = operator
  const created = await ask({ method: 'POST', url: '/admin/v1/clients', payload: { name: 'acme' } })
  check('/admin/v1/clients', 'post', '201', created.document)
  const { id } = z.object({ id: z.string() }).parse(created.document)
  check('/admin/v1/clients', 'get', '200', (await ask('/admin/v1/clients')).document)
  for (const verb of ['disable', 'enable']) {
    const { document } = await ask({ method: 'POST', url: `/admin/v1/clients/${id}/${verb}` })
    check(`/admin/v1/clients/{id}/${verb}`, 'post', '200', document)
  }

  const made = await ask({
    method: 'POST',
    url: '/admin/v1/keys',
    payload: { client: 'acme', expires_in: '1d' },
  })
  check('/admin/v1/keys', 'post', '201', made.document)
  const key = z.object({ id: z.string() }).parse(made.document)
  const rotated = await ask({ method: 'POST', url: `/admin/v1/keys/${key.id}/rotate` })
  check('/admin/v1/keys/{id}/rotate', 'post', '201', rotated.document)
  const revoked = await ask({ method: 'POST', url: `/admin/v1/keys/${key.id}/revoke` })
  check('/admin/v1/keys/{id}/revoke', 'post', '200', revoked.document)
  check('/admin/v1/keys', 'get', '200', (await ask('/admin/v1/keys')).document)

  for (const [client, kind, more] of [
    ['acme', 'budget', { limit: '12.5', per: 'total', unpriced: 'allow' }],
    [null, 'tokens', { limit: 1_000, cached: 'ignore' }],
  ] as const) {
    const payload = { client, kind, ...more }
    const { document } = await ask({ method: 'POST', url: '/admin/v1/limits', payload })
    check('/admin/v1/limits', 'post', '200', document)
  }
  const [{ id: limit }] = z
    .tuple([z.object({ id: z.string() })])
    .rest(z.unknown())
    .parse((await ask('/admin/v1/limits?client=acme')).document)
  for (const [method, path, payload] of [
    ['put', '', { limit: 13 }],
    ['post', '/raise', { to: '20', until: '1h' }],
    ['post', '/top-up', { add_usd: '0.5', reference: 'invoice 7' }],
  ] as const) {
    const { document } = await ask({ method, url: `/admin/v1/limits/${limit}${path}`, payload })
    check(`/admin/v1/limits/{id}${path}`, method, '200', document)
  }
  check('/admin/v1/limits', 'get', '200', (await ask('/admin/v1/limits')).document)
  const gone = await ask({ method: 'DELETE', url: `/admin/v1/limits/${limit}` })
  check('/admin/v1/limits/{id}', 'delete', '200', gone.document)
  check('/admin/v1/limits/history', 'get', '200', (await ask('/admin/v1/limits/history')).document)
  for (const query of ['', '?group_by=client,reason', '?group_by=day&days=7'])
    check('/admin/v1/refused', 'get', '200', (await ask(`/admin/v1/refused${query}`)).document)

  const payload = { url: 'http://127.0.0.1:1/', on: ['budget'], client: 'acme' }
  const { document: receiver } = await ask({ method: 'POST', url: '/admin/v1/alerts', payload })
  check('/admin/v1/alerts', 'post', '201', receiver)
  const { id: receiverId } = z.object({ id: z.string() }).parse(receiver)
  const sample = await ask({ method: 'POST', url: `/admin/v1/alerts/${receiverId}/test` })
  check('/admin/v1/alerts/{id}/test', 'post', '200', sample.document)
  check('/admin/v1/alerts', 'get', '200', (await ask('/admin/v1/alerts')).document)
  const removedReceiver = await ask({ method: 'DELETE', url: `/admin/v1/alerts/${receiverId}` })
  check('/admin/v1/alerts/{id}', 'delete', '200', removedReceiver.document)

  await addDailyUsage(pool, 'acme', TODAY, 'gpt-4o', {
    requests: 2,
    latency_us_sum: 7,
    latency_count: 2,
    unpriced: 1,
  })
  for (const query of ['', '?by=day,model,key,client', '?by=client&days=7']) {
    check('/admin/v1/usage', 'get', '200', (await ask(`/admin/v1/usage${query}`)).document)
  }
  check('/admin/v1/unpriced', 'get', '200', (await ask('/admin/v1/unpriced')).document)
  for (const model of ['gpt-4o', 'nobody-has-this']) {
    check('/admin/v1/prices', 'get', '200', (await ask(`/admin/v1/prices?model=${model}`)).document)
  }
  await pool.query(`insert into tallygate.producers (id, stream, mark) values ('p', 's', 1)`)
  await pool.query(
    `insert into tallygate.ledger_gaps (producer, from_seq, to_seq, reason) values ('p', 1, 2, 'why')`,
  )
  check('/admin/v1/ledger', 'get', '200', (await ask('/admin/v1/ledger')).document)
  check('/admin/v1/ledger/gaps', 'get', '200', (await ask('/admin/v1/ledger/gaps')).document)
  check('/admin/v1/doctor', 'get', '200', (await ask('/admin/v1/doctor')).document)
  const upstreams = [
    {
      upstream: 'a',
      calls: 1,
      failures: { dns: 1 },
      failedInARow: 1,
      servedInARow: 0,
      causeInARow: null,
      refusesCredential: false,
      failedClient: null,
      othersServed: false,
      circuit: 'closed' as const,
    },
  ]
  await announceProcess(operator.pool, {
    process: 'a:1',
    kind: 'gateway',
    maxConnections: 8,
    clockOffsetMs: 3,
    report: { ...NOTHING_REPORTED, host: 'a', startedAtMs: 0, version: '1', shards: ['calls'], upstreams },
  })
  check('/admin/v1/gateways', 'get', '200', (await ask('/admin/v1/gateways')).document)
  check('/healthz', 'get', '200', (await ask('/healthz')).document)
  check('/readyz', 'get', '200', (await ask('/readyz')).document)
})

test('refusals are what the document says', async () => {
  const { ask, app } = operator
  check(
    '/admin/v1/clients',
    'post',
    '400',
    (await ask({ method: 'POST', url: '/admin/v1/clients', payload: {} })).document,
  )
  check('/admin/v1/clients', 'get', '401', (await app.inject('/admin/v1/clients')).json())
  check('/admin/v1/keys', 'get', '404', (await ask('/admin/v1/keys?client=nobody')).document)
  // In the shape of the library that sends the key, also where the gateway answers itself.
  for (const path of ['/v1/usage', '/v1/usage/calls/{id}'])
    for (const shape of ['openai', 'anthropic', 'google'] as const) {
      check(path, 'get', '401', errorBody(shape, 'invalid_api_key'))
      check(path, 'get', '403', errorBody(shape, 'key_inactive'))
      check(path, 'get', '503', errorBody(shape, 'storage_unavailable'))
    }
})
