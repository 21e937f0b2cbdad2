import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeArchiveFile } from '../../src/ledger/operations/archive-file.ts'

let folder: string
let file: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-archive-'))
  file = join(folder, 'ledger.backup')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** A backup of two parts, which waits between them. */
function writing(text: string) {
  const begun = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const done = writeArchiveFile(file, async (write) => {
    await write(Buffer.from(text))
    begun.resolve()
    await goOn.promise
    await write(Buffer.from(text))
    return text
  })
  done.catch(() => {})
  return { begun: begun.promise, goOn: goOn.resolve, done }
}

const found = async () => gunzipSync(await readFile(file)).toString()

test('of two backups into one file the one that says it is made is whole, and the other says so', async () => {
  const first = writing('first')
  await first.begun
  const second = writing('second')
  await second.begun
  first.goOn()
  await expect(first.done).rejects.toThrow('ledger.backup is not written: another backup began to write it')
  expect(await readdir(folder)).toEqual(['ledger.backup.part'])
  second.goOn()
  expect(await second.done).toBe('second')
  expect(await found()).toBe('secondsecond')
  expect(await readdir(folder)).toEqual(['ledger.backup'])
})

test('a backup that fails leaves the one before, and no part of it', async () => {
  const before = writing('before')
  before.goOn()
  await before.done
  await expect(writeArchiveFile(file, () => Promise.reject(new Error('away')))).rejects.toThrow('away')
  expect(await found()).toBe('beforebefore')
  expect(await readdir(folder)).toEqual(['ledger.backup'])
  await expect(writeArchiveFile(join(folder, 'none', 'x'), async () => {})).rejects.toThrow(
    /none\/x cannot be written: .*ENOENT/,
  )
})
