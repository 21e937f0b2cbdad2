import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { Admission } from '../../../src/gateway/admission/admission.ts'
import { UNREAD_BODY } from '../../../src/gateway/bodies/body-reading.ts'
import { scanRequestBody } from '../../../src/gateway/bodies/request-body.ts'
import { readCallTarget } from '../../../src/gateway/routing/call-target.ts'
import { routeCall } from '../../../src/gateway/routing/route.ts'
import { buildUpstreamTable, openPool } from '../../../src/gateway/routing/upstream-table.ts'
import type { Provider } from '../../../src/providers/registry.ts'

/** A call on its way in, as far as limits look at it. */
export interface Asking {
  readonly provider?: Provider
  readonly method?: string
  readonly path: string
  /** JSON; text as it is. Left out: no body. */
  readonly body?: object | string
  readonly headers?: Readonly<Record<string, string>>
  readonly webSocket?: boolean
  readonly client?: string
  readonly arrivedAtMs?: number
}

/** An admission that every stage before the limits let pass. */
export function admitted(asking: Asking): Admission {
  const { provider = 'openai', method = 'POST', path, body, headers = {}, webSocket = false } = asking
  const request = new IncomingMessage(new Socket())
  request.method = method
  request.url = path
  Object.assign(request.headers, body === undefined ? {} : { 'content-length': '1' }, headers)
  const admission = new Admission(
    request,
    new ServerResponse(request),
    webSocket,
    asking.arrivedAtMs ?? Date.now(),
  )
  const clientName = asking.client ?? 'acme'
  admission.caller = { clientId: clientName, clientName, keyId: 'key', keyName: 'key', models: null }
  const target = readCallTarget(path, '')
  if (typeof target === 'string') throw new Error(target)
  admission.target = target
  const origin = 'http://127.0.0.1:9'
  const upstream = {
    name: 'upstream',
    origin,
    host: '127.0.0.1:9',
    basePath: '',
    provider,
    credential: null,
    fetched: null,
    takesClients: false,
    models: null,
    pathPrefix: null,
    mountedAt: '',
    ownsOrigins: false,
    publicUrl: null,
    modelsPath: '/v1/models',
    includeUsage: 'auto' as const,
    objects: 'owned' as const,
    account: ['upstream'],
    pool: openPool(origin, { headersTimeoutMs: 1_000, idleTimeoutMs: 1_000 }),
  }
  const route = routeCall(buildUpstreamTable([upstream], { defaultUpstream: 'upstream' }), admission, target)
  if (typeof route === 'string' || !('upstream' in route)) throw new Error('the call has no one route')
  admission.route = route
  if (body !== undefined && route.dialect?.readsRequest === true) {
    const plain = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
    admission.body = { ...UNREAD_BODY, sent: plain, plain, scan: scanRequestBody(plain) }
  }
  return admission
}
