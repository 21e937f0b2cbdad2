import { setTimeout as delay } from 'node:timers/promises'

/** What became of the calls of a run. */
export interface Traffic {
  sent: number
  /** Ids of the calls that were answered with 200 to the end. */
  readonly answered: Set<string>
  /** How the others ended. */
  readonly failures: string[]
}

export interface TrafficOptions {
  /** A function is asked at each call. */
  readonly baseUrl: string | (() => string)
  readonly key: string
  /** Read before each call: who lowers it ends the traffic. */
  readonly calls: number
  /** At most. */
  readonly atOnce: number
  /** From one call's start to the next one's, so that the traffic outlasts what is done meanwhile. */
  readonly everyMs: number
}

/** Makes calls, every other one streamed, until all are made. `traffic` is kept up to date meanwhile. */
export async function makeCalls(options: TrafficOptions, traffic: Traffic): Promise<void> {
  const startedAtMs = performance.now()
  const one = async () => {
    while (traffic.sent < options.calls) {
      const index = traffic.sent++
      await delay(Math.max(0, startedAtMs + index * options.everyMs - performance.now()))
      await call(options, traffic, index)
    }
  }
  await Promise.all(Array.from({ length: options.atOnce }, one))
}

async function call({ baseUrl, key }: TrafficOptions, traffic: Traffic, index: number): Promise<void> {
  try {
    const url = typeof baseUrl === 'string' ? baseUrl : baseUrl()
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'gpt-4o-mini',
        stream: index % 2 === 0,
        messages: [{ role: 'user', content: `call ${index}` }],
      }),
    })
    const text = await answer.text()
    const id = answer.headers.get('x-tallygate-call-id')
    if (answer.status === 200 && id !== null) traffic.answered.add(id)
    else traffic.failures.push(`${answer.status} ${text.slice(0, 200)}`)
  } catch (error) {
    traffic.failures.push(error instanceof Error ? `${error.message} ${error.cause ?? ''}` : String(error))
  }
}
