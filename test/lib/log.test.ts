import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

/** In blocks of 512 or 1,024 bytes, as shells differ. */
const FILE_LIMIT = 64
const SCRIPT = `
  import { ftruncateSync } from 'node:fs'
  import { createLog } from './src/lib/log.ts'
  const log = createLog('info', 'test')
  for (let line = 0; line < 30_000; line += 1) log.info({ line }, 'x'.repeat(100))
  ftruncateSync(1, 0)
  for (let line = 0; line < 10; line += 1) log.info({ line }, 'there is room')
`

test('a full disk under stdout ends no process, and lines are written again when there is room', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-log-'))
  const file = join(folder, 'log')
  try {
    const command = `ulimit -f ${FILE_LIMIT}; exec "$0" --input-type=module-typescript -e "$1" >> "$2"`
    await promisify(execFile)('sh', ['-c', command, process.execPath, SCRIPT, file], {
      killSignal: 'SIGKILL',
    })
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n')
    expect(lines.filter((line) => line.includes('there is room'))).toHaveLength(10)
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ level: 30, line: 9, msg: 'there is room' })
  } finally {
    await rm(folder, { recursive: true })
  }
})
