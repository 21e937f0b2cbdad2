import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** A span as a collector gets it. Kinds: 2 server, 3 client. */
export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  /** Empty: it has no parent. */
  readonly parentSpanId: string
  readonly name: string
  readonly kind: number
  readonly attributes: Readonly<Record<string, string | number | boolean>>
}

export interface OtlpReceiver {
  readonly url: string
  readonly spans: ReceivedSpan[]
  /** The last sum of all points of each metric that is a sum, by name. */
  readonly sums: Map<string, number>
  /** From now on it takes requests and answers none. */
  hang(): void
  close(): Promise<void>
}

/** What a collector is to an exporter: OTLP over HTTP, in protocol buffers. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = []
  const sums = new Map<string, number>()
  let isHanging = false
  const server = createServer(async (request, response) => {
    const body = await buffer(request)
    if (isHanging) return
    for (const resource of submessages(body, 1))
      for (const scope of submessages(resource, 2))
        for (const one of submessages(scope, 2))
          if (request.url === '/v1/traces') spans.push(spanFrom(one))
          else for (const [name, sum] of sumsIn(one)) sums.set(name, sum)
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    sums,
    hang() {
      isHanging = true
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

type Value = Buffer | number

/** The fields of a message of protocol buffers, in order. */
function* fieldsOf(message: Buffer): Generator<readonly [field: number, value: Value]> {
  let at = 0
  const varint = (): number => {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = message[at++] ?? 0
      value += (byte & 127) * factor
      if (byte < 128) return value
    }
  }
  while (at < message.length) {
    const tag = varint()
    const field = Math.floor(tag / 8)
    switch (tag % 8) {
      case 0:
        yield [field, varint()]
        break
      case 1:
        yield [field, message.subarray(at, at + 8)]
        at += 8
        break
      case 2: {
        const length = varint()
        yield [field, message.subarray(at, at + length)]
        at += length
        break
      }
      default:
        yield [field, message.subarray(at, at + 4)]
        at += 4
    }
  }
}

function submessages(message: Buffer, wanted: number): readonly Buffer[] {
  return [...fieldsOf(message)].flatMap(([field, value]) =>
    field === wanted && Buffer.isBuffer(value) ? [value] : [],
  )
}

function spanFrom(message: Buffer): ReceivedSpan {
  const [traceId, spanId, parent, name] = [1, 2, 4, 5].map((field) => submessages(message, field)[0])
  const kind = [...fieldsOf(message)].find(([field]) => field === 6)?.[1]
  return {
    traceId: traceId?.toString('hex') ?? '',
    spanId: spanId?.toString('hex') ?? '',
    parentSpanId: parent?.toString('hex') ?? '',
    name: name?.toString() ?? '',
    kind: Number(kind),
    attributes: Object.fromEntries(submessages(message, 9).map(attributeFrom)),
  }
}

function sumsIn(metric: Buffer): readonly (readonly [string, number])[] {
  const name = submessages(metric, 1)[0]?.toString() ?? ''
  return submessages(metric, 7).map((sum) => {
    const values = submessages(sum, 1).flatMap((point) => submessages(point, 4))
    return [name, values.reduce((total, value) => total + value.readDoubleLE(), 0)]
  })
}

function attributeFrom(message: Buffer): readonly [string, string | number | boolean] {
  const key = submessages(message, 1)[0]?.toString() ?? ''
  const [field, value] = [...fieldsOf(submessages(message, 2)[0] ?? Buffer.alloc(0))][0] ?? []
  if (!Buffer.isBuffer(value)) return [key, field === 2 ? value === 1 : (value ?? '')]
  return [key, field === 4 ? value.readDoubleLE() : value.toString()]
}
