import { runCommandLine } from '../../src/cli/run.ts'
import type { Environment } from '../../src/config/config.ts'

/** What a command line did. */
export interface Outcome {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Runs a command line in this process. */
export async function run(env: Environment, ...args: string[]): Promise<Outcome> {
  let out = ''
  let err = ''
  const code = await runCommandLine(args, env, {
    out: (text) => {
      out += text
    },
    err: (text) => {
      err += text
    },
  })
  return { code, out, err }
}

/** The one JSON document of a command line that must succeed. */
export async function json(env: Environment, ...args: string[]): Promise<unknown> {
  return await jsonWith(0, env, ...args)
}

/** The same of one that found no call to check by: exit code 3. */
export async function uncheckedJson(env: Environment, ...args: string[]): Promise<unknown> {
  return await jsonWith(3, env, ...args)
}

async function jsonWith(wanted: number, env: Environment, ...args: string[]): Promise<unknown> {
  const { code, out, err } = await run(env, ...args, '--json')
  if (code !== wanted || err !== '') throw new Error(`${args.join(' ')}: exit code ${code}, ${err}`)
  return JSON.parse(out)
}
