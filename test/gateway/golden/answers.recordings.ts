import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { loadRecordings } from '../../providers/recordings/recordings.ts'
import { clock } from './call-world.ts'
import { answer, answerLine, knownLines } from './digests.ts'

vi.mock('../../../src/gateway/estimation/estimate-thread.ts', () => import('./same-thread.ts'))

beforeAll(() => {
  vi.spyOn(performance, 'now').mockImplementation(() => clock.now)
})
afterAll(() => {
  vi.restoreAllMocks()
})

test('recorded answers leave the records they always left, in five ways', async () => {
  const recordings = loadRecordings().filter(({ meta }) => meta.wire !== 'websocket-jsonl')
  const file = 'recorded-answers.golden.txt'
  const { text, known } = await knownLines(
    file,
    recordings,
    async ({ id, provider, path, headers, body, meta }) => {
      const { method, status } = meta
      const model = meta.request_model ?? null
      return [await answerLine(id, answer(provider, path, { method, model, headers, body, status }))]
    },
  )
  console.log(`${recordings.length} recorded answers, ${known} with a golden line`)
  expect(known).toBeGreaterThan(0)
  await expect(text).toMatchFileSnapshot(file)
}, 120_000)
