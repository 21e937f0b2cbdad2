import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { loadRecordings } from '../../providers/recordings/recordings.ts'
import { clock } from './call-world.ts'
import { knownLines, sessionLines } from './digests.ts'

vi.mock('../../../src/gateway/estimation/estimate-thread.ts', () => import('./same-thread.ts'))

beforeAll(() => {
  vi.spyOn(performance, 'now').mockImplementation(() => clock.now)
})
afterAll(() => {
  vi.restoreAllMocks()
})

const SAID = Buffer.from('{"type":"response.create","response":{"instructions":"say something"}}')
/** Without it nothing goes upstream at Google's. */
const SETUP = Buffer.from('{"setup":{"model":"models/gemini-live-2.5-flash-preview"}}')

test('recorded sessions leave the records they always left, however they end', async () => {
  const recordings = loadRecordings().filter(({ meta }) => meta.wire === 'websocket-jsonl')
  const file = 'recorded-sessions.golden.txt'
  const { text, known } = await knownLines(file, recordings, async ({ id, provider, path, body }) => {
    const lines = body.toString('utf8').split('\n')
    const messages = lines.filter((line) => line !== '').map((line) => Buffer.from(line))
    const said = provider === 'gemini' ? SETUP : SAID
    return await sessionLines(id, { provider, path, messages, said })
  })
  console.log(`${recordings.length} recorded sessions, ${known} with golden lines`)
  expect(known).toBeGreaterThan(0)
  await expect(text).toMatchFileSnapshot(file)
}, 120_000)
