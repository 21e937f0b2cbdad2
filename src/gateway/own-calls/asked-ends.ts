import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { endsChannel } from '../../domain/redis/redis-names.ts'
import { withinDeadline } from '../../lib/deadline.ts'
import type { Logger } from '../../lib/logger.ts'
import { openRedis, type Redis } from '../../store/connection/redis.ts'

const ASK_EVERY_MS = 10
/** A query waits a second in all. */
const ASK_EVERY_MAX_MS = 500
/** Of all processes together, however often each is asked. Redis, and each process, have other work. */
const REPLIES_PER_SECOND = 10_000
/** A Redis that is slower counts as away: a query is waiting. */
const REDIS_MS = 50
/** For processes that are slow to answer. Most do within two milliseconds. */
const REPLY_MS = 200
const SILENCE_MS = 1_000

/**
 * A process asks at most so often, each time about all clients whose usage was asked for meanwhile. Each of `processes`
 * may ask, and each of the others replies, so that the interval grows with their square.
 */
export function askEveryMs(processes: number): number {
  const evenMs = (processes * Math.max(0, processes - 1) * 1_000) / REPLIES_PER_SECOND
  return Math.min(ASK_EVERY_MAX_MS, Math.max(ASK_EVERY_MS, evenMs))
}

/** What other gateway processes know of the ends of a client's calls. */
export interface KnownEnds {
  /** By producer, the number of the client's last record of the last ten seconds. */
  readonly ends: ReadonlyMap<string, number>
  /** Whether every gateway process that runs has answered. */
  readonly isComplete: boolean
}

/** A client's last call that ended at a gateway process. */
export interface End {
  readonly producer: string
  /** Of its record. */
  readonly sequence: number
}

const asking = z.object({
  number: z.number(),
  /** Who asks: the reply goes to a channel of its own. */
  from: z.string(),
  clients: z.array(z.string()).readonly(),
})

const reply = z.object({
  /** Of what was asked. */
  number: z.number(),
  /** Of the process that replies, among the gateways. */
  name: z.string(),
  ends: z.array(z.object({ client: z.string(), producer: z.string(), sequence: z.number() })).readonly(),
})

/** Which calls of these clients have ended? */
type EndsAsked = z.infer<typeof asking>
type EndsReply = z.infer<typeof reply>

const message = z.union([asking, reply])

/** `null`: it is none of ours, or of a later release. */
function parseMessage(text: string): EndsAsked | EndsReply | null {
  try {
    return message.parse(JSON.parse(text))
  } catch {
    return null
  }
}

export interface AskedEndsOptions {
  /** To ask and to reply over. */
  readonly redis: Redis
  readonly redisUrl: string
  readonly redisPrefix: string
  /** The name of this process among the gateways. */
  readonly name: string
  /** The last call of the client that ended here; `null`: none in the last ten seconds. */
  readonly ownEnd: (clientId: string) => End | null
  /** The names of the other gateway processes that run. */
  readonly readOthers: () => Promise<readonly string[]>
  readonly log: Logger
}

/** What was asked, and what came of it. */
interface Asked {
  readonly clients: Set<string>
  readonly replies: Map<string, EndsReply>
  /** Resolves when the last reply may have come. */
  readonly over: PromiseWithResolvers<void>
  isComplete: boolean
  /** Checks whether the last reply has come. */
  check(): void
}

/**
 * Asks the other gateway processes, over a channel of Redis, which calls of a client have ended at each. So calls cost
 * nothing, and nothing is kept that Redis could lose; a process that does not answer is known to be missing.
 */
export class AskedEnds {
  readonly #options: AskedEndsOptions
  readonly #id = randomUUID()
  readonly #listening: Redis
  readonly #underWay = new Map<number, Asked>()
  /** Is not sent yet. */
  #next: Asked | null = null
  #number = 0
  #askedAtMs = Number.NEGATIVE_INFINITY
  /** As the last answers of both stores have it. */
  #processes = 1

  constructor(options: AskedEndsOptions) {
    this.#options = options
    const { redisUrl, redisPrefix, log } = options
    const name = 'tallygate ends'
    this.#listening = openRedis(redisUrl, { name, whenAway: 'fail', silenceMs: SILENCE_MS, log })
    this.#listening.on('message', (_channel: string, text: string) => this.#heard(text))
    this.#listening.on('ready', () => {
      const channels = [endsChannel(redisPrefix), endsChannel(redisPrefix, this.#id)]
      // The connection broke again: the next `ready` subscribes.
      this.#listening.subscribe(...channels).catch(() => {})
    })
  }

  /** What the others know of the client's calls that ended before. Never rejects. */
  async read(clientId: string): Promise<KnownEnds> {
    this.#next ??= this.#prepare()
    const asked = this.#next
    asked.clients.add(clientId)
    await asked.over.promise
    const ends = new Map<string, number>()
    for (const reply of asked.replies.values())
      for (const { client, producer, sequence } of reply.ends)
        if (client === clientId) ends.set(producer, Math.max(sequence, ends.get(producer) ?? 0))
    return { ends, isComplete: asked.isComplete }
  }

  close(): void {
    this.#listening.disconnect()
  }

  #prepare(): Asked {
    const over = Promise.withResolvers<void>()
    const asked = { clients: new Set<string>(), replies: new Map(), over, isComplete: false, check() {} }
    const leftMs = this.#askedAtMs + askEveryMs(this.#processes) - performance.now()
    if (leftMs <= 0) setImmediate(() => void this.#ask(asked))
    else setTimeout(() => void this.#ask(asked), leftMs)
    return asked
  }

  async #ask(asked: Asked): Promise<void> {
    this.#next = null
    this.#askedAtMs = performance.now()
    const number = this.#number
    this.#number += 1
    this.#underWay.set(number, asked)
    const { redis, redisPrefix, readOthers } = this.#options
    const asking: EndsAsked = { number, from: this.#id, clients: [...asked.clients] }
    try {
      const published = redis.publish(endsChannel(redisPrefix), JSON.stringify(asking))
      const [others, listeners] = await Promise.all([readOthers(), withinDeadline(published, REDIS_MS)])
      this.#processes = Math.max(listeners, others.length + 1)
      // Of a cluster Redis knows those of one node only. One of them is this process.
      const hasAll = () =>
        asked.replies.size >= listeners - 1 && others.every((name) => asked.replies.has(name))
      const hasReplies = Promise.withResolvers<void>()
      asked.check = () => {
        if (hasAll()) hasReplies.resolve()
      }
      asked.check()
      await withinDeadline(hasReplies.promise, REPLY_MS)
      asked.isComplete = true
    } catch {
      // Redis is away or slow, or a process: what is known is not all.
    } finally {
      this.#underWay.delete(number)
      asked.over.resolve()
    }
  }

  #heard(text: string): void {
    const message = parseMessage(text)
    if (message === null) return
    if ('clients' in message) this.#reply(message)
    else {
      const asked = this.#underWay.get(message.number)
      asked?.replies.set(message.name, message)
      asked?.check()
    }
  }

  #reply({ number, from, clients }: EndsAsked): void {
    if (from === this.#id) return
    const { name, ownEnd, redis, redisPrefix } = this.#options
    const ends = clients.flatMap((client) => {
      const end = ownEnd(client)
      return end === null ? [] : [{ client, ...end }]
    })
    const reply: EndsReply = { number, name, ends }
    // The one that asked takes silence for what it is.
    redis.publish(endsChannel(redisPrefix, from), JSON.stringify(reply)).catch(() => {})
  }
}
