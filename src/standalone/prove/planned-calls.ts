/**
 * The calls of a run that injects faults, by number. Each has its own counts of tokens, so that an answer, a line of the
 * upstream or a row of `calls` shows which call it belongs to.
 */
export interface PlannedCall {
  readonly number: number
  /** Index of the client that makes it. */
  readonly client: number
  /** Names the call, and so does its row of `calls`, whatever became of it. */
  readonly path: string
  readonly model: string
  readonly streamed: boolean
  /** Milliseconds that a stream goes on for, with usage from its beginning on; 0: as soon as it is there. */
  readonly lastsMs: number
  /** The client wants to see a stream's usage; of chat alone, as Anthropic's shows it in any case. */
  readonly asksUsage: boolean
  readonly input: number
  readonly output: number
  readonly costPico: bigint
  /** Further headers of its request. */
  readonly headers?: Readonly<Record<string, string>>
}

/** So many that each of some shards has one. */
export const CLIENTS = ['north', 'south', 'east', 'west', 'above', 'below', 'near', 'far']

/** No estimate of such short prompts comes near it. */
const FIRST_INPUT = 100_000

/** Integer pico-USD per token, from the providers' price pages: 0.15/0.60, 2.50/10 and 0.80/4 USD per million. */
const CHAT = { upstream: '/openai', path: '/v1/chat/completions' }
const MINI = { ...CHAT, model: 'gpt-4o-mini', input: 150_000n, output: 600_000n }
export const ANTHROPIC_MODEL = 'claude-3-5-haiku-20241022'
const MODELS = [
  MINI,
  { ...CHAT, model: 'gpt-4o', input: 2_500_000n, output: 10_000_000n },
  {
    upstream: '/anthropic',
    path: '/v1/messages',
    model: ANTHROPIC_MODEL,
    input: 800_000n,
    output: 4_000_000n,
  },
]
/** One call of so many is a long stream. */
const LONG_EVERY = 10
const LONG_MIN_MS = 2_000
const LONG_SPREAD_MS = 4_000

let isByRoutes = false

/** From now on calls name no upstream: routes of the models' names lead them to targets, of which one is ill. */
export function callByRoutes(): void {
  isByRoutes = true
}

/** The targets of routes: below these paths of the one upstream, and at any time one of them is ill. */
export const TARGETS = ['target-1', 'target-2', 'target-3']

export function planCall(number: number): PlannedCall {
  const { upstream, path, model } = modelOf(number)
  const isLong = number % LONG_EVERY === 0
  const input = FIRST_INPUT + number
  const output = 1 + (number % 977)
  return {
    number,
    client: Math.floor(number / MODELS.length) % CLIENTS.length,
    path: `${isByRoutes ? '' : upstream}/${number}${path}`,
    model,
    streamed: isLong || Math.floor(number / 2) % 3 === 1,
    lastsMs: isLong ? LONG_MIN_MS + ((number * 37) % LONG_SPREAD_MS) : 0,
    asksUsage: Math.floor(number / MODELS.length) % 2 === 0,
    input,
    output,
    costPico: plannedCost(number, input, output),
  }
}

/** A short chat, for a gateway whose paths say nothing of calls. It has the prices of gpt-4o-mini. */
export function chatCall(number: number, model: string): PlannedCall {
  const planned = planCall(number)
  const { input, output } = planned
  const costPico = BigInt(input) * MINI.input + BigInt(output) * MINI.output
  return { ...planned, client: 0, model, lastsMs: 0, asksUsage: true, costPico }
}

/** The cost of so many tokens of the call's model. */
export function plannedCost(number: number, input: number, output: number): bigint {
  const price = modelOf(number)
  return BigInt(input) * price.input + BigInt(output) * price.output
}

/** The part of a prompt that says which answer the stand-in gives. */
export type Order = Pick<PlannedCall, 'number' | 'input' | 'output' | 'lastsMs'>

/** The prompt of a call: what gateways change or leave out beside it, they send this on. */
export function writeOrder({ number, input, output, lastsMs }: Order): string {
  return `call ${number}: ${input} in, ${output} out, ${lastsMs} ms`
}

/** @returns `null`: messages of other programs. */
export function readOrder(messages: unknown): Order | null {
  const found = /call (\d+): (\d+) in, (\d+) out, (\d+) ms/.exec(JSON.stringify(messages) ?? '')
  if (found === null) return null
  const [, number = 0, input = 0, output = 0, lastsMs = 0] = found.map(Number)
  return { number, input, output, lastsMs }
}

/** The call that has so many input tokens, where it is one of the first `calls`; null: none of ours. */
export function callNumberOfInput(input: number, calls: number): number | null {
  const number = input - FIRST_INPUT
  return Number.isInteger(number) && number >= 0 && number < calls ? number : null
}

/** Which call went to that path, as a row of `calls` has it; null: none of ours. */
export function callNumberOf(path: string): number | null {
  const number = /^\/(\d+)\//.exec(path)?.[1]
  return number === undefined ? null : Number(number)
}

function modelOf(number: number) {
  return MODELS[number % MODELS.length] ?? MINI
}
