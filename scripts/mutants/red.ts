/** A run of tests that was not green. */
export interface Red {
  /** The first test that failed; of a crash, what was printed last. */
  readonly by: string
  /** The file of that test; `null`: it is not known. */
  readonly file: string | null
  /** `failed`: a test says what is wrong. Else none does, and it may have come of the machine. */
  readonly how: 'failed' | 'timed_out' | 'crashed'
}

/** What the output of Vitest says of a run that was not green. */
export function readRed(output: string): Red {
  const [, by, message = ''] = /FAIL +(?:\|\w+\|)? *(.*)\n(.*)/.exec(output) ?? []
  if (by === undefined) return { by: output.trim().slice(-300), file: null, how: 'crashed' }
  const file = /^\S+\.test\.ts/.exec(by)?.[0] ?? null
  if (/^Error: (?:Test|Hook) timed out in /.test(message)) return { by, file, how: 'timed_out' }
  return { by, file, how: by.includes(' > ') ? 'failed' : 'crashed' }
}
