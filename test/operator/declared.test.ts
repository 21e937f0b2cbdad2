import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { CONDITIONS } from '../../src/doctor/conditions.ts'
import { CLIENT_OPERATIONS, OPERATIONS } from '../../src/operator/chapters.ts'
import { entryOf, PROVIDERS } from '../../src/providers/registry.ts'

/** What the files that declare such a thing export, by name: those in whose text it stands. */
async function exported(declares: RegExp): Promise<readonly (readonly [string, unknown])[]> {
  const files = globSync('src/**/*.ts').filter((file) => declares.test(readFileSync(file, 'utf8')))
  const found = await Promise.all(files.map(async (file) => Object.entries(await import(resolve(file)))))
  return found.flat()
}

const isLike = (value: unknown, members: readonly string[]): value is { readonly name: string } =>
  typeof value === 'object' && value !== null && members.every((member) => member in value)

// One that no list has compiles, and is nowhere to be seen.
test('every operation that a chapter exports is in the list of operations', async () => {
  const listed: ReadonlySet<unknown> = new Set<unknown>([...OPERATIONS, ...CLIENT_OPERATIONS])
  const declared = (await exported(/\b(?:operation|renderedOperation)\(\{/)).flatMap(([name, value]) =>
    isLike(value, ['role', 'http', 'run', 'command']) ? [{ name, value }] : [],
  )
  expect(declared.length).toBeGreaterThan(20)
  expect(declared.filter(({ value }) => !listed.has(value)).map(({ name }) => name)).toEqual([])
})

test('every condition that a chapter exports is in the list of conditions', async () => {
  const listed: ReadonlySet<unknown> = new Set(CONDITIONS)
  const declared = (await exported(/\bCondition\b/)).flatMap(([name, value]) =>
    [value].flat().flatMap((one) => (isLike(one, ['place', 'severity']) ? [{ name, one }] : [])),
  )
  expect(declared.length).toBeGreaterThan(10)
  expect(declared.filter(({ one }) => !listed.has(one)).map(({ name }) => name)).toEqual([])
})

test('every provider that a file exports is in the registry', async () => {
  const listed: ReadonlySet<unknown> = new Set(PROVIDERS.map(entryOf))
  const declared = (await exported(/\b(?:HostedProvider|OwnServer|ProviderEntry)\b/)).flatMap(
    ([name, value]) => (isLike(value, ['credential', 'endpoints', 'openAi']) ? [{ name, value }] : []),
  )
  expect(declared.length).toBeGreaterThan(20)
  expect(declared.filter(({ value }) => !listed.has(value)).map(({ name }) => name)).toEqual([])
})
