/** A JSON object whose members are not known yet. */
export type JsonObject = { readonly [key: string]: unknown }

/** Whether a value has members to read: arrays and `null` have none. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value that a text is the JSON of; `undefined`: it is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
