import { connect, type Socket } from 'node:net'

export const DATA = 0
export const HEADERS = 1
export const PRIORITY = 2
export const RST_STREAM = 3
export const SETTINGS = 4
export const PING = 6
export const GOAWAY = 7
export const WINDOW_UPDATE = 8
export const CONTINUATION = 9

export const END_STREAM = 1
export const END_HEADERS = 4

/** `GET / HTTP/2` to `a`, without the dynamic table of HPACK. */
export const GET = Buffer.from([0x82, 0x84, 0x86, 0x01, 1, 0x61])
/** `POST /`, whose body follows. */
export const POST = Buffer.from([0x83, 0x84, 0x86, 0x01, 1, 0x61])

export function frame(
  type: number,
  flags: number,
  streamId: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(streamId, 5)
  return Buffer.concat([head, payload])
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** A client of HTTP/2 that writes its frames by hand. */
export class RawClient {
  readonly socket: Socket
  /** Types and error codes of what came: RST_STREAM and GOAWAY have one, others `null`. */
  readonly frames: { readonly type: number; readonly streamId: number; readonly code: number | null }[] = []
  #bytes = Buffer.alloc(0)
  isClosed = false
  /** The server has closed its end. */
  isEnded = false

  /** @param allowHalfOpen it does not close its own end when the server does */
  constructor(url: string, settings: Buffer = Buffer.alloc(0), allowHalfOpen = false) {
    this.socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen })
    this.socket.on('error', () => {})
    this.socket.on('close', () => {
      this.isClosed = true
    })
    this.socket.on('end', () => {
      this.isEnded = true
    })
    this.socket.on('data', (bytes) => this.#read(bytes))
    this.socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    this.socket.write(frame(SETTINGS, 0, 0, settings))
  }

  send(...frames: Buffer[]): void {
    this.socket.write(Buffer.concat(frames))
  }

  /** The code of its GOAWAY; `null`: none has come. */
  get goneBy(): number | null {
    return this.frames.findLast(({ type }) => type === GOAWAY)?.code ?? null
  }

  #read(bytes: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, bytes])
    while (this.#bytes.length >= 9) {
      const end = 9 + this.#bytes.readUIntBE(0, 3)
      if (this.#bytes.length < end) return
      const type = this.#bytes[3] ?? 0
      const at = type === RST_STREAM ? 9 : type === GOAWAY ? 13 : null
      const code = at === null ? null : this.#bytes.readUInt32BE(at)
      this.frames.push({ type, streamId: this.#bytes.readUInt32BE(5), code })
      this.#bytes = this.#bytes.subarray(end)
    }
  }
}
