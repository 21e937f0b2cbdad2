import { percentilesOf } from '../../stand/figures.ts'
import { type CallWatcher, Connection } from './connection.ts'
import type { Load, LoadAnswer, LoadResult } from './loads.ts'
import { startPacer } from './pacer.ts'

/** A process of its own that makes the calls it is asked for, and says how they went. */

/** Connections that an open load may open; a call beyond them waits, and its wait counts. */
const MOST_CONNECTIONS = 1024

/** Opened before the first call of an open load, so that connecting is not what is measured. */
const CONNECTIONS_BEFORE = 64

/** Connections that are open between two runs, by whom they lead to. */
const kept = new Map<string, Connection[]>()

class Run implements CallWatcher {
  readonly #load: Load
  readonly #request: Buffer
  readonly #expected: Buffer | null
  readonly #settle: (answer: LoadAnswer) => void
  readonly #startedMs = performance.now()
  readonly #connections: Connection[] = []
  readonly #idle: Connection[] = []
  /** When calls were to be sent for which no connection was free. */
  readonly #waiting: number[] = []
  readonly #firstByte: number[] = []
  readonly #whole: number[] = []
  readonly #gaps: number[] = []
  readonly #lateness: number[] = []
  readonly #firstByteAt: number[] = []
  #firstEndMs = Number.POSITIVE_INFINITY
  #sent = 0
  #isOver = false

  constructor(load: Load, settle: (answer: LoadAnswer) => void) {
    this.#load = load
    this.#request = Buffer.from(load.request)
    this.#expected = load.expected === null ? null : Buffer.from(load.expected)
    this.#settle = settle
  }

  start(): void {
    const { course } = this.#load
    switch (course.kind) {
      case 'closed':
        if (course.keeps === true) this.#takeKept()
        while (this.#connections.length < Math.min(course.connections, course.calls)) this.#connect()
        for (const connection of this.#connections) this.#sendOn(connection, performance.now())
        return
      case 'held':
        this.#paced(course.calls, course.beginMs / course.calls)
        return
      case 'open':
        for (let count = 0; count < CONNECTIONS_BEFORE; count += 1) this.#idle.push(this.#connect())
        this.#paced(course.calls, 1000 / course.perSecond)
        return
      default:
        course satisfies never
    }
  }

  began(connection: Connection, nowMs: number): void {
    this.#firstByte.push(nowMs - connection.scheduledMs)
    this.#firstByteAt.push(nowMs)
  }

  went(connection: Connection, nowMs: number): void {
    this.#gaps.push(nowMs - connection.lastReadMs)
  }

  ended(connection: Connection, nowMs: number): void {
    this.#whole.push(nowMs - connection.scheduledMs)
    if (nowMs < this.#firstEndMs) this.#firstEndMs = nowMs
    const { course } = this.#load
    if (this.#whole.length === course.calls) {
      this.#end({ result: this.#result(nowMs) })
    } else if (course.kind === 'closed') {
      if (this.#sent < course.calls) this.#sendOn(connection, nowMs)
    } else {
      const waitingSinceMs = this.#waiting.shift()
      if (waitingSinceMs === undefined) this.#idle.push(connection)
      else this.#sendOn(connection, waitingSinceMs)
    }
  }

  failed(problem: string): void {
    this.#end({ problem })
  }

  #paced(calls: number, everyMs: number): void {
    startPacer({ calls, everyMs }, (scheduledMs) => {
      if (this.#isOver) return
      this.#lateness.push(performance.now() - scheduledMs)
      const connection =
        this.#idle.pop() ??
        (this.#load.course.kind === 'held' || this.#connections.length < MOST_CONNECTIONS
          ? this.#connect()
          : null)
      if (connection === null) this.#waiting.push(scheduledMs)
      else this.#sendOn(connection, scheduledMs)
    })
  }

  #takeKept(): void {
    for (const connection of kept.get(this.#peer) ?? []) {
      if (!connection.isOpen) continue
      connection.serve(this.#expected, this)
      this.#connections.push(connection)
    }
    kept.delete(this.#peer)
  }

  get #peer(): string {
    return `${this.#load.host}:${this.#load.port}`
  }

  #connect(): Connection {
    const connection = new Connection(this.#load, this.#expected, this)
    this.#connections.push(connection)
    return connection
  }

  #sendOn(connection: Connection, scheduledMs: number): void {
    this.#sent += 1
    connection.send(this.#request, scheduledMs)
  }

  #result(nowMs: number): LoadResult {
    return {
      calls: this.#whole.length,
      ms: nowMs - this.#startedMs,
      firstByte: percentilesOf(this.#firstByte),
      whole: percentilesOf(this.#whole),
      gaps: percentilesOf(this.#gaps),
      lateness: percentilesOf(this.#lateness),
      queued: this.#firstByteAt.filter((ms) => ms > this.#firstEndMs).length,
    }
  }

  #end(answer: LoadAnswer): void {
    if (this.#isOver) return
    this.#isOver = true
    const { course } = this.#load
    if ('result' in answer && course.kind === 'closed' && course.keeps === true)
      kept.set(this.#peer, this.#connections)
    else for (const connection of this.#connections) connection.close()
    this.#settle(answer)
  }
}

process.on('message', (load: Load) => {
  new Run(load, (answer) => process.send?.(answer)).start()
})
process.on('disconnect', () => process.exit(0))
process.send?.({ port: 0 })
