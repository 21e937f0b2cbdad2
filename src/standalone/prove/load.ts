import { setTimeout as delay } from 'node:timers/promises'
import { Agent } from 'undici'
import { callNumberOf, type PlannedCall, planCall, writeOrder } from './planned-calls.ts'
import { type Random, seeded } from './random.ts'

/** How a call looked to its client. `refused`: no gateway took it, so it never was one. */
export type CallAnswer = 'whole' | 'cut' | 'refused' | 'error' | 'left'

/** One call as its client recorded it. */
export interface CallTrace {
  readonly number: number
  readonly gateway: string
  answer: CallAnswer
  /** 0: no answer began. */
  status: number
  /** As the gateway's answer named it; null: no answer began. */
  callId: string | null
  /** The upstream that the answer says it is from; null: it says none, as those that are not by a route. */
  upstream: string | null
  /** How many requests went upstream for it, as the answer says; null: it says none. */
  attempts: number | null
  /** It has seen the usage that ends a stream. */
  sawUsage: boolean
  /** Milliseconds of this process's monotonic clock. */
  readonly beganMs: number
  endedMs: number
  /** Why it was cut, as the client's library says it, or the error that it was answered with. */
  reason?: string
}

/** Clients that call until they are stopped, and record everything. */
export interface Load {
  readonly traces: readonly CallTrace[]
  /** How many calls may begin in a second from now on. */
  pace(callsPerSecond: number): void
  /** Waits for the calls under way. */
  stop(): Promise<void>
}

export interface LoadOptions {
  /** The targets of calls, asked for each call. */
  readonly targets: readonly Target[]
  readonly keys: readonly string[]
  /** Calls at a time, at most. */
  readonly atOnce: number
  readonly callsPerSecond: number
  /** This share of the streams is left by its client in the middle. */
  readonly departing: number
  readonly random: Random
  readonly onEnd?: (trace: CallTrace) => void
  /** The call of a number; absent: that of the stand. */
  readonly plan?: (number: number) => PlannedCall
}

export interface Target {
  readonly name: string
  /** `http://127.0.0.1:8080` */
  readonly url: string
}

const TICK_MS = 10
const STEADY_AT_ONCE = 200
/** A client gives up at last. A call that hangs for this time is recorded as cut. */
const PATIENCE_MS = 60_000
/** The event that has a stream's final usage, up to its end: chat's, or Anthropic's. */
const FINAL_USAGE = /"choices":\[\],"usage":\{[^\n]*\n\n|"type":"message_delta"[^\n]*\n\n/

/** The same calls each time, none of them left by its client: for figures. */
export function startSteadyLoad(
  options: Pick<LoadOptions, 'targets' | 'keys' | 'callsPerSecond' | 'onEnd'>,
): Load {
  return startLoad({ ...options, atOnce: STEADY_AT_ONCE, departing: 0, random: seeded(1) })
}

export function startLoad(options: LoadOptions): Load {
  const agent = new Agent({ connections: null, bodyTimeout: PATIENCE_MS, headersTimeout: PATIENCE_MS })
  const traces: CallTrace[] = []
  const underWay = new Set<Promise<void>>()
  let perSecond = options.callsPerSecond
  let owed = 0
  let last = performance.now()
  const ticking = setInterval(() => {
    const now = performance.now()
    owed = Math.min(owed + ((now - last) * perSecond) / 1_000, options.atOnce)
    last = now
    for (; owed >= 1 && underWay.size < options.atOnce; owed -= 1) begin()
  }, TICK_MS)

  function begin(): void {
    const number = traces.length
    const target = options.random.pick(options.targets)
    const trace: CallTrace = {
      number,
      gateway: target.name,
      answer: 'refused',
      status: 0,
      callId: null,
      upstream: null,
      attempts: null,
      sawUsage: false,
      beganMs: performance.now(),
      endedMs: 0,
    }
    traces.push(trace)
    const departs = options.random.chance(options.departing)
    const planned = (options.plan ?? planCall)(number)
    const call = makeCall(
      agent,
      { target, planned, key: options.keys[planned.client] ?? '' },
      trace,
      departs,
    ).finally(() => {
      trace.endedMs = performance.now()
      underWay.delete(call)
      options.onEnd?.(trace)
    })
    underWay.add(call)
  }

  return {
    traces,
    pace(callsPerSecond) {
      perSecond = callsPerSecond
    },
    async stop() {
      clearInterval(ticking)
      await Promise.race([Promise.all(underWay), delay(PATIENCE_MS, undefined, { ref: false })])
      await agent.destroy()
      await Promise.all(underWay)
    },
  }
}

async function makeCall(
  agent: Agent,
  { target, planned, key }: { readonly target: Target; readonly planned: PlannedCall; readonly key: string },
  trace: CallTrace,
  departs: boolean,
): Promise<void> {
  const { number, path, model, streamed, asksUsage, headers } = planned
  try {
    const response = await agent.request({
      origin: target.url,
      path,
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'x-client-request-id': `${number}`,
        ...headers,
      },
      body: JSON.stringify({
        model,
        stream: streamed,
        ...(streamed && asksUsage && path.endsWith('/chat/completions')
          ? { stream_options: { include_usage: true } }
          : {}),
        max_tokens: 1_000,
        ...(callNumberOf(path) === null ? { user: `call-${number}` } : {}),
        messages: [{ role: 'user', content: writeOrder(planned) }],
      }),
    })
    trace.answer = 'cut'
    trace.status = response.statusCode
    trace.callId = textOf(response.headers['x-tallygate-call-id'])
    trace.upstream = textOf(response.headers['x-tallygate-upstream'])
    const attempts = textOf(response.headers['x-tallygate-attempts'])
    trace.attempts = attempts === null ? null : Number(attempts)
    if (departs && streamed && response.statusCode === 200) {
      trace.answer = 'left'
      const { value } = await response.body[Symbol.asyncIterator]().next()
      trace.sawUsage = FINAL_USAGE.test(`${value}`)
      response.body.destroy()
      return
    }
    let text = ''
    const isError = response.statusCode !== 200
    for await (const chunk of response.body) {
      if (!isError && (!streamed || trace.sawUsage)) continue
      text += chunk
      trace.sawUsage = FINAL_USAGE.test(text)
    }
    if (isError) trace.reason = text
    trace.answer = isError ? 'error' : 'whole'
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : ''
    trace.reason = String(error)
    if (code !== 'ECONNREFUSED') trace.answer = trace.answer === 'left' ? 'left' : 'cut'
  }
}

function textOf(header: string | string[] | undefined): string | null {
  return typeof header === 'string' ? header : null
}
