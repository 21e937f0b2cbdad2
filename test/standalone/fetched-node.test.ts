import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

/** A project that was just installed, and an npm that gives what it is asked for, or nothing. */
let project: string

beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'tallygate-test-node-'))
  for (const folder of ['scripts', 'node_modules/.bin']) mkdirSync(join(project, folder), { recursive: true })
  copyFileSync('scripts/postinstall.mjs', join(project, 'scripts/postinstall.mjs'))
  writeFileSync(join(project, 'package.json'), '{ "config": { "node": "24.1.2" } }')
  writeFileSync(
    join(project, 'npm.cjs'),
    `const { appendFileSync, mkdirSync, writeFileSync } = require('node:fs')
const [wanted, prefix] = [process.argv.at(-1), process.argv.find((one) => one.startsWith('--prefix=')).slice(9)]
appendFileSync(${JSON.stringify(join(project, 'asked'))}, wanted + '\\n')
const folder = prefix + '/node_modules/' + wanted.split('@')[0] + '/bin'
mkdirSync(folder, { recursive: true })
writeFileSync(folder + '/node', '#!/bin/sh\\necho "fetched, and run with $1"\\n', { mode: 0o755 })
`,
  )
})

afterEach(() => rmSync(project, { recursive: true }))

/** What `npm install` runs last, on a Node of that version. */
function install(version: string) {
  const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`
  return spawnSync(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`, 'scripts/postinstall.mjs'],
    {
      cwd: project,
      env: { PATH: '/usr/bin:/bin', npm_execpath: join(project, 'npm.cjs') },
      encoding: 'utf8',
    },
  )
}

test('on a Node that is too old, the one that package.json names is fetched once, and found by npm’s scripts', () => {
  for (const _ of ['first', 'second']) {
    const { status, stdout, stderr } = install('20.1.0')
    expect([status, stderr]).toEqual([0, ''])
    expect(stdout).toContain('Node.js 24.1.2 is beside the project')
    expect(stdout).toMatch(/fetched, and run with .*postinstall\.mjs/)
  }
  expect(readFileSync(join(project, 'asked'), 'utf8')).toMatch(/^node-(?:bin-)?\w+-\w+@24\.1\.2\n$/)
  const link = join(project, 'node_modules/.bin/node')
  expect(readlinkSync(link)).toBe('../.cache/tallygate/node-24.1.2/node')
  expect(spawnSync(link, ['x'], { encoding: 'utf8' }).stdout).toBe('fetched, and run with x\n')
})

test('on one that is new enough nothing is fetched', () => {
  install('24.0.0')
  expect(() => readFileSync(join(project, 'asked'))).toThrow('ENOENT')
})
