import { type AddressInfo, createServer, type Socket } from 'node:net'
import { shapeNamed, shapeNameIn } from './shapes.ts'

/**
 * The backend: a server on bare sockets that writes answers prepared beforehand, so that it costs next to nothing
 * beside what is measured. It reads no more of a request than its shape, its end, and whether it asks for usage. Streams are
 * chunked, a chunk for each event.
 */
const TICK_MS = 1
const HEAD_END = Buffer.from('\r\n\r\n')
const CHUNKED_END = Buffer.from('0\r\n\r\n')
const ASKS_FOR_USAGE = /"include_usage": ?true/
const SAME_HEAD =
  'date: Sun, 22 Nov 2026 12:00:00 GMT\r\nserver: uvicorn\r\nx-request-id: req_0f2a6b1c9d3e4f50\r\n'

/** What is written for one shape. */
interface Answer {
  readonly writes: readonly Buffer[]
  /** Milliseconds from one write to the next. */
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
  const { contentType, events, unasked, pace } = shapeNamed(name)
  const head = `HTTP/1.1 200 OK\r\n${SAME_HEAD}content-type: ${contentType}\r\n`
  if (pace === null) {
    const body = Buffer.concat([...events])
    const whole = [Buffer.from(`${head}content-length: ${body.length}\r\n\r\n`), body]
    return { writes: [Buffer.concat(whole)], everyMs: 0 }
  }
  const sent = asksForUsage ? events : unasked
  const chunks = sent.map((event) =>
    Buffer.concat([Buffer.from(`${event.length.toString(16)}\r\n`), event, Buffer.from('\r\n')]),
  )
  const writes: Buffer[] = []
  for (let at = 0; at < chunks.length; at += pace.together)
    writes.push(Buffer.concat(chunks.slice(at, at + pace.together)))
  const first = Buffer.concat([
    Buffer.from(`${head}transfer-encoding: chunked\r\n\r\n`),
    writes[0] ?? Buffer.alloc(0),
  ])
  const last = Buffer.concat([writes.at(-1) ?? Buffer.alloc(0), CHUNKED_END])
  return { writes: [first, ...writes.slice(1, -1), last], everyMs: pace.everyMs }
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
}

/** One timer for all streams with the same pace: they are dealt to its ticks in turn, so that they do not write at once. */
class Pace {
  readonly #slots: Set<Stream>[]
  #slot = 0
  #dealt = 0
  #streams = 0
  #timer: NodeJS.Timeout | undefined

  constructor(everyMs: number) {
    this.#slots = Array.from({ length: everyMs / TICK_MS }, () => new Set<Stream>())
  }

  add(stream: Stream): void {
    if (this.#streams === 0) {
      this.#slot = currentTick()
      this.#timer = setInterval(() => this.#tick(), TICK_MS)
    }
    this.#slots[this.#dealt % this.#slots.length]?.add(stream)
    this.#dealt += 1
    this.#streams += 1
  }

  /** Timers come late: the ticks that were missed are made up for. */
  #tick(): void {
    const due = currentTick()
    for (; this.#slot < due; this.#slot += 1) this.#write(this.#slots[this.#slot % this.#slots.length])
    // An idle timer would be counted as the cost of what is measured next.
    if (this.#streams === 0) clearInterval(this.#timer)
  }

  #write(slot: Set<Stream> | undefined): void {
    for (const stream of slot ?? []) {
      if (stream.writeNext()) continue
      slot?.delete(stream)
      this.#streams -= 1
    }
  }
}

function currentTick(): number {
  return Math.floor(performance.now() / TICK_MS)
}

const paces = new Map<number, Pace>()

function paceOf(everyMs: number): Pace {
  const known = paces.get(everyMs)
  if (known !== undefined) return known
  const made = new Pace(everyMs)
  paces.set(everyMs, made)
  return made
}

function answerRequest(socket: Socket, body: string): void {
  const name = shapeNameIn(body)
  if (name === null) {
    // Not one of ours: gateways ask for the list of models, and for other things.
    socket.write('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n')
    return
  }
  const answer = answerFor(name, ASKS_FOR_USAGE.test(body))
  const stream = new Stream(socket, answer)
  if (stream.writeNext()) paceOf(answer.everyMs).add(stream)
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
    answerRequest(socket, body.toString('latin1'))
  })
})
server.listen({ port: Number(process.env.ORIGIN_PORT ?? 0), host: '127.0.0.1', backlog: 4096 }, () =>
  process.send?.({ port: (server.address() as AddressInfo).port }),
)
process.on('disconnect', () => process.exit(0))
