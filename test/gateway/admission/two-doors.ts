import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { expect } from 'vitest'
import type { CallerLookup, CallLedger } from '../../../src/call/call-ports.ts'
import type { CallRecord } from '../../../src/call/call-record.ts'
import { type GatewayConfig, loadGatewayConfig } from '../../../src/config/config.ts'
import type { RouteConfig } from '../../../src/config/yaml/routes.ts'
import { NO_PATH_RULES } from '../../../src/domain/path-patterns.ts'
import type { AdmissionLimits, AdmissionOptions, Stages } from '../../../src/gateway/admission/admission.ts'
import { buildStages } from '../../../src/gateway/admission/admit.ts'
import { buildPathPolicy } from '../../../src/gateway/admission/path-policy.ts'
import { BodyBudget } from '../../../src/gateway/bodies/body-budget.ts'
import { buildGateway, type GatewayOptions } from '../../../src/gateway/gateway.ts'
import type { Unattended } from '../../../src/gateway/proxy/unattended.ts'
import { Circuits } from '../../../src/gateway/routing/circuits.ts'
import { buildRouteTable } from '../../../src/gateway/routing/model-routes.ts'
import { buildUpstreamTable, openPool, type Upstream } from '../../../src/gateway/routing/upstream-table.ts'
import { createLog } from '../../../src/lib/log.ts'
import { ObjectIndex } from '../../../src/objects/object-index.ts'
import { Objects } from '../../../src/objects/objects.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'
import { createLooseOptions } from '../bodies/loose-options.ts'
import { dial, exchange, type RawResponse } from '../raw-http.ts'
import { SIGNER } from '../sigv4/signing-client.ts'

export const DOORS = ['http', 'websocket'] as const
export type Door = (typeof DOORS)[number]

/** A request as it is made at either door; `body` is sent over HTTP alone, as a POST. */
export interface Request {
  readonly target?: string
  readonly headers?: readonly string[]
  readonly key?: string | null
  readonly host?: boolean
  readonly body?: string
}

/** A gateway without stores, and what has come through its doors. */
export interface TwoDoors {
  readonly url: string
  /** Answers `{}` until a test says otherwise, and accepts no session. */
  readonly upstream: TestUpstream
  readonly records: ReadonlyMap<string, CallRecord>
  readonly unattended: Unattended
  /** What calls have reached, in order: `journal`, and the upstream by its request's line. */
  readonly reached: string[]
  /** What stages threw. */
  readonly failures: unknown[]
  /** Refused calls of known clients, by client and reason. */
  readonly refused: string[]
  /** How the journal does; `late`: it waits until the client has left, if it leaves; `fills`: amid calls. */
  journal: 'works' | 'full' | 'fails' | 'late' | 'fills'
  knock(door: Door, request?: Request): Promise<RawResponse>
  /** Sends `request` without its last `missing` bytes, and leaves; resolves once the gateway has seen that. */
  leave(door: Door, request: Request, missing: number, until: () => boolean): Promise<void>
  close(): Promise<void>
}

/** A response of another client's, at the upstream without a prefix. */
export const OTHERS_RESPONSE = 'resp_0123456789abcdef0123456789abcdef'

/** One more upstream, with a credential that ends. */
export type ProvenUpstream = Pick<Upstream, 'name' | 'pathPrefix' | 'provider'> &
  Partial<Pick<Upstream, 'fetched' | 'takesClients' | 'models'>>

const LATE_MS = 100
const BODY_LIMIT_BYTES = 1024 * 1024

/** @param settings in place of the configuration's defaults. @param proven beside the others. */
export async function openTwoDoors(
  stages: Stages = buildStages(),
  settings: Partial<GatewayConfig> = {},
  limits: AdmissionLimits | null = null,
  proven: readonly ProvenUpstream[] = [],
  routes: readonly RouteConfig[] = [],
  {
    tls = null,
    ...callers
  }: Partial<Pick<AdmissionOptions, 'findCaller' | 'findVouched'>> &
    Partial<Pick<GatewayOptions, 'tls'>> = {},
): Promise<TwoDoors> {
  const reached: string[] = []
  const failures: unknown[] = []
  const refused: string[] = []
  const upstream = await startUpstream((request, response) => {
    reached.push(`${request.method} ${request.url}`)
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 2 }).end('{}')
  })
  const loose = createLooseOptions({ usageMs: 50, answerMs: 50 })
  const ledger: CallLedger = {
    ...loose.ledger,
    get canTakeCalls() {
      return doors.journal !== 'full'
    },
    open(call, onWritten) {
      reached.push('journal')
      if (doors.journal === 'late') setTimeout(() => loose.ledger.open(call, onWritten), LATE_MS)
      else if (doors.journal === 'fails') queueMicrotask(() => onWritten(new Error('the disk refuses')))
      else loose.ledger.open(call, onWritten)
    },
    saveSnapshotNow(call, snapshot, onWritten) {
      if (doors.journal === 'fills') queueMicrotask(() => onWritten(new Error('the disk is full')))
      else loose.ledger.saveSnapshotNow(call, snapshot, onWritten)
    },
  }
  const upstreams = upstreamsAt(upstream, proven)
  const index = new ObjectIndex({ selectOwners: async () => [] })
  index.add('open', OTHERS_RESPONSE, { clientId: 'other', keyId: 'other' })
  const objects = new Objects(index)
  const services = { ...loose, ledger }
  const bodyBudget = new BodyBudget(BODY_LIMIT_BYTES, BODY_LIMIT_BYTES)
  const { app } = buildGateway({
    logger: createLog('silent', 'test'),
    tls,
    admission: {
      stages,
      config: { ...loadGatewayConfig(environmentOf(upstream)), ...settings },
      findCaller,
      ...callers,
      signers: {
        findSigner,
        provesSigner: (keyId, proves) => keyId === SIGNER.keyId && proves(SIGNER.secret),
      },
      refusedUnknown: () => {},
      ledger,
      upstreams: buildUpstreamTable(
        upstreams,
        { defaultUpstream: 'open' },
        () => {},
        buildRouteTable(routes, upstreams, { circuits: new Circuits(), quote: () => null }),
      ),
      pathPolicy: buildPathPolicy({
        all: { ...NO_PATH_RULES, deny: ['GET /v1/denied', 'POST /v1/denied'] },
        byUpstream: new Map(),
        byKey: [],
      }),
      objects,
      jobs: { settle: async () => null },
      unattended: loose.unattended,
      limits,
      refused: ({ clientId, reason }) => refused.push(`${clientId} ${reason}`),
      now: Date.now,
      stageFailed: (error) => failures.push(error),
    },
    listModels: () => [],
    summariseUsage: async () => ({ answer: {}, wholeUntilMs: null }),
    listLimits: async () => [],
    findReceipt: async () => ({ answer: null, wholeUntilMs: null }),
    liteLlm:
      settings.compat === undefined
        ? undefined
        : async (path) => ({ answer: { kind: 'answer', document: { path } }, wholeUntilMs: null }),
    readiness: () => ({ ready: true, degraded: [] }),
    forward: {
      services,
      objects,
      bodyLimitBytes: BODY_LIMIT_BYTES,
      bodyBudget,
    },
    webSockets: { services, bodyBudget, handshakeTimeoutMs: 5_000, onDeactivated: () => () => {} },
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const connections = new Set<Socket>()
  app.server.on('connection', (socket: Socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  const doors: TwoDoors = {
    url,
    upstream,
    records: loose.records,
    unattended: loose.unattended,
    reached,
    failures,
    refused,
    journal: 'works',
    knock: async (door, request = {}) => await exchange(url, requestAt(door, request)),
    async leave(door, request, missing, until) {
      const socket = dial(url)
      const text = requestAt(door, request)
      socket.write(text.slice(0, text.length - missing))
      await expect.poll(until).toBe(true)
      const there = [...connections].at(-1)
      if (there === undefined) throw new Error('no connection')
      const closed = once(there, 'close')
      socket.destroy()
      await closed
    },
    async close() {
      await app.close()
      await upstream.close()
    },
  }
  return doors
}

function environmentOf({ url }: TestUpstream): Record<string, string> {
  const stores = { DATABASE_URL: 'postgresql://x', REDIS_URL: 'redis://x' }
  return { ...stores, UPSTREAM_URL: url, BASE_PATH: '/gw', KEY_PEPPER: 'x' }
}

function upstreamsAt({ url }: TestUpstream, proven: readonly ProvenUpstream[]): readonly Upstream[] {
  const { origin, host } = new URL(url)
  const pool = openPool(origin, { headersTimeoutMs: 5_000, idleTimeoutMs: 5_000 })
  const open: Upstream = {
    name: 'open',
    origin,
    host,
    basePath: '',
    provider: 'openai',
    credential: null,
    fetched: null,
    takesClients: false,
    models: null,
    pathPrefix: null,
    mountedAt: '',
    ownsOrigins: false,
    publicUrl: null,
    modelsPath: '/v1/models',
    includeUsage: 'auto',
    objects: 'owned',
    account: ['open', 'other'],
    pool,
  }
  const google: Upstream = { ...open, name: 'google', provider: 'gemini', pathPrefix: '/google' }
  return [
    open,
    { ...open, name: 'other', pathPrefix: '/other' },
    google,
    ...proven.map((upstream) => ({ ...open, ...upstream })),
  ]
}

/** The key that signs, and one that was revoked. */
function findSigner(keyId: string): CallerLookup {
  const caller = { clientId: 'c', clientName: 'c', keyId, keyName: 'signer', models: null }
  if (keyId === SIGNER.keyId) return { kind: 'active', caller }
  return { kind: keyId === 'key_RRRRRRRRRRRRRRRRRRRR' ? 'key_inactive' : 'unknown' }
}

/** A key with the form of keys. */
export const FORMED_KEY = 'tg_0123456789abcdefghijABCDEFGHIJ999999'

function findCaller(key: string): CallerLookup | Promise<CallerLookup> {
  const caller = { clientId: 'c', clientName: 'c', keyId: key, keyName: key, models: null }
  switch (key) {
    case 'good':
      return { kind: 'active', caller }
    case FORMED_KEY:
      return { kind: 'active', caller }
    case 'limited':
      return { kind: 'active', caller }
    case 'asked for':
      return Promise.resolve({ kind: 'active', caller })
    case 'restricted':
      return { kind: 'active', caller: { ...caller, models: ['gpt-4o'] } }
    case 'transcribing':
      return { kind: 'active', caller: { ...caller, models: ['gpt-4o', 'gpt-4o-transcribe'] } }
    case 'revoked':
      return { kind: 'key_inactive' }
    case 'disabled':
      return Promise.resolve({ kind: 'client_disabled' })
    case 'away':
      return Promise.reject(new Error('the store is away'))
    default:
      return { kind: 'unknown' }
  }
}

function requestAt(door: Door, request: Request): string {
  const { target = '/gw/v1/embeddings', headers = [], key = 'good', host = true, body } = request
  const isPost = door === 'http' && body !== undefined
  const upgrade = [
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
  ]
  const json = isPost ? ['Content-Type: application/json', `Content-Length: ${body.length}`] : []
  return [
    `${isPost ? 'POST' : 'GET'} ${target} HTTP/1.1`,
    ...(host ? ['Host: gateway.test'] : []),
    ...(key === null ? [] : [`Authorization: Bearer ${key}`]),
    ...(door === 'http' ? ['Connection: close'] : upgrade),
    ...json,
    ...headers,
    '',
    isPost ? body : '',
  ].join('\r\n')
}
