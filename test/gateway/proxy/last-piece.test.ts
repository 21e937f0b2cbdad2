import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import type { CallLedger } from '../../../src/call/call-ports.ts'
import type { OpenCall } from '../../../src/call/call-record.ts'
import { Exchange } from '../../../src/gateway/proxy/exchange.ts'
import { dialectOf } from '../../providers/recordings/dialect-of.ts'
import { soon } from '../../support/patience.ts'
import { createLooseOptions } from '../bodies/loose-options.ts'

const OPEN: OpenCall = {
  callId: '0190c1d2-0000-7000-8000-000000000000',
  arrivedAtMs: 1_700_000_000_000,
  clientId: 'client',
  keyId: 'key',
  upstream: 'openai',
  provider: 'openai',
  method: 'POST',
  path: '/v1/chat/completions',
  requestedModel: 'gpt-4o',
  webSocket: false,
}
const TEXT = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'
const USAGE = 'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}\n\n'
const DONE = 'data: [DONE]\n\n'

/** Each write to the client's connection, as one text. */
class Wire extends Socket {
  readonly writes: string[] = []
  override _write(bytes: Buffer | string, _encoding: BufferEncoding, done: () => void): void {
    this.writes.push(bytes.toString('latin1'))
    done()
  }
  override _writev(chunks: { chunk: Buffer | string }[], done: (error?: Error | null) => void): void {
    this.writes.push(chunks.map(({ chunk }) => chunk.toString('latin1')).join(''))
    done()
  }
}

/**
 * A streamed call whose answer has begun.
 *
 * @param failure The journal's, as it writes the record.
 */
function begunCall(failure: Error | null = null) {
  const loose = createLooseOptions()
  const close: CallLedger['close'] = (_record, onWritten) => queueMicrotask(() => onWritten(failure, 0))
  const services = failure === null ? loose : { ...loose, ledger: { ...loose.ledger, close } }
  const request = new IncomingMessage(new Socket())
  request.httpVersionMajor = 1
  request.httpVersionMinor = 1
  request.complete = true
  const wire = new Wire()
  const response = new ServerResponse(request)
  response.assignSocket(wire)
  const call = new Exchange(services, {
    call: OPEN,
    request: { method: 'POST', path: OPEN.path, model: 'gpt-4o', stream: true },
    client: { clientName: 'client' },
    arrivedAt: performance.now(),
    dialect: dialectOf('openai', 'POST', OPEN.path),
    requestBody: null,
    requestBytes: 0,
    upperUse: null,
    ownsOrigins: false,
    errorShape: () => 'openai',
    hasOurCredential: false,
    response,
    stripUsageEvent: false,
    limits: null,
    rates: null,
    onEnd: () => {},
  })
  const controller = {
    aborted: false,
    paused: false,
    isWhole: false,
    reason: null,
    rawHeaders: ['content-type', 'text/event-stream'],
    pause: () => {},
    resume: () => {},
    abort: (error: Error) => call.onResponseError(controller, error),
  }
  call.onRequestStart(controller)
  call.onResponseStart(controller, 200, { 'content-type': 'text/event-stream' }, 'OK')
  const push = (text: string, isWhole = false) => {
    controller.isWhole = isWhole
    call.onResponseData(controller, Buffer.from(text))
  }
  return { call, controller, push, wire, response, records: services.records }
}

const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`

test('the last piece of a stream and its end are one write, after the record, with the frames of two', async () => {
  const { call, controller, push, wire, response, records } = begunCall()
  push(TEXT)
  push(USAGE)
  await soon(() => wire.writes.join('').includes('usage'))
  const before = wire.writes.length
  push(DONE, true)
  expect(wire.writes).toHaveLength(before)
  call.onResponseEnd(controller, null)
  await soon(() => response.writableFinished)
  expect(wire.writes.slice(before)).toEqual([`${chunk(DONE)}0\r\n\r\n`])
  expect(records.size).toBe(1)
})

test('a stream in one read is its head, its piece and its end, with the frames of each', async () => {
  const { call, controller, push, wire, response } = begunCall()
  push(TEXT + USAGE + DONE, true)
  call.onResponseEnd(controller, null)
  await soon(() => response.writableFinished)
  expect(wire.writes.join('')).toMatch(/^HTTP\/1.1 200 OK\r\n/)
  expect(wire.writes.join('').split('\r\n\r\n').slice(1).join('\r\n\r\n')).toBe(
    `${chunk(TEXT + USAGE + DONE)}0\r\n\r\n`,
  )
})

test('the last piece waits for no estimate', async () => {
  const { call, controller, push, wire, response } = begunCall()
  push(TEXT)
  await soon(() => wire.writes.join('').includes(TEXT))
  push(DONE, true)
  call.onResponseEnd(controller, null)
  expect(wire.writes.join('')).toContain(chunk(DONE))
  expect(response.writableEnded).toBe(false)
})

test('a client gets the last piece of a stream that breaks off behind it', async () => {
  const { call, controller, push, wire } = begunCall()
  push(TEXT)
  await soon(() => wire.writes.join('').includes(TEXT))
  push(DONE, true)
  call.onResponseError(controller, new Error('broken off'))
  await soon(() => wire.destroyed)
  expect(wire.writes.join('').endsWith(chunk(TEXT) + chunk(DONE))).toBe(true)
})

test('a stream whose record is not written is cut before its end, and so is never whole', async () => {
  const { call, controller, push, wire, response } = begunCall(new Error('the disk is full'))
  push(TEXT)
  push(USAGE + DONE, true)
  call.onResponseEnd(controller, null)
  await soon(() => wire.destroyed || response.writableFinished)
  expect(wire.writes.join('')).not.toContain('0\r\n\r\n')
  expect(wire.destroyed).toBe(true)
})
