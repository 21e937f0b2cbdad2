import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { GatewayError } from '../http/errors.ts'
import type { Actor } from '../operations/audit/audit-table.ts'
import { runOperation } from '../operations/audit/run-operation.ts'
import { LongText } from '../operations/long-text.ts'
import {
  type AnyOperation,
  type OperationFields,
  type OperationRoute,
  type Role,
  Unchanged,
  unfold,
} from '../operations/operation.ts'
import type { Ports } from '../operations/ports.ts'
import {
  checkTogether,
  type FieldForm,
  formsOf,
  namedAsGiven,
  parseFields,
  readText,
  unknownField,
  withoutAliases,
} from '../operations/read-input.ts'
import { conflict } from '../operations/refuse.ts'
import { asOf } from '../usage/query/answer-usage.ts'
import { NEXT_CURSOR, stored } from './admin-answers.ts'

export interface ServedBy<Has extends Ports> {
  readonly ports: (request: FastifyRequest) => Has
  /**
   * Who asks.
   *
   * @throws {GatewayError} `role_required`: not what needs that role.
   */
  readonly actorOf: (request: FastifyRequest, needed: Role) => Actor
  /** Announces to all gateways that clients, keys or limits changed. */
  readonly announce: () => void
  /** How old an answer of a replica is at most, in milliseconds; `null`: it is of now. */
  readonly replicaLagMs: () => number | null
  /** Opens a connection for one long operation, which ends it: reports must not wait behind it. */
  readonly openLong: () => Ports['pool']
}

/** Registers the routes of all operations that have one. */
export function serveOperations<Has extends Ports>(
  app: FastifyInstance,
  operations: readonly AnyOperation<Has>[],
  served: ServedBy<Has>,
): void {
  const turns: Turns = { running: null, isClosing: false }
  app.addHook('preClose', (done) => {
    turns.isClosing = true
    done()
  })
  for (const operation of operations)
    if ('path' in operation.http) serveOperation(app, operation, operation.http, served, turns)
}

/** A process does one long operation at a time. */
interface Turns {
  /** The name of the one under way. */
  running: string | null
  /** The listener is about to end, and waits for no long work. */
  isClosing: boolean
}

function serveOperation<Has extends Ports>(
  app: FastifyInstance,
  operation: AnyOperation<Has>,
  route: OperationRoute,
  served: ServedBy<Has>,
  turns: Turns,
): void {
  const { actorOf, announce, replicaLagMs } = served
  const read = inputReader(operation.input, route)
  const { changes } = operation
  app.route({
    method: route.method,
    url: route.path.replace(/\{(\w+)\}/g, ':$1'),
    ...(route.bodyLimitBytes === undefined ? {} : { bodyLimit: route.bodyLimitBytes }),
    // Before the body is read.
    onRequest: async (request) => void actorOf(request, operation.role),
    async handler(request, reply) {
      const ports = served.ports(request)
      const actor = actorOf(request, operation.role)
      const input = read(request)
      checkTogether(operation, input)
      if (operation.isReport === true) sayAge(reply, replicaLagMs(), ports.now())
      const ask = (own: Has) => stored(runOperation(operation, own, input, actor))
      const run = async (own: Has) => unfold(operation, await ask(own), input)
      if (operation.isConditional === true) {
        const done = await ask({ ...ports, holds: (tag) => isHeld(request, tag) })
        if (done instanceof Unchanged) return reply.header('etag', etagOf(done.tag)).code(304).send()
        return answer(unfold(operation, done, input))
      }
      if (operation.isLong !== true) return answer(await run(ports))
      // A listener that ends would wait until its client closes the connection.
      reply.header('connection', 'close')
      const turn = takeTurn(turns, operation.name, ports, served.openLong)
      let isStreamed = false
      try {
        const done = await run(inTurn(turn.ports, operation, input, reply, turns))
        isStreamed = done.found instanceof LongText
        return answer(done, turn.end)
      } finally {
        if (!isStreamed) await turn.end()
      }

      function answer({ found, next, tag, document }: ReturnType<typeof unfold>, end?: () => Promise<void>) {
        if (found instanceof LongText) {
          // A client that leaves destroys it, before the first part, too.
          const text = Readable.from(textsOf(found, turns)).once(
            'close',
            () => void found.close().finally(end),
          )
          return reply.type(found.contentType).send(text)
        }
        if (next !== null) reply.header(NEXT_CURSOR, next)
        if (tag !== null) reply.header('etag', etagOf(tag))
        const logged = changes?.log(found as never) ?? null
        if (changes !== undefined && logged !== null) {
          if (changes.isAnnounced === true) announce()
          request.log.info({ event: changes.event, ...logged }, changes.says)
        }
        return reply.code(route.status ?? 200).send(document)
      }
    },
  })
}

/** Weak, as the bytes of an answer depend on its coding. */
function etagOf(tag: string): string {
  return `W/"${tag}"`
}

function isHeld({ headers }: FastifyRequest, tag: string): boolean {
  const held = headers['if-none-match'] ?? ''
  return held.split(',').some((one) => one.trim() === etagOf(tag))
}

async function* textsOf(found: LongText, turns: Turns): AsyncGenerator<string> {
  for await (const { text } of found.parts()) {
    if (turns.isClosing) throw conflict('This gateway stops, so the text ends here.')
    yield text
  }
}

/** A turn, with ports over a connection of its own. */
function takeTurn<Has extends Ports>(
  turns: Turns,
  name: string,
  ports: Has,
  openLong: ServedBy<Has>['openLong'],
) {
  if (turns.running !== null) throw conflict(`${turns.running} still runs here, so ask again after it.`)
  turns.running = name
  const pool = openLong()
  const own: Has = { ...ports, pool, read: (work) => work(pool) }
  return {
    ports: own,
    async end() {
      turns.running = null
      await pool.end()
    },
  }
}

/**
 * Ends long work between two parts: all of it before the listener closes, and reading once its answer has no reader.
 * What was cut in the middle of a change is taken up by the same order.
 */
function inTurn<Has extends Ports>(
  ports: Has,
  { role }: AnyOperation<Has>,
  { dry_run: isDry }: Readonly<Record<string, unknown>>,
  reply: FastifyReply,
  turns: Turns,
): Has {
  const endsWithClient = role === 'read' || isDry === true
  const at = () => {
    if (turns.isClosing) throw conflict('This gateway stops, so the work ends. Ask another one.')
    if (endsWithClient && reply.raw.destroyed) throw conflict('The connection is closed, so the work ends.')
  }
  return { ...ports, progress: () => ({ at }) }
}

/** Says of when the answer is, before it is read: it may be newer, and is never older. */
function sayAge(reply: FastifyReply, lagMs: number | null, nowMs: number): void {
  if (lagMs !== null) reply.headers(asOf(nowMs - lagMs))
}

/** The places of an operation's fields over HTTP. */
export function placesOf(all: OperationFields, { method, path, without = [], rows }: OperationRoute) {
  const fields = Object.fromEntries(
    Object.entries(all).flatMap(([name, field]) => {
      if (without.includes(name)) return []
      return [[name, name === 'limit' && rows !== undefined ? z.prefault(field, rows) : field]]
    }),
  )
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  const pick = (isWanted: (name: string) => boolean): OperationFields =>
    Object.fromEntries(Object.entries(fields).filter(([name]) => isWanted(name)))
  const hasBody = method === 'POST' || method === 'PUT'
  return {
    path: pick((name) => inPath.includes(name)),
    query: pick((name) => !hasBody && !inPath.includes(name)),
    body: pick((name) => hasBody && !inPath.includes(name)),
  }
}

function inputReader(fields: OperationFields, route: OperationRoute) {
  const places = placesOf(fields, route)
  const queried = new Map(formsOf(places.query).map((form) => [form.name, form]))
  return (request: FastifyRequest) => {
    const given = request.query as Readonly<Record<string, unknown>>
    try {
      return {
        ...parseFields(places.query, readQuery(withoutAliases(places.query, given), queried), 'text'),
        ...parseFields(places.body, request.body),
        ...parseFields(places.path, request.params),
      }
    } catch (error) {
      throw namedAsGiven(error, given)
    }
  }
}

function readQuery(
  asked: Readonly<Record<string, unknown>>,
  forms: ReadonlyMap<string, FieldForm>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(asked).map(([name, value]) => {
      const form = forms.get(name)
      if (form === undefined) throw unknownField(name)
      if (typeof value === 'string') return [name, readText(form.schema, value)]
      throw new GatewayError('invalid_request', { param: name, message: `${name} must be given once.` })
    }),
  )
}
