import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import type { CallLedger } from '../../../src/call/call-ports.ts'
import type { OpenCall } from '../../../src/call/call-record.ts'
import { Exchange } from '../../../src/gateway/proxy/exchange.ts'
import { Unattended } from '../../../src/gateway/proxy/unattended.ts'
import { NO_METRICS } from '../../support/no-metrics.ts'

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

test('a call whose client leaves while the connection upstream is being made is not counted', async () => {
  const calls: string[] = []
  const ledger: CallLedger = {
    canTakeCalls: true,
    open: () => calls.push('open'),
    saveSnapshot: () => calls.push('saveSnapshot'),
    saveSnapshotNow: () => calls.push('saveSnapshotNow'),
    close: () => calls.push('close'),
    discard: ({ callId }) => calls.push(`discard ${callId}`),
  }
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  const call = new Exchange(
    {
      ledger,
      pricing: {
        priceCall: () => ({ kind: 'unpriced', reason: 'no_price' }),
        quoteCall: () => ({ kind: 'unpriced', reason: 'no_price' }),
        knowsModel: () => false,
      },
      observer: NO_METRICS,
      onClientAbort: 'cancel',
      unattended: new Unattended(),
    },
    {
      call: OPEN,
      request: { method: 'POST', path: OPEN.path, model: 'gpt-4o', stream: null },
      client: { clientName: 'client' },
      arrivedAt: performance.now(),
      dialect: null,
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
      onEnd: () => calls.push('ended'),
    },
  )

  call.clientLeft()
  // As the connection's client does it: an abort reports the error at once, and then nothing is written.
  const controller = {
    aborted: false,
    paused: false,
    isWhole: false,
    reason: null,
    rawHeaders: [],
    pause: () => {},
    resume: () => {},
    abort: (error: Error) => call.onResponseError(controller, error),
  }
  call.onRequestStart(controller)

  expect(calls).toEqual([`discard ${OPEN.callId}`, 'ended'])
  expect(response.headersSent).toBe(false)
})
