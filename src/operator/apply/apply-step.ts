/** The ids of keys by `declaredKeyPlace`: those of the plan are known once they are made. */
export type KeyIds = ReadonlyMap<string, string>

/** Tells a key by its client and name. Both may have a slash in them, and neither has a NUL. */
export function declaredKeyPlace(client: unknown, name: unknown): string {
  return `${client}\0${name}`
}

/** One operation to run. */
export interface ApplyStep {
  readonly action: 'create' | 'change' | 'remove'
  readonly what: 'group' | 'client' | 'key' | 'limit' | 'receiver' | 'contract' | 'charge' | 'customer'
  readonly name: string
  /** From what to what, in words; `null`: the name says it. */
  readonly detail: string | null
  readonly operation: string
  readonly input: (keys: KeyIds) => Readonly<Record<string, unknown>>
}

/** A step whose name says all. */
export function step(
  action: ApplyStep['action'],
  what: ApplyStep['what'],
  name: string,
  operation: string,
  input: ApplyStep['input'],
): ApplyStep {
  return { action, what, name, detail: null, operation, input }
}
