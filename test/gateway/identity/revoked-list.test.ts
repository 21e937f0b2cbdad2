import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import { RevokedList } from '../../../src/gateway/identity/revoked-list.ts'
import { SILENT_LOG } from '../../../src/lib/logger.ts'
import { soon } from '../../support/patience.ts'

const folder = mkdtempSync(join(tmpdir(), 'tallygate-test-revoked-'))
const path = join(folder, 'revoked')
const lists: RevokedList[] = []

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  writeFileSync(path, '# leavers\n')
})
afterEach(async () => {
  await Promise.all(lists.splice(0).map((list) => list.stop()))
  vi.useRealTimers()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function openList(): RevokedList {
  const list = new RevokedList(path, SILENT_LOG)
  lists.push(list)
  return list
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

test('a list that is written over while it is read is read to its end, not to the length that it had', async () => {
  const opened = Array.from({ length: 50 }, openList)
  const halfRead = () => opened.filter((list) => list.has('carol', null) && !list.has('dave', 'lost')).length
  for (let round = 0; round < 50; round += 1) {
    writeFileSync(path, round % 2 === 0 ? 'sub carol\njti lost\n' : '# leavers\n')
    await turn()
    expect(halfRead()).toBe(0)
  }
})

test('a subject that one reading lacks is let in when the next one lacks it too: an editor empties the file first', async () => {
  writeFileSync(path, 'sub carol\n')
  const list = openList()
  writeFileSync(path, 'sub dave\n')
  await soon(() => {
    vi.advanceTimersByTime(2_000)
    return list.has('dave', null)
  })
  expect(list.has('carol', null)).toBe(true)
  await soon(() => {
    vi.advanceTimersByTime(2_000)
    return !list.has('carol', null)
  })
  expect(list.has('dave', null)).toBe(true)
})
