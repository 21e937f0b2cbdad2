/** The result of one check. */
export interface Finding {
  /** What was checked: `postgres`, `backlog`. */
  readonly name: string
  /** `wrong`: calls are refused, not counted, or counted late. `note`: it works and could be better. */
  readonly state: 'ok' | 'note' | 'wrong'
  readonly detail: string
  /** What to do; `null`: nothing. */
  readonly mend: string | null
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

/** All findings as JSON, the same on the command line and over HTTP. */
export function renderFindings(findings: readonly Finding[]) {
  const isSound = findings.every(({ state }) => state !== 'wrong')
  return { ok: isSound, node: process.version, checks: findings }
}
