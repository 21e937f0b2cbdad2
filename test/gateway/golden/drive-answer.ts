import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { AnswerController } from '#http-client/answer-handler.ts'
import { UpstreamError } from '#http-client/answer-handler.ts'
import type { OpenCall } from '../../../src/call/call-record.ts'
import { Exchange } from '../../../src/gateway/proxy/exchange.ts'
import type { Dialect } from '../../../src/providers/dialect.ts'
import type { JsonObject } from '../../../src/providers/reading/json-value.ts'
import type { Provider } from '../../../src/providers/registry.ts'
import { soon } from '../../support/patience.ts'
import { CallWorld, clock } from './call-world.ts'

/** One answer of an upstream, and how it comes. */
export interface Answer {
  readonly provider: Provider
  readonly method: string
  readonly path: string
  readonly dialect: Dialect | null
  readonly model: string | null
  /** What the dialect wants to know of the request; left out: it was not read. */
  readonly fields?: JsonObject | null
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly requestBody?: Buffer | null
}

export interface Way {
  /** Bytes of each piece of the body. */
  readonly pieceBytes: number
  /** What happens behind this share of the body's pieces; left out: it ends as it should. */
  readonly cutAt?: number
  /** `breaks`: the upstream does. `leaves`: the client, and the rest may still come (`goesOn`). */
  readonly cut?: 'breaks' | 'leaves'
  readonly goesOn?: boolean
  readonly onClientAbort?: 'cancel' | 'drain'
  /** Nothing was answered: the error that the client of calls would give. */
  readonly error?: Error
  readonly announced?: boolean
  readonly stripUsageEvent?: boolean
  readonly trailers?: Readonly<Record<string, string>>
  readonly closeError?: Error
  /** Real milliseconds to wait before the cut. */
  readonly pauseMs?: number
  /** The model is named while the call is on its way. */
  readonly named?: string
}

/** Real milliseconds that the upstream is silent: longer than the gateway waits by itself, for a coded answer or another. */
const SILENT_CODED_MS = 400
const SILENT_MS = 40
/** Turns of the event loop that a millisecond has at least: where none come, the gateway had no time to act in. */
const TURNS_A_MS = 5

/** The client's side: keeps what was written, and never says anything. */
class Wire extends Socket {
  readonly written: Buffer[] = []
  override _write(bytes: Buffer | string, encoding: BufferEncoding, done: () => void): void {
    this.written.push(typeof bytes === 'string' ? Buffer.from(bytes, encoding) : bytes)
    done()
  }
  override _writev(
    chunks: { chunk: Buffer | string; encoding: BufferEncoding }[],
    done: (error?: Error | null) => void,
  ): void {
    for (const { chunk, encoding } of chunks) this._write(chunk, encoding, () => {})
    done()
  }
}

/** Plays `answer` to one call, as the client of calls would, and gives all that the call left behind. */
export async function driveAnswer(answer: Answer, way: Way): Promise<readonly string[]> {
  clock.now = 1_000
  const world = new CallWorld(way.onClientAbort ?? 'cancel', way.goesOn === true ? 10_000 : 5)
  world.closeError = way.closeError ?? null
  world.running = way.pauseMs === undefined ? 'never' : 'later'
  const { provider, method, path, model, dialect } = answer
  const call: OpenCall = {
    callId: '0190c1d2-0000-7000-8000-000000000000',
    arrivedAtMs: 1_700_000_000_000,
    clientId: 'client',
    keyId: 'key',
    upstream: 'up',
    provider,
    method,
    path,
    requestedModel: model,
    webSocket: false,
  }
  world.opened(call)
  const request = new IncomingMessage(new Socket())
  request.method = method
  request.complete = true
  const wire = new Wire()
  const response = new ServerResponse(request)
  response.assignSocket(wire)
  wire.on('drain', () => response.emit('drain'))
  const requestBody = answer.requestBody ?? null
  const exchange = new Exchange(world, {
    call,
    request: { method, path, model, stream: null, ...(answer.fields ? { fields: answer.fields } : {}) },
    client: { clientName: 'Client of the call' },
    arrivedAt: clock.now,
    dialect,
    requestBody,
    requestBytes: requestBody?.length ?? 0,
    upperUse: null,
    ownsOrigins: false,
    errorShape: () => 'openai',
    hasOurCredential: false,
    response,
    stripUsageEvent: way.stripUsageEvent === true,
    limits: null,
    rates: null,
    onEnd: () => world.lines.push('over'),
  })
  if (way.named !== undefined) exchange.nameModel(way.named)
  const controller = controllerOf(answer, exchange)
  const leave = () => {
    exchange.clientLeft()
    response.destroy()
  }
  clock.now += 7.25
  if (way.cut === 'leaves' && way.cutAt === 0) leave()
  exchange.onRequestStart(controller)
  if (way.error !== undefined) {
    if (way.cut === 'leaves' && way.cutAt !== 0) leave()
    exchange.onResponseError(controller, way.error)
  } else if (!controller.aborted) {
    await play(answer, way, exchange, controller, leave)
  }
  await soon(() => world.ended > 0)
  await new Promise((resolve) => setImmediate(resolve))
  const bytes = Buffer.concat(wire.written)
    .toString('latin1')
    .replace(/Date: [^\r]*/, 'Date: -')
  return [...world.lines, `wire ${JSON.stringify(bytes)} ${wire.destroyed ? 'cut' : 'whole'}`]
}

async function play(
  { status, headers, body }: Answer,
  way: Way,
  exchange: Exchange,
  controller: DrivenController,
  leave: () => void,
): Promise<void> {
  clock.now += 2.5
  const length = way.announced === true ? { 'content-length': `${body.length}` } : {}
  exchange.onResponseStart(controller, status, { ...headers, ...length }, 'Fine')
  await new Promise((resolve) => setImmediate(resolve))
  const pieces: Buffer[] = []
  for (let at = 0; at < body.length; at += way.pieceBytes) pieces.push(body.subarray(at, at + way.pieceBytes))
  const cutBefore = way.cut === undefined ? -1 : Math.floor(pieces.length * (way.cutAt ?? 1))
  for (const [index, piece] of [...pieces, null].entries()) {
    if (index === cutBefore) {
      clock.now += 5
      if (way.pauseMs !== undefined) await new Promise((resolve) => setTimeout(resolve, way.pauseMs))
      if (way.cut === 'breaks') {
        exchange.onResponseError(controller, new Error('the upstream broke off'))
        return
      }
      leave()
      if (way.goesOn !== true) {
        // The upstream is silent until the call is given up, or its own time is over.
        const silentMs = 'content-encoding' in headers ? SILENT_CODED_MS : SILENT_MS
        const silentUntil = Date.now() + silentMs
        let turns = 0
        await soon(() => controller.aborted || (turns++ > silentMs * TURNS_A_MS && Date.now() > silentUntil))
        if (!controller.aborted)
          exchange.onResponseError(controller, new UpstreamError('body_timeout', 'silent for too long'))
        return
      }
    }
    if (controller.aborted) return
    if (piece === null) break
    clock.now += 0.125
    controller.isWhole = way.cut === undefined && index === pieces.length - 1
    exchange.onResponseData(controller, Buffer.from(piece))
    await Promise.resolve()
    await Promise.resolve()
    await soon(() => !controller.paused || controller.aborted)
  }
  clock.now += 1
  exchange.onResponseEnd(controller, way.trailers ?? null)
}

interface DrivenController extends AnswerController {
  isWhole: boolean
}

function controllerOf({ headers }: Answer, exchange: Exchange): DrivenController {
  let aborted = false
  let paused = false
  return {
    get aborted() {
      return aborted
    },
    get paused() {
      return paused
    },
    reason: null,
    isWhole: false,
    rawHeaders: Object.entries(headers).flat(),
    pause: () => {
      paused = true
    },
    resume: () => {
      paused = false
    },
    // As the connection's client does it: an abort reports the error at once.
    abort(error: Error) {
      aborted = true
      exchange.onResponseError(this, error)
    },
  }
}
