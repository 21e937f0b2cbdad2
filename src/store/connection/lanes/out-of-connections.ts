const TOO_MANY_CONNECTIONS = '53300'
/** Of several servers only what each said is known. */
const SAID = /too many clients|remaining connection slots|too many connections for/

/** What to do, for a log line, readiness, `doctor` and commands. */
export const OUT_OF_CONNECTIONS =
  'PostgreSQL has no connection left: raise max_connections, put a pooler before it, or end what holds them (docs/scaling.md has the number that a deployment needs)'

/** Whether Postgres refused a connection because all of the server's, the role's or the database's are in use. */
export function isOutOfConnections(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? error.code : null
  return code === TOO_MANY_CONNECTIONS || SAID.test(error.message) || isOutOfConnections(error.cause)
}
