import { expect, test } from 'vitest'
import { findMemoryFolder, type Memory } from '../support/temporary-folder.ts'

const GIB = 1024 ** 3
const roomy: Memory = {
  mounts: '/dev/sda / ext4 rw 0 0\ntmpfs /dev/shm tmpfs rw,nosuid,nodev 0 0\n',
  folderBytes: 2 * GIB,
  freeBytes: 4 * GIB,
}

test('temporary files of the tests are in memory where the machine has room for them', () => {
  expect(findMemoryFolder(roomy)).toBe('/dev/shm')
})

test.each<[string, Partial<Memory>]>([
  ['has no such folder', { mounts: '/dev/sda / ext4 rw 0 0\n' }],
  ['runs no program from there', { mounts: 'shm /dev/shm tmpfs rw,noexec 0 0\n' }],
  ['lets nothing be written there', { mounts: 'shm /dev/shm tmpfs ro 0 0\n' }],
  ['has a small one, as containers do', { folderBytes: 64 * 1024 ** 2 }],
  ['has little memory', { freeBytes: 3 * GIB }],
])('they are on its disk where it %s', (_, lack) => {
  expect(findMemoryFolder({ ...roomy, ...lack })).toBeNull()
})
