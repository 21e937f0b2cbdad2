import { until } from '../../../src/lib/repeat.ts'
import type { Shape } from '../load/shapes.ts'

/** What the client has used, as `GET /v1/usage` says it. */
export interface Counted {
  readonly requests: number
  readonly inputTokens: number
  readonly outputTokens: number
}

const COUNTED_WITHIN_MS = 60_000
const NOTHING: Counted = { requests: 0, inputTokens: 0, outputTokens: 0 }

/** What the gateway is to have counted. One that does not count what it is asked is not worth measuring. */
export class CallCount {
  readonly #counted: () => Promise<Counted>
  #due: Counted | null = null

  /** @param counted asks the gateway */
  constructor(counted: () => Promise<Counted>) {
    this.#counted = counted
  }

  /** Before the first call. */
  async begin(): Promise<void> {
    this.#due ??= await this.#counted()
  }

  expect(shape: Pick<Shape, 'inputTokens' | 'outputTokens'>, calls: number): void {
    const before = this.#due ?? NOTHING
    this.#due = {
      requests: before.requests + calls,
      inputTokens: before.inputTokens + calls * shape.inputTokens,
      outputTokens: before.outputTokens + calls * shape.outputTokens,
    }
  }

  /**
   * Waits until as many calls are counted as were made.
   *
   * @throws when the calls or their tokens are not exactly those
   */
  async check(withinMs = COUNTED_WITHIN_MS): Promise<void> {
    const due = this.#due ?? NOTHING
    let found = NOTHING
    const isCounted = async () => {
      found = await this.#counted()
      return found.requests >= due.requests ? true : null
    }
    await until(isCounted, { timeoutMs: withinMs, everyMs: 50 })
    const wrong = (['requests', 'inputTokens', 'outputTokens'] as const).filter(
      (name) => found[name] !== due[name],
    )
    if (wrong.length === 0) return
    const problems = wrong.map((name) => `${found[name]} ${name} in place of ${due[name]}`)
    throw new Error(`tallygate has counted ${problems.join(', ')}`)
  }
}
