import { spawn } from 'node:child_process'
import { cp, mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { Row } from './rows.ts'

const HERE = fileURLToPath(new URL('.', import.meta.url))
/** Clients that try again wait for up to a minute in between. */
const PROGRAM_MS = 580_000
/** A row's programs run three times. */
export const ROW_MS = 1_500_000

const printedStep = z.object({
  step: z.string(),
  result: z.unknown().optional(),
  error: z.string().optional(),
  status: z.number().nullable().optional(),
  text: z.string().optional(),
})

/** What a client had of one step: a result, or an error's class, status and text. */
export type Step = z.infer<typeof printedStep>

/** Whether the same came of a step. The texts of errors may differ. */
export function isSame(a: Step, b: Step): boolean {
  if (a.error !== b.error) return false
  if (a.error !== undefined) return (a.status ?? null) === (b.status ?? null)
  return isDeepStrictEqual(a.result, b.result)
}

export interface Access {
  readonly layout: string
  readonly base: string
  readonly key: string
  readonly spent: string
  readonly wrong: string
  /** For signatures: of `key`, and of `spent`. */
  readonly secret: string
  readonly spentSecret: string
}

/** Runs a row's program to its end. @param settings Further environment. */
export async function runRow(
  row: Row,
  folder: string,
  access: Access,
  controlUrl: string,
  homes: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<readonly Step[]> {
  const home = await mkdtemp(join(homes, 'home-'))
  const [command, args, more] = await commandOf(row, folder)
  const child = spawn(command, args, {
    cwd: home,
    env: {
      PATH: process.env.PATH,
      HOME: home,
      TMPDIR: process.env.TMPDIR ?? '/tmp',
      CONTROL: controlUrl,
      FAMILY: row.variant,
      LAYOUT: access.layout,
      BASE: access.base,
      KEY: access.key,
      SPENT: access.spent,
      WRONG: access.wrong,
      SECRET: access.secret,
      SPENT_SECRET: access.spentSecret,
      NO_PROXY: '127.0.0.1',
      ...more,
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: PROGRAM_MS,
    killSignal: 'SIGKILL',
  })
  const exit = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [output, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), exit])
  const steps = output
    .split('\n')
    .filter((line) => line.startsWith('STEP '))
    .map((line) => printedStep.parse(JSON.parse(line.slice(5))))
  if (code !== 0 || steps.length === 0)
    throw new Error(`${row.name} ended with ${code} behind ${steps.length} steps: ${errors.slice(-2_000)}`)
  return steps
}

const copies = new Map<string, Promise<void>>()

/** Node looks for packages beside the program. Once each, as a row that runs may not have its program replaced. */
function programsIn(folder: string): Promise<void> {
  const copy = copies.get(folder) ?? cp(join(HERE, 'node'), join(folder, 'programs'), { recursive: true })
  copies.set(folder, copy)
  return copy
}

async function commandOf(
  { program }: Row,
  folder: string,
): Promise<readonly [string, readonly string[], Record<string, string>]> {
  if (program.endsWith('.py'))
    return ['python3', [join(HERE, 'python', program)], { PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' }]
  if (program.endsWith('.mjs')) {
    await programsIn(folder)
    const bin = join(folder, 'node_modules/.bin')
    return [process.execPath, [join(folder, 'programs', program)], { BIN: bin }]
  }
  if (program === 'clients') return [join(folder, program), [], {}]
  return ['java', ['-cp', `${folder}:${join(folder, 'jars')}/*`, program], {}]
}
