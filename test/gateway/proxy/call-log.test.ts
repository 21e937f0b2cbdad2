import { pino } from 'pino'
import { expect, test } from 'vitest'
import { logCalls } from '../../../src/gateway/recording/call-log.ts'
import { aRecord } from '../../rollup/records.ts'
import { NO_METRICS } from '../../support/no-metrics.ts'

test.each([
  'info',
  'debug',
] as const)('a call that cost more than one should is an error with a code in the log, at level %s', (level) => {
  const lines: { level: number; event?: string; callId?: string }[] = []
  const log = pino({ level }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const ended: string[] = []
  const observer = logCalls({ ...NO_METRICS, callEnded: ({ callId }) => void ended.push(callId) }, log)
  const usual = aRecord()
  const costly = aRecord({ suspect: true })
  observer.callEnded(usual)
  observer.callEnded(costly)
  expect(ended).toEqual([usual.callId, costly.callId])
  const errors = lines.filter((line) => line.level >= 50)
  expect(errors).toMatchObject([{ event: 'call.suspect_cost', callId: costly.callId }])
})

test('what goes wrong in a call has a code of its own in the log', () => {
  const lines: { event?: string }[] = []
  const observer = logCalls(
    NO_METRICS,
    pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) }),
  )
  const call = aRecord()
  observer.callUnmetered(call)
  observer.readingFailed('openai', new Error('no JSON'))
  observer.callFailed(call, new Error('no head'))
  expect(lines).toMatchObject([
    { event: 'call.unmetered', callId: call.callId },
    { event: 'call.unreadable', provider: 'openai' },
    { event: 'call.failed', callId: call.callId },
  ])
})
