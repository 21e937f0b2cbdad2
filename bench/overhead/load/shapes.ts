import { CHAT_PATH, CHAT_REQUEST, chatUsage, INPUT_TOKENS, PROMPT_NAME, WIRES, type Wire } from './wires.ts'

/** A request and the answer that the origin gives to it, byte for byte. */
export interface Shape {
  readonly name: string
  readonly path: string
  readonly body: string
  /** Of the request beside the usual ones: `name: value`. */
  readonly headers?: readonly string[]
  readonly contentType: string
  /** The answer's body as the origin writes it: whole, or an event each. */
  readonly events: readonly Buffer[]
  /** Of a stream; `null`: the answer is written as a whole. */
  readonly pace: Pacing | null
  /** The same for those who do not ask for usage, as the client does not. */
  readonly unasked: readonly Buffer[]
  /** The bytes that the client is to get. */
  readonly expected: Buffer
  readonly inputTokens: number
  readonly outputTokens: number
}

/** How a stream is written: so many events in each write, and milliseconds from one write to the next. */
export interface Pacing {
  readonly everyMs: number
  readonly together: number
}

const NAME_IN_PROMPT = /shape<([\w:.-]+)>/

/** A JSON answer of about `kilobytes`. */
export function jsonShape(kilobytes: number): Shape {
  const name = `json:${kilobytes}`
  const outputTokens = kilobytes * 150
  const content = 'word '.repeat(Math.round((kilobytes * 1024 - 420) / 5))
  const answer = Buffer.from(
    JSON.stringify({
      id: 'chatcmpl-CD6FTpcSzPQsGXGMqsFyvnVQpTrR2',
      object: 'chat.completion',
      created: 1_757_800_000,
      model: 'gpt-4o-mini-2024-07-18',
      choices: [{ index: 0, message: { role: 'assistant', content }, logprobs: null, finish_reason: 'stop' }],
      usage: chatUsage(outputTokens),
      service_tier: 'default',
      system_fingerprint: 'fp_560af6e559',
    }),
  )
  return {
    name,
    path: CHAT_PATH,
    body: bodyFor(name, CHAT_REQUEST),
    contentType: 'application/json',
    events: [answer],
    unasked: [answer],
    pace: null,
    expected: answer,
    inputTokens: INPUT_TOKENS,
    outputTokens,
  }
}

export const WIRE_NAMES = Object.keys(WIRES)

/** A stream with `events` events of text. */
export function streamShape(wireName: string, events: number, pace: Pacing): Shape {
  const wire = WIRES[wireName]
  if (wire === undefined) throw new Error(`no wire is called ${wireName}`)
  const name = `${wireName}:${events}:${pace.everyMs}:${pace.together}`
  const written = (event: Wire['event'], after: ReturnType<Wire['after']>): readonly Buffer[] =>
    [...(wire.before ?? []), ...Array.from({ length: events }, (_, index) => event(index + 1)), ...after].map(
      (written) => (typeof written === 'string' ? Buffer.from(written) : written),
    )
  const asked = written(wire.event, wire.after(events))
  const { unasked: plain } = wire
  const unasked = plain === undefined ? asked : written(() => plain.event, plain.after)
  return {
    name,
    path: wire.path,
    body: bodyFor(name, wire.request),
    contentType: wire.contentType ?? 'text/event-stream',
    events: asked,
    unasked,
    pace,
    expected: Buffer.concat(unasked),
    inputTokens: INPUT_TOKENS,
    outputTokens: events,
  }
}

function bodyFor(name: string, request: object): string {
  return JSON.stringify(request).replace(PROMPT_NAME, `shape<${name}>`)
}

/** The name of the shape that a request's body asks for; `null`: none. */
export function shapeNameIn(body: string): string | null {
  return NAME_IN_PROMPT.exec(body)?.[1] ?? null
}

/** The shape of this name. */
export function shapeNamed(name: string): Shape {
  const [first = '', ...rest] = name.split(':')
  const [second = 0, everyMs = 0, together = 0] = rest.map(Number)
  return first === 'json' ? jsonShape(second) : streamShape(first, second, { everyMs, together })
}
