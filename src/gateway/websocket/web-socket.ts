import type { IncomingMessage } from 'node:http'
import type { Server } from 'node:net'
import type { Duplex } from 'node:stream'
import type { CallerLookup } from '../../call/caller.ts'
import type { ErrorName } from '../../http/errors.ts'
import type { Objects } from '../../objects/objects.ts'
import type { PathPolicy } from '../admission/path-policy.ts'
import { findCredential, refusalOf } from '../admission/stages/credential.ts'
import { mayUseModel } from '../admission/stages/model-access.ts'
import { readCallTarget } from '../routing/call-target.ts'
import { isOwnOperation } from '../routing/own-operation.ts'
import { modelInQuery, routeCall, routeToModel } from '../routing/route.ts'
import type { UpstreamTable } from '../routing/upstream-table.ts'
import { refuse } from './refuse-handshake.ts'
import { type Admitted, Session, type SessionOptions } from './web-socket-session.ts'

export interface WebSocketOptions extends SessionOptions {
  readonly basePath: string
  readonly upstreams: UpstreamTable
  readonly pathPolicy: PathPolicy
  readonly objects: Objects
  readonly findCaller: (key: string) => CallerLookup | Promise<CallerLookup>
  /** Calls back when a key stops being active; returns how to stop listening. */
  readonly onDeactivated: (listener: (keyId: string) => void) => () => void
}

/** The open sessions of a server: what a stopping process has to end. */
export interface WebSocketSessions {
  readonly count: number
  /** Closes them all (1001, going away); resolves when their records are written. */
  closeAll(): Promise<void>
}

const HANDSHAKE = { method: 'GET', hasBody: false, webSocket: true }

/** RFC 6455 section 7.4.1. */
const GOING_AWAY = 1001
const POLICY_VIOLATION = 1008

/**
 * Sessions go through as the bytes they are: the handshake is the upstream's to accept or refuse, then both directions are joined,
 * with their own back-pressure, and the upstream's frames are watched for usage.
 */
export function acceptWebSockets(server: Server, options: WebSocketOptions): WebSocketSessions {
  const sessions = new Set<Session>()
  options.onDeactivated((keyId) => {
    for (const session of sessions) if (session.keyId === keyId) session.close(POLICY_VIOLATION)
  })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    void admitHandshake(request, options).then(
      (admitted) => {
        if (typeof admitted === 'string') {
          refuse(socket, request, admitted)
          return
        }
        if (socket.destroyed) return
        const session = new Session(options, request, socket, head, admitted, () => sessions.delete(session))
        sessions.add(session)
        session.start()
      },
      (error: unknown) => {
        options.observer.readingFailed('websocket', error)
        refuse(socket, request, 'internal_error')
      },
    )
  })
  return {
    get count() {
      return sessions.size
    },
    async closeAll() {
      await Promise.all([...sessions].map((session) => session.close(GOING_AWAY)))
    },
  }
}

const REFUSED_OBJECT = {
  hidden: 'not_found',
  unavailable: 'storage_unavailable',
  unreadable: 'invalid_request',
} as const

async function admitHandshake(
  request: IncomingMessage,
  options: WebSocketOptions,
): Promise<Admitted | ErrorName> {
  const credential = findCredential(request)
  if (credential.kind === 'ambiguous') return 'invalid_request'
  if (credential.kind === 'none') return 'invalid_api_key'
  const lookup = await options.findCaller(credential.key)
  if (lookup.kind !== 'active') return refusalOf(lookup) ?? 'invalid_api_key'
  const target = readCallTarget(credential.url, options.basePath)
  if (typeof target === 'string') return target
  // The gateway's own operations are none that speaks WebSocket, and no other's.
  if (isOwnOperation(target.canonicalPath)) return 'invalid_request'
  if (!options.ledger.canTakeCalls) return 'metering_unavailable'
  const found = routeCall(options.upstreams, HANDSHAKE, target)
  if (found === null) return 'invalid_request'
  const queried = modelInQuery(target.pathAndQuery)
  const route = found.needsModel ? routeToModel(options.upstreams, HANDSHAKE, found.target, queried) : found
  if (!options.pathPolicy.permits(lookup.caller, 'GET', false, route)) return 'path_not_allowed'
  // Other sessions name models in their messages, which nobody holds against the key.
  const inQuery = /\/realtime$/i.test(target.canonicalPath) ? queried : null
  const named = { ...route, modelInPath: route.modelInPath ?? inQuery }
  if (!mayUseModel(lookup.caller, named, null)) return 'model_not_allowed'
  const { upstream } = route
  const { canonicalPath: canonical, pathAndQuery } = route.target
  const { clientId } = lookup.caller
  const verdict = await options.objects.judgeHandshake(upstream, canonical, pathAndQuery, clientId)
  if (verdict !== 'pass') return REFUSED_OBJECT[verdict]
  return { caller: lookup.caller, route }
}
