import { GatewayError } from '../../http/errors.ts'
import { inTransactionOr } from '../../store/connection/postgres.ts'
import { poolWithin } from '../../store/connection/within-transaction.ts'
import { Failure } from '../failure.ts'
import { type AnyOperation, Part } from '../operation.ts'
import type { Ports } from '../ports.ts'
import { type Actor, beginAudit, dropAudit, endAudit, recordChanges } from './audit-table.ts'

/**
 * Runs an operation with checked fields. What it changes is written down with who did it, in the same transaction. One
 * that commits in parts is written down before its first part, and its end behind the last.
 */
export async function runOperation<Has extends Ports>(
  declared: AnyOperation<Has>,
  ports: Has,
  input: Readonly<Record<string, unknown>>,
  actor: Actor,
): Promise<unknown> {
  // `operation` has typed the fields and this function together, and `parseFields` has checked the fields.
  const run = async (own: Has) => await declared.run(own, input as never, actor.who, actor)
  const { changes } = declared
  if (changes === undefined || input.dry_run === true) return await run(ports)
  if (declared.isLong === true || changes.inParts === true)
    return await runInParts(declared, ports, run, actor)

  const done = await inTransactionOr<Outcome>(ports.pool, async (session) => {
    const pool = poolWithin(session)
    const auditId = await beginAudit(session, actor, declared.name)
    await recordChanges(session, auditId)
    try {
      const result = await run({ ...ports, pool, read: async (work) => await work(pool) })
      const about = aboutOf(declared, result)
      if (about !== null) await endAudit(session, auditId, about)
      return { isKept: about !== null, result: { result } }
    } catch (refusal) {
      if (!isRefusal(refusal)) throw refusal
      return { isKept: false, result: { refusal } }
    }
  })
  if ('refusal' in done) throw done.refusal
  return done.result
}

type Outcome = { readonly result: unknown } | { readonly refusal: Error }

async function runInParts<Has extends Ports>(
  declared: AnyOperation<Has>,
  ports: Has,
  run: (own: Has) => Promise<unknown>,
  actor: Actor,
): Promise<unknown> {
  const auditId = await beginAudit(ports.pool, actor, declared.name)
  try {
    const result = await run(ports)
    const about = aboutOf(declared, result)
    if (about === null) await dropAudit(ports.pool, auditId)
    else await endAudit(ports.pool, auditId, about)
    return result
  } catch (refusal) {
    if (refusal instanceof GatewayError) await endAudit(ports.pool, auditId, { refused: refusal.error })
    throw refusal
  }
}

function isRefusal(error: unknown): error is Error {
  return error instanceof GatewayError || error instanceof Failure
}

/** `null`: nothing was changed. */
function aboutOf<Has extends Ports>({ changes }: AnyOperation<Has>, result: unknown) {
  const found = result instanceof Part ? result.answer : result
  return changes?.log(found as never) ?? null
}
