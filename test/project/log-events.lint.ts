import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LOG_EVENTS } from '../../src/lib/log-events.ts'

const files = ['src', 'workers'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(folder, file)),
)
const texts = files
  .filter((file) => !file.endsWith('log-events.ts'))
  .map((file) => [file, readFileSync(file, 'utf8')] as const)

// A call's own line at `debug` is a record, not an event.
const LINE = /\blog\.(?:fatal|error|warn|info)\(\s*(?!\s|\{\s*event:)/g

test('every line of the log begins with the code of its event', () => {
  const without = texts.flatMap(([file, text]) =>
    [...text.matchAll(LINE)].map(({ index }) => `${file}:${text.slice(0, index).split('\n').length}`),
  )
  expect(without).toEqual([])
})

test('every code of the table stands in some line of the log', () => {
  const all = texts.map(([, text]) => text).join('\n')
  expect(Object.keys(LOG_EVENTS).filter((code) => !all.includes(`'${code}'`))).toEqual([])
})
