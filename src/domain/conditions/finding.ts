/** What is said of one thing that was looked at. */
export interface Finding {
  /** What was looked at: `postgres`, `backlog`. */
  readonly name: string
  /** `wrong`: calls are refused, not counted, or counted late. `note`: it works and could be better. */
  readonly state: 'ok' | 'note' | 'wrong'
  readonly detail: string
  /** What to do; `null`: nothing. */
  readonly mend: string | null
  /** Nothing else can be asked of the same server. */
  readonly isEnd?: true
}

export function ok(name: string, detail: string): Finding {
  return { name, state: 'ok', detail, mend: null }
}

export function warning(name: string, detail: string, mend: string): Finding {
  return { name, state: 'note', detail, mend }
}

export function failure(name: string, detail: string, mend: string): Finding {
  return { name, state: 'wrong', detail, mend }
}

/** The same, and nothing else can be asked of that server. */
export function dead(name: string, detail: string, mend: string): Finding {
  return { ...failure(name, detail, mend), isEnd: true }
}
