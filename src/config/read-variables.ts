import { z } from 'zod'
import { type Environment, type EnvironmentName, readVariable } from './environment.ts'

/** The variables' values; `null`, and a line in `problems` for each wrong one, when any is wrong. */
export function readVariables<Shape extends Partial<Record<EnvironmentName, z.ZodType>>>(
  env: Environment,
  shape: Shape,
  problems: string[],
): z.output<z.ZodObject<Shape>> | null {
  const names = Object.keys(shape) as EnvironmentName[]
  const texts = Object.fromEntries(names.map((name) => [name, readVariable(env, name)]))
  const parsed = z.object(shape).safeParse(texts)
  for (const { path, code, message } of parsed.error?.issues ?? []) {
    problems.push(`${path.join('.')}: ${code === 'invalid_type' ? 'is not set' : message}`)
  }
  return parsed.success ? parsed.data : null
}
