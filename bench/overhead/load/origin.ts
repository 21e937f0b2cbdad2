import { type AddressInfo, createServer, type Socket } from 'node:net'
import { SHAPE_HEADER, shapeNamed } from './shapes.ts'

/**
 * The backend: a server on bare sockets that writes answers prepared beforehand, so that it costs next to nothing
 * beside what is measured. It reads no more of a request than its shape, its end, and whether it asks for usage. Streams are
 * chunked, a chunk for each event.
 */
const TICK_MS = 1
/** Of a stream in bursts: as many as a busy model server gets into one segment. */
const EVENTS_A_BURST = 8
const HEAD_END = Buffer.from('\r\n\r\n')
const CHUNKED_END = Buffer.from('0\r\n\r\n')
const ASKS_FOR_USAGE = Buffer.from('"include_usage":true')
const SHAPE = new RegExp(`^${SHAPE_HEADER}: *(\\S+)`, 'im')
const SAME_HEAD =
  'date: Sun, 22 Nov 2026 12:00:00 GMT\r\nserver: uvicorn\r\nx-request-id: req_0f2a6b1c9d3e4f50\r\n'

/** What is written for one shape. */
interface Answer {
  readonly writes: readonly Buffer[]
  /** Milliseconds from one write to the next; 0: each as soon as the one before was taken. */
  readonly everyMs: number
}

const answers = new Map<string, Answer>()

function answerFor(name: string, asksForUsage: boolean): Answer {
  const key = `${name} ${asksForUsage}`
  const known = answers.get(key)
  if (known !== undefined) return known
  const made = makeAnswer(name, asksForUsage)
  answers.set(key, made)
  return made
}

function makeAnswer(name: string, asksForUsage: boolean): Answer {
  const { contentType, events, usageEvent } = shapeNamed(name)
  const head = `HTTP/1.1 200 OK\r\n${SAME_HEAD}content-type: ${contentType}\r\n`
  const [kind, , every] = name.split(':')
  if (kind === 'json') {
    const body = Buffer.concat([...events])
    return {
      writes: [Buffer.concat([Buffer.from(`${head}content-length: ${body.length}\r\n\r\n`), body])],
      everyMs: 0,
    }
  }
  const sent = events.filter((_, index) => asksForUsage || index !== usageEvent)
  const chunks = sent.map((event) =>
    Buffer.concat([Buffer.from(`${event.length.toString(16)}\r\n`), event, Buffer.from('\r\n')]),
  )
  const everyMs = Number(every)
  const together = everyMs > 0 ? 1 : EVENTS_A_BURST
  const writes: Buffer[] = []
  for (let at = 0; at < chunks.length; at += together)
    writes.push(Buffer.concat(chunks.slice(at, at + together)))
  const first = Buffer.concat([
    Buffer.from(`${head}transfer-encoding: chunked\r\n\r\n`),
    writes[0] ?? Buffer.alloc(0),
  ])
  const last = Buffer.concat([writes.at(-1) ?? Buffer.alloc(0), CHUNKED_END])
  return { writes: [first, ...writes.slice(1, -1), last], everyMs }
}

/** A stream that is being written. */
class Stream {
  readonly socket: Socket
  readonly answer: Answer
  #next = 0

  constructor(socket: Socket, answer: Answer) {
    this.socket = socket
    this.answer = answer
  }

  /** @returns whether more is to come */
  writeNext(): boolean {
    const bytes = this.answer.writes[this.#next]
    if (bytes === undefined || this.socket.destroyed) return false
    this.#next += 1
    this.socket.write(bytes)
    return this.#next < this.answer.writes.length
  }

  /** Each write waits until the one before was taken, so that bursts stay bursts and no memory piles up. */
  readonly writeOn = (): void => {
    if (!this.writeNext()) return
    if (this.socket.writableNeedDrain) this.socket.once('drain', this.writeOn)
    else setImmediate(this.writeOn)
  }
}

/** One timer for all streams with the same pace: they are dealt to its ticks in turn, so that they do not write at once. */
class Pace {
  readonly #slots: Set<Stream>[]
  #slot = 0
  #dealt = 0
  readonly #startedMs = performance.now()

  constructor(everyMs: number) {
    this.#slots = Array.from({ length: everyMs / TICK_MS }, () => new Set<Stream>())
    setInterval(() => this.#tick(), TICK_MS)
  }

  add(stream: Stream): void {
    this.#slots[this.#dealt % this.#slots.length]?.add(stream)
    this.#dealt += 1
  }

  /** Timers come late: the ticks that were missed are made up for. */
  #tick(): void {
    const due = Math.floor((performance.now() - this.#startedMs) / TICK_MS)
    for (; this.#slot < due; this.#slot += 1) {
      const slot = this.#slots[this.#slot % this.#slots.length]
      for (const stream of slot ?? []) if (!stream.writeNext()) slot?.delete(stream)
    }
  }
}

const paces = new Map<number, Pace>()

function paceOf(everyMs: number): Pace {
  const known = paces.get(everyMs)
  if (known !== undefined) return known
  const made = new Pace(everyMs)
  paces.set(everyMs, made)
  return made
}

function answerRequest(socket: Socket, head: string, body: Buffer): void {
  const name = SHAPE.exec(head)?.[1]
  if (name === undefined) {
    // Not one of ours: the gateway lists models and asks for other things at its start.
    socket.write('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n')
    return
  }
  const answer = answerFor(name, body.includes(ASKS_FOR_USAGE))
  const stream = new Stream(socket, answer)
  if (answer.everyMs === 0) stream.writeOn()
  else if (stream.writeNext()) paceOf(answer.everyMs).add(stream)
}

const server = createServer({ noDelay: true }, (socket) => {
  let pending: Buffer | null = null
  socket.on('error', () => {})
  socket.on('data', (chunk: Buffer) => {
    const bytes = pending === null ? chunk : Buffer.concat([pending, chunk])
    pending = bytes
    const headEnd = bytes.indexOf(HEAD_END)
    if (headEnd < 0) return
    const head = bytes.toString('latin1', 0, headEnd)
    const body = bytes.subarray(headEnd + HEAD_END.length)
    const length = /^content-length: *(\d+)/im.exec(head)?.[1]
    const isWhole =
      length !== undefined
        ? body.length >= Number(length)
        : !/^transfer-encoding: *chunked/im.test(head) || body.subarray(-5).equals(CHUNKED_END)
    if (!isWhole) return
    pending = null
    answerRequest(socket, head, body)
  })
})
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () =>
  process.send?.({ port: (server.address() as AddressInfo).port }),
)
process.on('disconnect', () => process.exit(0))
