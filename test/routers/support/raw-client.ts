import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { dial, parseResponse } from '../../gateway/raw-http.ts'

/** An answer as far as the tables ask about it. */
export interface Answer {
  /** `null`: the connection ended, or 10 s passed, without one. */
  readonly status: number | null
  /** Of the call's record; `null` where the gateway answered itself. */
  readonly callId: string | null
  /** All that was received. */
  readonly text: string
}

/** A request whose target goes out in the bytes it is written in, one for each character. */
export interface RawRequest {
  readonly method: string
  readonly target: string
  readonly headers: readonly string[]
  readonly body: string
}

const PATIENCE_MS = 10_000

/** Sends it on a connection of its own and reads that to its end. */
export async function send(url: string, request: RawRequest): Promise<Answer> {
  const socket = dial(url)
  socket.write(bytesOf(request))
  return answerOf(await read(socket, () => {}))
}

/**
 * Starts a handshake as a WebSocket client does. Where it is accepted, asks for a response, reads until it is
 * done, and closes properly.
 */
export async function converse(url: string, target: string, headers: readonly string[]): Promise<Answer> {
  const socket = dial(url)
  const upgrade = [
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
  ]
  const lines = [
    `GET ${target} HTTP/1.1`,
    'Host: gateway.test',
    'Connection: Upgrade',
    ...upgrade,
    ...headers,
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  let asked = false
  let closed = false
  const bytes = await read(socket, (text) => {
    if (!text.startsWith('HTTP/1.1 101')) {
      // No session: the end of the connection was not asked for.
      if (isWhole(text)) socket.end()
      return
    }
    if (!asked) {
      asked = true
      socket.write(frame(0x1, Buffer.from('{"type":"response.create"}')))
    }
    if (!closed && text.includes('"response.done"') && text.includes('"output_tokens":500')) {
      closed = true
      socket.write(frame(0x8, Buffer.from([0x03, 0xe8])))
    }
  })
  return answerOf(bytes)
}

function bytesOf({ method, target, headers, body }: RawRequest): Buffer {
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: gateway.test', 'Connection: close', ...headers]
  if (body !== '') lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`)
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body)])
}

/** Whether an answer is there to its last byte, as far as its head tells where that is. */
function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return false
  const head = text.slice(0, end)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length !== undefined) return text.length >= end + 4 + Number(length)
  return /\r\ntransfer-encoding: *chunked/i.test(head) && text.endsWith('\r\n0\r\n\r\n')
}

/** All bytes until the connection's end; `onText` sees what is there, at each piece. */
function read(socket: Socket, onText: (text: string) => void): Promise<Buffer> {
  let bytes = Buffer.alloc(0)
  return new Promise((resolve) => {
    const timer = setTimeout(() => socket.destroy(), PATIENCE_MS)
    socket.on('data', (chunk) => {
      bytes = Buffer.concat([bytes, chunk])
      onText(bytes.toString('latin1'))
    })
    socket.on('end', () => socket.end())
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(bytes)
    })
  })
}

function answerOf(bytes: Buffer): Answer {
  const { status, lines } = parseResponse(bytes)
  const callId = lines.map((line) => /^x-tallygate-call-id: *(\S+)$/i.exec(line)?.[1]).find(Boolean)
  return {
    status: Number.isInteger(status) ? status : null,
    callId: callId ?? null,
    text: bytes.toString('latin1'),
  }
}

/** A client's frame of less than 126 bytes, masked with zeros, which leave it as it is. */
function frame(opcode: number, payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | payload.length, 0, 0, 0, 0]), payload])
}
