import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { REFUSED_ENDPOINTS } from '../../src/gateway/admission/refused-endpoints.ts'
import { BILLED_APART, type EndpointGroup, FREE_ENDPOINTS } from '../../src/providers/free-endpoints.ts'

function table(groups: readonly EndpointGroup[]): string {
  const rows = groups.map(({ patterns, providers, why, reportedBy }) => {
    const described = reportedBy === undefined ? why : `${why}; told by ${reportedBy}`
    return `| ${patterns.map((pattern) => `\`${pattern}\``).join('<br>')} | ${providers?.join(', ') ?? 'all'} | ${described} |`
  })
  return ['| Paths | Providers | Why |', '|---|---|---|', ...rows].join('\n')
}

for (const [title, groups] of [
  ['Refused by default', REFUSED_ENDPOINTS],
  ['Known to be free', FREE_ENDPOINTS],
  ['Billed apart', BILLED_APART],
] as const) {
  test(`docs/paths.md tells what is ${title.toLowerCase()} as the code has it`, () => {
    const section = readFileSync('docs/paths.md', 'utf8').split(`## ${title}\n`)[1]?.split('\n## ')[0]
    // `UPDATE_DOCS=1` prints what should stand there.
    if (process.env.UPDATE_DOCS === '1') console.log(`## ${title}\n${table(groups)}`)
    expect(section).toContain(table(groups))
  })
}
