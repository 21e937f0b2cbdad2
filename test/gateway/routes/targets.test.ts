import { expect, test } from 'vitest'
import type { RouteConfig } from '../../../src/config/yaml/routes.ts'
import { readCallTarget, targetOf } from '../../../src/gateway/routing/call-target.ts'
import { Circuits } from '../../../src/gateway/routing/circuits.ts'
import { buildRouteTable } from '../../../src/gateway/routing/model-routes.ts'
import { routeCall, routeToModel } from '../../../src/gateway/routing/route.ts'
import {
  buildUpstreamTable,
  openPool,
  type RouteTarget,
  type Upstream,
} from '../../../src/gateway/routing/upstream-table.ts'
import type { Provider } from '../../../src/providers/registry.ts'

const ROUTE: Omit<RouteConfig, 'model' | 'to'> = {
  retryOn: ['connect'],
  attempts: 3,
  firstByteTimeoutMs: null,
  sticky: null,
  order: 'weight',
}

/** As far as routes look at it. */
function upstreamOf(name: string, provider: Provider): Upstream {
  return {
    name,
    origin: 'http://127.0.0.1:9',
    host: '127.0.0.1:9',
    basePath: '',
    provider,
    credential: null,
    fetched: null,
    models: null,
    modelsPath: null,
    pathPrefix: null,
    includeUsage: 'auto' as const,
    objects: 'owned' as const,
    account: [name],
    mountedAt: '',
    publicUrl: null,
    ownsOrigins: false,
    pool: openPool('http://127.0.0.1:9', { headersTimeoutMs: 1_000, idleTimeoutMs: 1_000 }),
  } as unknown as Upstream
}

const UPSTREAMS = [
  upstreamOf('openai', 'openai'),
  upstreamOf('groq', 'groq'),
  upstreamOf('claude', 'anthropic'),
  upstreamOf('gemini', 'gemini'),
  upstreamOf('bedrock', 'bedrock'),
]

/** What only this provider has in names. */
const MODELS: Readonly<Record<string, string>> = {
  bedrock: 'arn:aws:bedrock:us-east-1:1:inference-profile/us.meta.llama3:0',
}

function tableWith(
  route: Partial<RouteConfig>,
  circuits = new Circuits(),
  quote: (target: RouteTarget) => bigint | null = () => null,
) {
  const to = UPSTREAMS.map(({ name }) => ({ upstream: name, model: MODELS[name] ?? `m-${name}`, weight: 1 }))
  const routes = buildRouteTable([{ ...ROUTE, model: 'fast', to, ...route }], UPSTREAMS, { circuits, quote })
  return buildUpstreamTable(UPSTREAMS, { defaultUpstream: 'openai' }, () => {}, routes)
}

interface Asked {
  readonly model?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly webSocket?: boolean
}

/** The upstreams that a call may go to, and what each is asked for; or why none. */
function targetsOf(
  path: string,
  { model, headers = {}, webSocket = false }: Asked = {},
  table = tableWith({}),
) {
  const target = targetOf(path)
  if (target === null) throw new Error(path)
  const shape = { method: webSocket ? 'GET' : 'POST', hasBody: !webSocket, webSocket, request: { headers } }
  let found = routeCall(table, shape, target)
  if (typeof found === 'object' && 'upstream' in found && found.needsModel)
    found = routeToModel(table, shape, found.target, model ?? null) ?? 'unserved'
  if (typeof found === 'string') return found
  if ('upstream' in found) return found.upstream.name
  return found.map((route) => `${route.upstream.name} ${route.target.pathAndQuery} ${route.choice?.model}`)
}

test('a name in a body leads to all that speak the API of the path, and to no other', () => {
  expect(targetsOf('/v1/messages', { model: 'fast' })).toEqual([
    'claude /v1/messages m-claude',
    `bedrock /v1/messages ${MODELS.bedrock}`,
  ])
  expect(targetsOf('/v1/responses?x=1', { model: 'fast' })).toEqual([
    'openai /v1/responses?x=1 m-openai',
    'groq /v1/responses?x=1 m-groq',
  ])
  expect(targetsOf('/v1/messages', { model: 'faster' })).toBe('claude')
})

test('the targets of one call are not those of one with another path, API or model', () => {
  const calls: readonly (readonly [path: string, asked: Asked])[] = [
    ['/v1/messages', { model: 'fast' }],
    ['/v1/messages?beta=true', { model: 'fast' }],
    ['/v1/responses', { model: 'fast' }],
    ['/v1/models', { model: 'fast', headers: { 'anthropic-version': '2023-06-01' } }],
    ['/v1/models', { model: 'fast' }],
    ['/v1/messages', { model: 'faster' }],
    ['/v1/no/such/path', { model: 'fast' }],
  ]
  const table = tableWith({})
  for (const first of calls)
    for (const second of [first, ...calls]) {
      targetsOf(...first, table)
      expect(targetsOf(...second, table)).toEqual(targetsOf(...second))
    }
})

test('a name in a path is replaced there, for the upstreams that read it there', () => {
  expect(targetsOf('/v1beta/models/fast:generateContent?alt=sse')).toEqual([
    'gemini /v1beta/models/m-gemini:generateContent?alt=sse m-gemini',
  ])
  expect(targetsOf('/model/fast/converse')).toEqual([
    `bedrock /model/${encodeURIComponent(MODELS.bedrock ?? '')}/converse ${MODELS.bedrock}`,
  ])
})

test('a session names its model in the query, and is led by it', () => {
  expect(targetsOf('/v1/realtime?model=fast&x=1', { webSocket: true, model: 'fast' })).toContain(
    'openai /v1/realtime?model=m-openai&x=1 m-openai',
  )
})

test('a session that names its model in messages, which are not edited, is led nowhere by its query', () => {
  expect(targetsOf('/v1/responses?model=fast', { webSocket: true, model: 'fast' })).toBe('unserved')
})

test('on a path that no table knows, a name leads nowhere special', () => {
  expect(targetsOf('/v1/no/such/path', { model: 'fast' })).toBe('openai')
})

const CALL = { caller: { clientId: 'c', clientName: 'c' }, request: { headers: {} } }

function ordered(table: ReturnType<typeof tableWith>, call = CALL) {
  const { routes } = table
  const target = targetOf('/v1/chat/completions')
  if (routes === null || target === null) throw new Error('no routes')
  const shape = { method: 'POST', hasBody: true, webSocket: false, request: { headers: {} } }
  const found = routeToModel(table, shape, target, 'fast')
  if (found === null || 'upstream' in found) throw new Error('no targets')
  return routes.order(found, call).map(({ upstream }) => upstream.name)
}

test('targets come first as often as their weights say', () => {
  const to = [
    { upstream: 'openai', model: 'a', weight: 3 },
    { upstream: 'groq', model: 'a', weight: 1 },
  ]
  const table = tableWith({ to })
  const firsts = Array.from({ length: 4_000 }, () => ordered(table)[0])
  const share = firsts.filter((name) => name === 'openai').length / firsts.length
  expect(share).toBeGreaterThan(0.7)
  expect(share).toBeLessThan(0.8)
})

test('a client keeps to its target, other clients to others; without it, to the same next one', () => {
  const circuits = new Circuits()
  const table = tableWith({ sticky: 'client' }, circuits)
  const orderFor = (clientId: string) =>
    ordered(table, { ...CALL, caller: { clientId, clientName: clientId } })
  const first = orderFor('north')
  expect(orderFor('north')).toEqual(first)
  expect(new Set(Array.from({ length: 100 }, (_, number) => orderFor(`${number}`)[0])).size).toBe(
    UPSTREAMS.length,
  )
  for (let time = 0; time < 3; time += 1) circuits.failed(first[0] ?? '', 'north', 'connect')
  expect(orderFor('north')).toEqual([...first.slice(1), first[0]])
})

test('sessions of one client may go to different targets, each to its own', () => {
  const table = tableWith({ sticky: 'session' })
  const orderOf = (session: string) =>
    ordered(table, { ...CALL, request: { headers: { 'x-session-id': session } } })
  expect(orderOf('one')).toEqual(orderOf('one'))
  expect(new Set(Array.from({ length: 100 }, (_, number) => orderOf(`${number}`)[0])).size).toBe(
    UPSTREAMS.length,
  )
})

test('where the circuits of all are open, all are asked', () => {
  const circuits = new Circuits()
  const table = tableWith({ order: 'listed' }, circuits)
  for (const { name } of UPSTREAMS)
    for (let time = 0; time < 3; time += 1) circuits.failed(name, 'one', 'connect')
  expect(ordered(table)).toEqual(UPSTREAMS.map(({ name }) => name))
})

test('the cheapest comes first, and what has no price last; by health, the soonest', () => {
  const prices: Readonly<Record<string, bigint>> = { openai: 30n, claude: 10n, gemini: 20n }
  const byPrice = tableWith(
    { order: 'price' },
    new Circuits(),
    ({ upstream }) => prices[upstream.name] ?? null,
  )
  expect(ordered(byPrice)).toEqual(['claude', 'gemini', 'openai', 'groq', 'bedrock'])
  const circuits = new Circuits(() => 1_000)
  const byHealth = tableWith({ order: 'health' }, circuits)
  for (const [at, { name }] of UPSTREAMS.entries()) circuits.served(name, at)
  expect(ordered(byHealth)).toEqual(UPSTREAMS.map(({ name }) => name).toReversed())
})

test('a target that was asked for before is remembered, and its route by all that it depends on', () => {
  const target = readCallTarget('/v1/files', '')
  if (typeof target === 'string') throw new Error(target)
  expect(readCallTarget('/v1/files', '')).toBe(target)
  expect(readCallTarget('/v1/files', '/v1')).toMatchObject({ pathAndQuery: '/files' })
  const table = tableWith({})
  const shape = { method: 'GET', hasBody: false, webSocket: false, request: { headers: {} } }
  const first = routeCall(table, shape, target)
  expect(routeCall(table, shape, target)).toBe(first)
  const others = [
    { ...shape, method: 'POST', hasBody: true },
    { ...shape, request: { headers: { 'anthropic-version': '2023-06-01' } } },
    { ...shape, webSocket: true },
  ].map((other) => routeCall(table, other, target))
  for (const other of others) expect(other).not.toBe(first)
  expect(others[1]).toMatchObject({ upstream: { name: 'claude' } })
  expect(routeCall(table, shape, target)).toEqual(first)
  const reloaded = buildUpstreamTable([upstreamOf('groq', 'groq')], { defaultUpstream: 'groq' })
  expect(routeCall(reloaded, shape, target)).toMatchObject({ upstream: { name: 'groq' } })
})

test('targets that are asked for once push each other out', () => {
  const target = readCallTarget('/v1/batches', '')
  for (let number = 0; number < 500; number += 1) readCallTarget(`/v1/batches/batch_${number}`, '')
  const again = readCallTarget('/v1/batches', '')
  expect(again).not.toBe(target)
  expect(again).toEqual(target)
  const long = `/v1/files/${'f'.repeat(200)}`
  expect(readCallTarget(long, '')).not.toBe(readCallTarget(long, ''))
})
