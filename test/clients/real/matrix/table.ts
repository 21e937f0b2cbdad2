import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Step } from './run-row.ts'

/** What a row showed of one refusal. */
export interface Refused {
  readonly direct: number
  readonly gateway: number
  readonly text: string
}

export interface RowResult {
  readonly name: string
  /** Steps by how they compare; those that differ are named in `differences.ts`. */
  readonly alike: number
  readonly steps: number
  readonly refusals: Readonly<Record<string, Refused>>
}

export const REFUSALS = ['wrong_key', 'no_model', 'spent'] as const

export const PAGE = resolve('docs/clients.md')
const BEGIN = '<!-- made by npm run clients -- --update -->'
const END = '<!-- end of what is made -->'
/** As much of a text as a line of the page holds. */
const TEXT_CHARACTERS = 240

/** What a user reads, without what differs from run to run. */
export function readable(step: Step | undefined): string {
  const text = (step?.text ?? '')
    .replace(/^headers: \{[^}]*\}, /, '')
    .replace(/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g, 'ID')
    .replace(/https?:\/\/127\.0\.0\.1:\d+/g, 'https://llm.example.com')
    .replace(/\/\S*home-\S*/g, 'PATH')
    .replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z?/g, 'TIME')
    .replace(/\b20\d\d-\d\d-\d\d\b/g, 'DAY')
    .replace(/\b[\d.]+ USD/g, 'N USD')
    .replace(/\s+/g, ' ')
    // Codex says first how it was started.
    .replace(/^Reading additional input.* -{8} user hi .*?(?=ERROR)/, '')
    .trim()
  return text.length > TEXT_CHARACTERS ? `${text.slice(0, TEXT_CHARACTERS)}…` : text
}

/** The page with the rows that ran; of those that could not, it keeps what it says. */
export async function pageWith(results: readonly RowResult[]): Promise<string> {
  const page = await readFile(PAGE, 'utf8')
  const begin = page.indexOf(BEGIN)
  const end = page.indexOf(END)
  if (begin < 0 || end < begin) throw new Error(`${PAGE} has no place for the table`)
  const before = page.slice(begin + BEGIN.length, end)
  const table = results.map(
    ({ name, alike, steps, refusals }) =>
      `| ${[name, ...REFUSALS.map((one) => tries(refusals[one])), `${alike} of ${steps}`].join(' | ')} |`,
  )
  const texts = results.flatMap(({ name, refusals }) =>
    REFUSALS.flatMap((one) => {
      const refused = refusals[one]
      return refused === undefined ? [] : [`${name}, ${one.replace('_', ' ')}: ${refused.text}`]
    }),
  )
  const made = `
| client | wrong key | unknown model | spent budget | steps as directly |
|---|---|---|---|---|
${kept(before, table, /^\| (.+?) \|/).join('\n')}

What their users read then:

\`\`\`text
${kept(before, texts, /^(.+?, (?:wrong key|no model|spent)):/).join('\n')}
\`\`\`

`
  return `${page.slice(0, begin + BEGIN.length)}\n${made.trimStart()}${page.slice(end)}`
}

/** New lines, each in the place of the one with its name; those of rows that did not run stay. */
function kept(before: string, lines: readonly string[], name: RegExp): readonly string[] {
  const nameOf = (line: string) => name.exec(line)?.[1] ?? ''
  const known = new Map(lines.map((line) => [nameOf(line), line]))
  const old = before.split('\n').filter((line) => name.test(line) && nameOf(line) !== 'client')
  const stayed = old.map((line) => known.get(nameOf(line)) ?? line)
  const oldNames = new Set(old.map(nameOf))
  return [...stayed, ...lines.filter((line) => !oldNames.has(nameOf(line)))]
}

function tries(refused: Refused | undefined): string {
  if (refused === undefined) return ''
  const { direct, gateway } = refused
  return direct === gateway ? `${gateway}` : `${gateway} (directly ${direct})`
}
