import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import {
  BILLED_APART_PATHS,
  FREE_PATHS,
  type ListedGroup,
  REFUSED_PATHS,
  REFUSED_WHOLE_PATHS,
} from '../../src/providers/paths/known-paths.ts'

function list(groups: readonly ListedGroup[]): string {
  const items = groups.map(({ patterns, providers, why, reportedBy }) => {
    const described = reportedBy === undefined ? why : `${why}; reported by ${reportedBy}`
    return `- ${providers?.join(', ') ?? 'all'}: ${described}: ${patterns.map((pattern) => `\`${pattern}\``).join(', ')}`
  })
  return items.join('\n')
}

/** The page wraps its lines. */
const unwrapped = (text: string | undefined) => text?.replace(/\s+/g, ' ')

for (const [title, groups] of [
  ['Refused by default', [...REFUSED_PATHS.list(), ...REFUSED_WHOLE_PATHS.list()]],
  ['Known to be free', FREE_PATHS.list()],
  ['Billed apart', BILLED_APART_PATHS.list()],
] as const) {
  test(`docs/paths.md tells what is ${title.toLowerCase()} as the code has it`, () => {
    const section = readFileSync('docs/paths.md', 'utf8').split(`## ${title}\n`)[1]?.split('\n## ')[0]
    // `UPDATE_DOCS=1` prints what should stand there.
    if (process.env.UPDATE_DOCS === '1') console.log(`## ${title}\n\n${list(groups)}`)
    expect(unwrapped(section)).toContain(unwrapped(list(groups)))
  })
}
