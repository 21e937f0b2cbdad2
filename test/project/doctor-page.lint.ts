import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CONDITIONS } from '../../src/doctor/conditions.ts'

/** A finding that is made in a file of conditions, or a line of a table of them. */
const FINDING = /\b(?:ok|warning|failure|dead)\)?\(\s*'([^']+)',|name: '([a-z ]+)',\s+what: /g

test('docs/doctor.md has every line of doctor, and no other', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && /condition|doctor\/gateway/.test(name),
  )
  const made = files.flatMap((name) =>
    [...readFileSync(`src/${name}`, 'utf8').matchAll(FINDING)].map(([, one, other]) => one ?? other ?? ''),
  )
  const declared = CONDITIONS.flatMap(({ name, find }) => (find === undefined ? [] : name))
  const lists = ['litellm prices', 'azure prices']
  const shown = [...readFileSync('docs/doctor.md', 'utf8').matchAll(/\*\*([^*]+)\*\*/g)].map(
    ([, name = '']) => name,
  )
  expect([...new Set(shown)].sort()).toEqual([...new Set([...made, ...declared, ...lists])].sort())
})
