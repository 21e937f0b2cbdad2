/**
 * The calls of a chaos run, by number. Each uses tokens of its own, so that whatever names them (an answer, a line of
 * the upstream, a row of `calls`) tells which call it was.
 */
export interface PlannedCall {
  readonly number: number
  /** Index of the client that makes it. */
  readonly client: number
  readonly path: string
  readonly model: string
  readonly streamed: boolean
  readonly input: number
  readonly output: number
  readonly costPico: bigint
}

export const CLIENTS = ['north', 'south', 'east']

/** No estimate of such short prompts comes near it. */
const FIRST_INPUT = 100_000

/** Integer pico-USD per token, from the providers' price pages: 0.15/0.60, 2.50/10 and 0.80/4 USD per million. */
const MINI = { model: 'gpt-4o-mini', path: '/openai/v1/chat/completions', input: 150_000n, output: 600_000n }
const MODELS = [
  MINI,
  { model: 'gpt-4o', path: '/openai/v1/chat/completions', input: 2_500_000n, output: 10_000_000n },
  { model: 'claude-3-5-haiku-20241022', path: '/anthropic/v1/messages', input: 800_000n, output: 4_000_000n },
]

export function planCall(number: number): PlannedCall {
  const price = MODELS[number % MODELS.length] ?? MINI
  const input = FIRST_INPUT + number
  const output = 1 + (number % 977)
  return {
    number,
    client: Math.floor(number / MODELS.length) % CLIENTS.length,
    path: price.path,
    model: price.model,
    streamed: Math.floor(number / 2) % 3 === 1,
    input,
    output,
    costPico: BigInt(input) * price.input + BigInt(output) * price.output,
  }
}

/** Which call used so many input tokens; null: they are an estimate, or none. */
export function callNumberOf(inputTokens: number): number | null {
  return inputTokens >= FIRST_INPUT ? inputTokens - FIRST_INPUT : null
}
