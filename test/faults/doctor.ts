import { execFile } from 'node:child_process'
import { z } from 'zod'
import { COMPILED_FOLDER } from '../../src/lib/compile-cache.ts'

const examination = z.object({
  ok: z.boolean(),
  checks: z.array(
    z.object({
      name: z.string(),
      state: z.enum(['ok', 'note', 'wrong']),
      detail: z.string(),
      mend: z.string().nullable(),
    }),
  ),
})

export type Check = z.output<typeof examination>['checks'][number]

export interface Diagnosis {
  readonly exitCode: number
  readonly checks: readonly Check[]
}

export interface CommandResult {
  readonly exitCode: number
  readonly out: string
}

/** Runs `tallygate` as people do. */
export function runCommand(env: NodeJS.ProcessEnv, ...args: readonly string[]): Promise<CommandResult> {
  return runProgram('src/cli/main.ts', env, args)
}

function runProgram(script: string, env: NodeJS.ProcessEnv, args: readonly string[]): Promise<CommandResult> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [script, ...args],
      {
        // As `npm run tallygate` has it: a run then takes half the CPU.
        env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: COMPILED_FOLDER, ...env },
        maxBuffer: 16 * 1024 * 1024,
      },
      (error, stdout, stderr) => {
        const exitCode = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
        resolve({ exitCode, out: stdout + stderr })
      },
    )
  })
}

/** The health check of a gateway's container. */
export async function isContainerHealthy(port: number): Promise<boolean> {
  const env = { PORT: `${port}` }
  return (await runProgram('src/standalone/container/check-gateway.ts', env, [])).exitCode === 0
}

export async function runDoctor(env: NodeJS.ProcessEnv): Promise<Diagnosis> {
  const { exitCode, out } = await runCommand(env, 'doctor', '--json')
  const { checks } = examination.parse(JSON.parse(out))
  return { exitCode, checks }
}

/** Those that are not well, as people read them. */
export function describeTroubles({ checks }: Diagnosis): string {
  const troubles = checks.filter(({ state }) => state !== 'ok')
  return troubles.map(({ name, state, detail, mend }) => `${state} ${name}: ${detail} -> ${mend}`).join('\n')
}
