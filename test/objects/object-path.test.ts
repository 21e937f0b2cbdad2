import { expect, test } from 'vitest'
import { canonicalPath } from '../../src/domain/canonical-path.ts'
import { namesIn, readObjectPath } from '../../src/objects/object-path.ts'
import { entryOf, PROVIDERS } from '../../src/providers/registry.ts'

test.each([
  ['/v1/files', [], 'file'],
  ['/api/v1/tasks', [], 'async_completion'],
  ['/api/v1/tasks/t-1/cancel', ['t-1'], null],
  ['/tasks/t-1', [], null],
  ['/v1/tasks', [], 'async_completion'],
  ['/other/v1/tasks/t-1', [], null],
  ['/v1/files/file-1', ['file-1'], null],
  ['/v1/FILES/File-1/content', ['File-1'], null],
  ['/openai/v1/vector_stores/vs_1/files/file-1', ['vs_1', 'file-1'], null],
  ['/v1/vector_stores/vs_1/files', ['vs_1'], 'file'],
  ['/v1/messages/batches/msgbatch_1/results', ['msgbatch_1'], null],
  ['/v1/messages', [], null],
  ['/v1/fine_tuning/jobs/ftjob-1/events', ['ftjob-1'], null],
  ['/v1/batch/jobs/7d1f', ['7d1f'], null],
  ['/v1beta/batches/1:cancel', ['1:cancel', '1'], null],
  ['/v1beta/tunedModels/t-1/operations/o-1', ['t-1', 'o-1'], null],
  ['/v1beta/models/veo-3:predictLongRunning', [], null],
  ['/v1beta/models/veo-3/operations/o-1', ['o-1'], null],
  ['/v1/videos/generations', [], 'video'],
  ['/v1/threads/runs', [], 'thread'],
  ['/v1/responses/compact', [], 'response'],
  ['/v1/chat/completions', [], 'completion'],
  ['/v1/chat/completions/chatcmpl-1', ['chatcmpl-1'], null],
  ['/openai/deployments/gpt-4o/chat/completions', [], 'completion'],
  ['/async-invoke/arn:aws:bedrock:us-east-1:1:async-invoke/x', ['x'], null],
  ['/model-invocation-job/arn:aws:bedrock:us-east-1:1:model-invocation-job/x/stop', ['x'], null],
  ['/model-invocation-job/x', ['x'], null],
  ['/v1/anything/file-abc123', ['file-abc123'], null],
  ['/v1/video-generation/synthesis', [], null],
] as const)('%s names %j and ends in the collection %s', (path, ids, collection) => {
  const read = readObjectPath(canonicalPath(path) ?? '')
  expect(read.names.map(({ id }) => id)).toEqual(ids)
  expect(read.collection).toBe(collection)
})

test.each([
  ['files/abc', ['abc']],
  ['https://generativelanguage.googleapis.com/v1beta/files/abc', ['abc']],
  ['a title/with files/in it', []],
  ['abc', []],
])('%s is the name of %j', (text, ids) => {
  expect(namesIn(text).map(({ id }) => id)).toEqual(ids)
})

test('a collection holds one kind of objects, whichever provider’s entry names it', () => {
  const kinds = new Map<string, string>()
  for (const provider of PROVIDERS)
    for (const [path, kind] of Object.entries(entryOf(provider).collections ?? {})) {
      expect(path).toMatch(/^(?:\/?(?:api\/)?v1(?:beta)?\/)?[a-z_-]+(?:\/(?:[a-z_-]+|\*))*$/)
      expect(kinds.get(path) ?? kind).toBe(kind)
      kinds.set(path, kind)
      const whole = path.startsWith('/') ? path : `/v1/${path}`
      expect(readObjectPath(whole).collection).toBe(kind)
    }
  expect(kinds.size).toBeGreaterThan(30)
})
