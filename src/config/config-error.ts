/** All problems of the configuration together. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  /** One line each, beginning with the variable's name or `<file>:<line>`. Never shows a secret's value. */
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`
    super(`${count} in the configuration:\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
    this.problems = problems
  }
}

/** Why a file could not be used, as a short code: `ENOENT`. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return 'code' in error ? String(error.code) : error.message
}
