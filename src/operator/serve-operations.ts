import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { GatewayError } from '../http/errors.ts'
import {
  type AnyOperation,
  type OperationFields,
  type OperationRoute,
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
  runOperation,
  unknownField,
  withoutAliases,
} from '../operations/read-input.ts'
import { conflict } from '../operations/refuse.ts'
import { asOf } from '../usage/query/answer-usage.ts'
import { NEXT_CURSOR, stored } from './admin-answers.ts'
import { tokenHolder } from './admin-token.ts'

export interface ServedBy<Has extends Ports> {
  readonly ports: Has
  /** Announces to all gateways that clients, keys or limits changed. */
  readonly announce: () => void
  /** How old an answer of a replica is at most, in milliseconds; `null`: it is of now. */
  readonly replicaLagMs: () => number | null
}

/** Registers the routes of all operations that have one. */
export function serveOperations<Has extends Ports>(
  app: FastifyInstance,
  operations: readonly AnyOperation<Has>[],
  served: ServedBy<Has>,
): void {
  const turns: Turns = { running: null }
  for (const operation of operations)
    if ('path' in operation.http) serveOperation(app, operation, operation.http, served, turns)
}

/** Long work shares its few connections with all other operations, so a process does one at a time. */
interface Turns {
  /** The name of the one under way. */
  running: string | null
}

function serveOperation<Has extends Ports>(
  app: FastifyInstance,
  operation: AnyOperation<Has>,
  route: OperationRoute,
  { ports, announce, replicaLagMs }: ServedBy<Has>,
  turns: Turns,
): void {
  const read = inputReader(operation.input, route)
  const { changes } = operation
  app.route({
    method: route.method,
    url: route.path.replace(/\{(\w+)\}/g, ':$1'),
    async handler(request, reply) {
      const input = read(request)
      checkTogether(operation, input)
      if (operation.isReport === true) sayAge(reply, replicaLagMs(), ports.now())
      const run = (own: Has) => stored(runOperation(operation, own, input, tokenHolder(request)))
      const answered =
        operation.isLong === true
          ? await takingTurns(turns, operation.name, () => run(whileAskedFor(ports, operation, reply)))
          : await run(ports)
      const { found, next, document } = unfold(operation, answered, input)
      if (next !== null) reply.header(NEXT_CURSOR, next)
      if (changes !== undefined) {
        if (changes.isAnnounced === true) announce()
        request.log.info({ event: changes.event, ...changes.log(found as never) }, changes.says)
      }
      return reply.code(route.status ?? 200).send(document)
    },
  })
}

async function takingTurns<Answer>(turns: Turns, name: string, work: () => Promise<Answer>): Promise<Answer> {
  if (turns.running !== null) throw conflict(`${turns.running} still runs here, so ask again after it.`)
  turns.running = name
  try {
    return await work()
  } finally {
    turns.running = null
  }
}

/** Ends long reading between two parts once its answer has no reader. What changes something goes on to its end. */
function whileAskedFor<Has extends Ports>(ports: Has, { role }: AnyOperation<Has>, reply: FastifyReply): Has {
  if (role !== 'read') return ports
  const at = () => {
    if (reply.raw.destroyed) throw conflict('The connection is closed, so the work ends.')
  }
  return { ...ports, progress: () => ({ at }) }
}

/** Says of when the answer is, before it is read: it may be newer, and is never older. */
function sayAge(reply: FastifyReply, lagMs: number | null, nowMs: number): void {
  if (lagMs !== null) reply.headers(asOf(nowMs - lagMs))
}

/** The places of an operation's fields over HTTP. */
export function placesOf(fields: OperationFields, { method, path }: OperationRoute) {
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
        ...parseFields(places.path, request.params),
        ...parseFields(places.query, readQuery(withoutAliases(places.query, given), queried), 'text'),
        ...parseFields(places.body, request.body),
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
