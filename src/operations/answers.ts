import { z } from 'zod'

/** Parts of answers, as schemas with a description. Programs rely on them: a field that was there stays. */

export function shownText(description: string) {
  return z.string().describe(description)
}

export function shownTextOrNull(description: string) {
  return z.string().nullable().describe(description)
}

export function shownCount(description: string) {
  return z.number().meta({ type: 'integer', minimum: 0, description })
}

export function shownCountOrNull(description: string) {
  return z
    .number()
    .nullable()
    .meta({ type: ['integer', 'null'], minimum: 0, description })
}

export function shownFlag(description: string) {
  return z.boolean().describe(description)
}

/** A moment, ISO 8601 in UTC. */
export function shownMoment(description: string) {
  return z.string().meta({ format: 'date-time', description })
}

export function shownMomentOrNull(description: string) {
  return z.string().nullable().meta({ format: 'date-time', description })
}

/** A UTC day, YYYY-MM-DD. */
export function shownDay(description: string) {
  return z.string().meta({ format: 'date', description })
}

export function shownDayOrNull(description: string) {
  return z.string().nullable().meta({ format: 'date', description })
}

export function shownChoice<const Name extends string>(names: readonly Name[], description: string) {
  return z.enum(names as readonly [Name, ...Name[]]).describe(description)
}

export function shownChoiceOrNull<const Name extends string>(names: readonly Name[], description: string) {
  return z
    .enum(names as readonly [Name, ...Name[]])
    .nullable()
    .describe(description)
}

export function shownList<Item extends z.ZodType>(
  item: Item,
  description?: string,
): z.ZodType<readonly z.output<Item>[]> {
  const list = z.array(item)
  return description === undefined ? list : list.describe(description)
}

/** An object of exactly these fields, which `/openapi.json` has under the name. */
export function shownDocument<Shape extends z.ZodRawShape>(id: string, shape: Shape) {
  return z.strictObject(shape).meta({ id })
}
