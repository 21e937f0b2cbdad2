import { expect, test } from 'vitest'
import type { CallLedger, KeptReserve } from '../../src/call/call-ports.ts'
import type { CallRecord } from '../../src/call/call-record.ts'
import type { ObjectEvent } from '../../src/call/object-event.ts'
import type { Objects } from '../../src/objects/objects.ts'
import { objectsOfInterrupted, recordObjects } from '../../src/objects/record-objects.ts'
import { aRecord } from '../rollup/records.ts'

test.each([
  ['POST', '/v1/responses', 'resp_1', [{ id: 'resp_1', kind: 'response', is: 'created', job: false }]],
  ['POST', '/v1beta/interactions', 'i1', [{ id: 'i1', kind: 'interaction', is: 'created', job: false }]],
  ['GET', '/v1/responses/resp_1', 'resp_1', null],
  ['POST', '/v1/responses/resp_1/cancel', 'resp_1', null],
  ['POST', '/v1/chat/completions', 'chatcmpl-1', null],
  ['POST', '/v1/responses', null, null],
] as const)('a crash-cut %s %s that reported the id %s made %j', (method, path, responseId, events) => {
  expect(objectsOfInterrupted(aRecord({ method, path, responseId, outcome: 'interrupted' }))).toEqual(events)
})

test.each([
  ['openrouter', [{ id: 'gen-1', kind: 'completion', is: 'created', job: false }]],
  ['openai', null],
] as const)('a crash-cut chat at %s, whose answer has an id, made %j', (provider, events) => {
  const record = aRecord({ method: 'POST', path: '/v1/chat/completions', provider, answerId: 'gen-1' })
  expect(objectsOfInterrupted({ ...record, responseId: null, outcome: 'interrupted' })).toEqual(events)
})

test.each([
  ['xai', '/v1/chat/c%6Fmpletions', [{ id: 'f15c', kind: 'completion', is: 'created', job: true }]],
  ['xai', '/v1/videos/generations', null],
  ['openai', '/v1/chat/completions', null],
] as const)('a crash-cut call at %s to %s, whose answer names the request alone, made %j', (provider, path, events) => {
  const record = aRecord({ method: 'POST', path, provider, responseId: 'f15c', usageSource: 'none' })
  expect(objectsOfInterrupted({ ...record, outcome: 'interrupted' })).toEqual(events)
})

const JOB: ObjectEvent = { id: 'batch_1', kind: 'batch', is: 'created', job: true }
const FILE: ObjectEvent = { id: 'file_1', kind: 'file', is: 'created', job: false }

test.each<
  [
    string,
    Partial<CallRecord>,
    readonly ObjectEvent[] | null,
    bigint,
    Partial<CallRecord>,
    KeptReserve | undefined,
  ]
>([
  ['without a cost', { costPico: null }, null, 5n, { chargedPico: '5' }, { pico: 5n, by: 'call' }],
  [
    'without a cost that made a file',
    { costPico: null },
    [FILE],
    5n,
    { chargedPico: '5', objects: [FILE] },
    { pico: 5n, by: 'call' },
  ],
  [
    'without a cost that made a job',
    { costPico: null },
    [JOB],
    5n,
    { objects: [{ ...JOB, reservedPico: '5' }] },
    { pico: 5n, by: 'job' },
  ],
  ['that reserved nothing', { costPico: null }, null, 0n, {}, undefined],
  ['with a cost', { costPico: '7' }, [FILE], 5n, { objects: [FILE] }, undefined],
  ['that used nothing', { costPico: '0' }, null, 5n, {}, undefined],
])('the record of a call %s says what budgets hold on', (_name, changes, events, reserved, added, expected) => {
  const record = aRecord(changes)
  let written: CallRecord | undefined
  let kept: KeptReserve | undefined
  const ledger: Pick<CallLedger, 'close'> = {
    close(closed, onWritten) {
      written = closed
      onWritten(null, 1)
    },
  }
  const objects: Pick<Objects, 'take'> = { take: () => events }
  recordObjects(ledger as CallLedger, objects as Objects).close(
    record,
    (_error, _sequence, holding) => {
      kept = holding
    },
    reserved,
  )
  expect(written).toEqual({ ...record, ...added })
  expect(kept).toEqual(expected)
})
