import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import type { CallLedger } from '../../../src/call/call-ports.ts'
import type { OpenCall } from '../../../src/call/call-record.ts'
import { NO_USAGE } from '../../../src/call/usage.ts'
import { Delivery } from '../../../src/gateway/proxy/delivery.ts'
import { Exchange, type ExchangeContext } from '../../../src/gateway/proxy/exchange.ts'
import { dialectOf } from '../../providers/recordings/dialect-of.ts'
import { heldMemory } from '../../support/memory.ts'
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

interface Written {
  readonly chunk: Buffer | string
  readonly encoding: BufferEncoding
}

/** Each write to the client's connection, as one text of its bytes. */
class Wire extends Socket {
  readonly writes: string[] = []
  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: () => void): void {
    this._writev([{ chunk, encoding }], done)
  }
  override _writev(written: Written[], done: (error?: Error | null) => void): void {
    const bytes = written.map(({ chunk, encoding }) =>
      typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk,
    )
    this.writes.push(Buffer.concat(bytes).toString('latin1'))
    done()
  }
}

/** A streamed call that is about to go upstream. @param failure The journal's, as it writes the record. */
function openedCall(failure: Error | null = null) {
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
  const context: ExchangeContext = {
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
  }
  return { services, context, wire, response }
}

/** One whose answer has begun. */
function begunCall(failure: Error | null = null) {
  const { services, context, wire, response } = openedCall(failure)
  const call = new Exchange(services, context)
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

const NO_CONTROL = {
  aborted: false,
  paused: false,
  isWhole: false,
  reason: null,
  rawHeaders: ['content-type', 'text/event-stream'],
  pause: () => {},
  resume: () => {},
  abort: (error: Error) => {
    throw error
  },
}

/** The pieces of a body in chunks, as one text. */
function bodyOf(wire: Wire): string {
  const [, ...chunks] = wire.writes.join('').split(/\r\n\r\n([\s\S]*)/)
  return (chunks[0] ?? '').replace(/([0-9a-f]+)\r\n((?:(?!\r\n)[\s\S])*)\r\n/g, '$2')
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

test('pieces that are passed on once the whole has come keep their order, and none is lost', async () => {
  const { context, wire, response } = openedCall()
  const delivery = new Delivery(context)
  delivery.begin({ ...NO_CONTROL, isWhole: true }, 200, 'OK', { 'content-type': 'text/event-stream' })
  for (const piece of [TEXT, USAGE, DONE]) delivery.pass(Buffer.from(piece), true)
  delivery.endBody(null)
  delivery.finish(null, null, { costPico: null, usage: NO_USAGE })
  await soon(() => response.writableFinished)
  expect(bodyOf(wire)).toBe(TEXT + USAGE + DONE)
})

test.each([
  false,
  true,
])('what is held goes out behind the last piece, and the cost behind both: %s', async (asksCost) => {
  const { context, wire, response } = openedCall()
  const controller = { ...NO_CONTROL, isWhole: false }
  const delivery = new Delivery({ ...context, showsCost: asksCost, commentsCost: asksCost })
  delivery.begin(controller, 200, 'OK', { 'content-type': 'text/event-stream' })
  delivery.pass(Buffer.from(TEXT), true)
  controller.isWhole = true
  delivery.pass(Buffer.from('data: {}\n\n'), true)
  delivery.hold()
  delivery.pass(Buffer.from(DONE), true)
  delivery.endBody(null)
  delivery.finish(null, null, { costPico: '1', usage: NO_USAGE })
  await soon(() => response.writableFinished)
  const body = bodyOf(wire)
  const behind = `${TEXT}data: {}\n\n${DONE}`
  expect(body.slice(0, behind.length)).toBe(behind)
  expect(body.slice(behind.length)).toMatch(asksCost ? /^: / : /^$/)
})

test.each([
  false,
  true,
])('a head keeps its bytes, whenever the first piece comes: late %s', async (isLate) => {
  const { context, wire } = openedCall()
  const rawHeaders = ['content-type', 'text/event-stream', 'x-name', 'caf\xe9']
  const delivery = new Delivery(context)
  delivery.begin({ ...NO_CONTROL, rawHeaders }, 200, 'Ok\xe9', { 'content-type': 'text/event-stream' })
  if (isLate) await soon(() => wire.writes.length > 0)
  delivery.pass(Buffer.from(TEXT), true)
  await soon(() => wire.writes.join('').includes(TEXT))
  expect(wire.writes.join('')).toMatch(/^HTTP\/1.1 200 Ok\xe9\r\n(?:.*\r\n)*x-name: caf\xe9\r\n/)
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

test('a call that is over keeps nothing of its answer', async () => {
  const over: Delivery[] = []
  const before = heldMemory().arrayBuffers
  for (let times = 0; times < 50; times += 1) {
    const { context, response } = openedCall()
    const delivery = new Delivery(context)
    const body = Buffer.alloc(64 * 1024, 'a')
    delivery.begin(NO_CONTROL, 200, 'OK', { 'content-length': `${body.length}` })
    delivery.pass(body, false)
    delivery.finish(null, null, { costPico: null, usage: NO_USAGE })
    await soon(() => response.writableFinished)
    over.push(delivery)
  }
  expect(heldMemory().arrayBuffers - before).toBeLessThan((over.length * 64 * 1024) / 4)
  expect(over).toHaveLength(50)
})
