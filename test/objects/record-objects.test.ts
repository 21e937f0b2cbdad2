import { expect, test } from 'vitest'
import { objectsOfInterrupted } from '../../src/objects/record-objects.ts'
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
