import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { showProgress } from '../../src/cli/run.ts'
import { writeParts } from '../../src/cli/write-text.ts'
import type { TextPiece } from '../../src/operations/long-text.ts'

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-export-parts-'))
})
afterEach(() => {
  vi.useRealTimers()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function* parts(broken: boolean, ...days: string[]): AsyncGenerator<TextPiece> {
  yield { where: null, text: 'header\n', rows: 0 }
  for (const day of days) {
    yield { where: day, text: `${day} a\n`, rows: 1 }
    yield { where: day, text: `${day} ü\n`, rows: 1 }
  }
  if (broken) throw new Error('the connection broke')
}

test('an export that breaks keeps the days that are whole under another name, and not a row of the rest', async () => {
  const file = join(folder, 'usage.csv')
  await expect(writeParts(file, parts(true, '2026-03-01', '2026-03-02', '2026-03-03'))).rejects.toThrow(
    'the connection broke',
  )
  expect(await readdir(folder)).toEqual(['usage.csv.partial'])
  expect(await readFile(`${file}.partial`, 'utf8')).toBe(
    'header\n2026-03-01 a\n2026-03-01 ü\n2026-03-02 a\n2026-03-02 ü\n',
  )
  expect(await writeParts(file, parts(false, '2026-03-01'))).toBe(2)
  expect(await readdir(folder)).toEqual(['usage.csv'])
})

test('one that breaks on its first day leaves nothing', async () => {
  const file = join(folder, 'first.csv')
  await expect(writeParts(file, parts(true, '2026-03-01'))).rejects.toThrow()
  expect((await readdir(folder)).filter((name) => name.startsWith('first'))).toEqual([])
})

test('progress is a line every two seconds, with the speed since the line before', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const lines: string[] = []
  const progress = showProgress('rows', (line) => lines.push(line))
  progress.at('2026-03-01', 500)
  vi.advanceTimersByTime(2_000)
  progress.at('2026-03-01', 1_000)
  progress.at('2026-03-01', 2_000)
  vi.advanceTimersByTime(4_000)
  progress.at('2026-03-02', 9_000)
  expect(lines).toEqual(['2026-03-01: 1000 rows, 500 rows/s\n', '2026-03-02: 9000 rows, 2000 rows/s\n'])
})
