import { crc32 } from 'node:zlib'

/** One message of an AWS event stream, its headers all strings, with right checksums. */
export function eventMessage(
  headers: Readonly<Record<string, string>>,
  payload: string | Uint8Array,
): Buffer {
  const encodedHeaders = Buffer.concat(
    Object.entries(headers).map(([name, value]) => {
      const nameBytes = Buffer.from(name)
      const valueBytes = Buffer.from(value)
      const length = Buffer.alloc(2)
      length.writeUInt16BE(valueBytes.length)
      return Buffer.concat([Buffer.from([nameBytes.length]), nameBytes, Buffer.from([7]), length, valueBytes])
    }),
  )
  return framed(encodedHeaders, Buffer.from(payload))
}

/** Puts lengths and checksums around encoded headers and a payload. */
export function framed(headers: Buffer, payload: Buffer): Buffer {
  const prelude = Buffer.alloc(12)
  prelude.writeUInt32BE(16 + headers.length + payload.length, 0)
  prelude.writeUInt32BE(headers.length, 4)
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8)
  const body = Buffer.concat([prelude, headers, payload])
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32BE(crc32(body))
  return Buffer.concat([body, checksum])
}

/** An event as Bedrock frames it. */
export function bedrockEvent(eventType: string, json: unknown): Buffer {
  return eventMessage(
    { ':event-type': eventType, ':content-type': 'application/json', ':message-type': 'event' },
    JSON.stringify(json),
  )
}

/** An `invoke-with-response-stream` event: the model's own JSON as base64, with padding beside it. */
export function bedrockChunk(json: unknown): Buffer {
  return bedrockEvent('chunk', {
    bytes: Buffer.from(JSON.stringify(json)).toString('base64'),
    p: 'abcdefghijkl',
  })
}
