import type { Schema } from './types.ts'

/** An object of exactly these fields; those named in `optional` may be missing. */
export function object(
  properties: Readonly<Record<string, Schema>>,
  optional: readonly string[] = [],
): Schema {
  return {
    type: 'object',
    properties,
    required: Object.keys(properties).filter((name) => !optional.includes(name)),
    additionalProperties: false,
  }
}

export function list(items: Schema): Schema {
  return { type: 'array', items }
}

export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` }
}

export function text(description: string, rest: Schema = {}): Schema {
  return { type: 'string', description, ...rest }
}

export function count(description: string): Schema {
  return { type: 'integer', minimum: 0, description }
}
