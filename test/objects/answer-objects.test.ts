import { expect, test } from 'vitest'
import type { ObjectKind } from '../../src/call/object-event.ts'
import { AnswerReader } from '../../src/objects/answer-objects.ts'

function namesIn(kind: ObjectKind, text: string, chunkBytes = text.length): readonly string[] {
  const reader = new AnswerReader()
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += chunkBytes) reader.push(bytes.subarray(at, at + chunkBytes))
  return reader.objects.names(kind).map((name) => `${name.kind} ${name.id}`)
}

test.each([
  ['vector_store', { id: 'vs_mine1', name: 'vector_stores/vs_operators' }, ['vector_store vs_mine1']],
  ['batch', { id: 'batch_mine1', metadata: { name: 'files/file-operators' } }, ['batch batch_mine1']],
  [
    'upload',
    { id: 'upload_1', file: { id: 'file-1', name: 'files/file-2' } },
    ['upload upload_1', 'file file-1'],
  ],
  // Z.ai's, to which its client may give an id of the request.
  ['async_completion', { id: '8353', request_id: 'of-others' }, ['async_completion 8353']],
] as const)('a %s that its client named like another object claims only itself', (kind, document, names) => {
  expect(namesIn(kind, JSON.stringify(document))).toEqual(names)
})

test.each([
  ['cached_content', { name: 'cachedContents/c1' }, ['cached_content c1']],
  ['batch', { name: 'batches/b1', metadata: { name: 'batches/b1' } }, ['batch b1', 'batch b1']],
  ['file', { file: { name: 'files/f1' } }, ['file f1']],
  ['prediction', { invocationArn: 'arn:aws:bedrock:eu:1:async-invoke/x1' }, ['prediction x1']],
] as const)('a %s without an id is what its name says', (kind, document, names) => {
  expect(namesIn(kind, JSON.stringify(document))).toEqual(names)
})

const created = (instructions: string) =>
  `event: response.created\ndata: ${JSON.stringify({ type: 'response.created', response: { instructions, id: 'resp_1', status: 'queued' } })}\n\n`

test.each([1, 7, 1_000])('a stream of chunks of %i bytes tells what its first event made', (chunkBytes) => {
  const text = `: hello\n\n${created('ü \r\n data: {"response":{"id":"resp_2"}}')}data: {"response":{"id":"resp_3"}}\n\n`
  expect(namesIn('response', text, chunkBytes)).toEqual(['response resp_1'])
})

test('a first event that repeats long instructions tells what it made', () => {
  const reader = new AnswerReader()
  for (const part of [
    created('x'.repeat(3_000_000)).slice(0, 2_000_000),
    created('x'.repeat(3_000_000)).slice(2_000_000),
  ]) {
    reader.push(Buffer.from(part))
  }
  expect(reader.objects).toMatchObject({ status: 'queued' })
  expect(reader.objects.names('response')).toEqual([{ kind: 'response', id: 'resp_1' }])
})

test('an answer that is cut has reported what it made until then', () => {
  const reader = new AnswerReader()
  reader.push(Buffer.from('{"id":"resp_1","status":"queued","instructions":"and '))
  expect(reader.objects.names('response')).toEqual([{ kind: 'response', id: 'resp_1' }])
})

test.each([
  { tunedModel: 'tunedModels/of-others' },
  { tunedModel: 'files/file-mine' },
  { output: { responsesFile: 'files/file-mine' } },
])('a job leaves nothing that its client wrote into its metadata: %j', (metadata) => {
  const reader = new AnswerReader()
  reader.push(
    Buffer.from(JSON.stringify({ id: 'batch_1', status: 'completed', output_file_id: 'file-1', metadata })),
  )
  expect(reader.objects.left).toEqual([{ kind: 'file', id: 'file-1' }])
})

test.each([
  [{}, {}, 'in_progress'],
  [{ num_requests: 0, num_pending: 0 }, {}, 'in_progress'],
  [{ num_requests: 0, num_pending: 0 }, { cancel_by_xai_message: 'no such model' }, 'cancelled'],
  [
    { num_requests: 3, num_pending: 1, num_success: 2 },
    { cancel_time: '2026-11-27T03:00:00Z' },
    'in_progress',
  ],
  [{ num_requests: 3, num_pending: 0, num_success: 3 }, {}, 'completed'],
  [{ num_requests: '3', num_success: '2' }, {}, 'in_progress'],
  [{ num_requests: '3', num_success: '2', num_error: '1' }, {}, 'completed'],
])('a batch of xAI’s with the counts %j and %j is %s', (state, more, status) => {
  const reader = new AnswerReader()
  reader.push(Buffer.from(JSON.stringify({ batch_id: 'batch_1', name: 'batches/b2', state, ...more })))
  expect(reader.objects.status).toBe(status)
  expect(reader.objects.names('batch')).toEqual([{ kind: 'batch', id: 'batch_1' }])
})
