import { setTimeout as delay } from 'node:timers/promises'
import { Agent } from 'undici'
import type { StandClient } from '../stand/stand.ts'
import { type CallPlan, METADATA, planCall } from './plan.ts'

/** What became of the calls, as their clients saw it. */
export interface Seen {
  /** Begun, and ended in whatever way. */
  begun: number
  ended: number
  /** Ways in which calls ended otherwise than planned, with how often each did. */
  readonly unplanned: Map<string, number>
}

/** Calls at a fixed rate until it is stopped, one number after the other. */
export class Load {
  readonly seen: Seen = { begun: 0, ended: 0, unplanned: new Map() }
  readonly #agent = new Agent({ connections: 512 })
  readonly #underWay = new Set<Promise<void>>()
  readonly #origin: string
  readonly #clients: readonly StandClient[]
  #stopped = false
  #running: Promise<void> = Promise.resolve()

  constructor(url: string, clients: readonly StandClient[]) {
    this.#origin = url
    this.#clients = clients
  }

  start(perSecond: number): void {
    this.#stopped = false
    this.#running = this.#run(perSecond)
  }

  /** Waits for the calls under way. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
    await Promise.all(this.#underWay)
  }

  async close(): Promise<void> {
    await this.#agent.close()
  }

  async #run(perSecond: number): Promise<void> {
    const beganMs = performance.now()
    const first = this.seen.begun
    while (!this.#stopped) {
      const due = first + ((performance.now() - beganMs) * perSecond) / 1_000
      while (this.seen.begun < due) this.#begin(this.seen.begun++)
      await delay(TICK_MS)
    }
  }

  #begin(number: number): void {
    const plan = planCall(number)
    const call = this.#call(number, plan)
      .catch((error: unknown) => `${error}`)
      .then((how) => {
        this.#underWay.delete(call)
        this.seen.ended += 1
        if (how === HOW_PLANNED[plan.kind]) return
        const name = `${plan.kind}: ${how}`
        this.seen.unplanned.set(name, (this.seen.unplanned.get(name) ?? 0) + 1)
      })
    this.#underWay.add(call)
  }

  /** Tells how it ended. */
  async #call(number: number, plan: CallPlan): Promise<string> {
    const { kind, model } = plan
    const streamed = kind === 'left' || kind.startsWith('stream')
    const key = kind === 'refused' ? 'tg_none' : this.#clients[plan.client]?.keys[plan.key]
    const { statusCode, body } = await this.#agent.request({
      origin: this.#origin,
      path: '/v1/chat/completions',
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model,
        ...(streamed ? { stream: true } : {}),
        ...(kind === 'stream' ? { stream_options: { include_usage: true } } : {}),
        metadata: { [METADATA]: number },
        messages: [{ role: 'user', content: 'Say hello, at some length.' }],
      }),
    })
    if (kind === 'left' && statusCode === 200) {
      for await (const _ of body) break
      return 'left'
    }
    try {
      for await (const _ of body);
    } catch {
      return 'cut'
    }
    return `${statusCode}`
  }
}

const TICK_MS = 5
const HOW_PLANNED: Readonly<Record<CallPlan['kind'], string>> = {
  json: '200',
  stream: '200',
  'stream-unasked': '200',
  left: 'left',
  limited: '429',
  failed: '500',
  cut: '502', // a JSON answer is held back until it is whole
  refused: '401',
}
