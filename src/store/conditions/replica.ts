import { type Finding, ok, warning } from '../../domain/conditions/finding.ts'
import type { ReplicaState } from '../replica/reports.ts'
import type { Condition } from './condition.ts'

/** Checks that reports come from the replica of DATABASE_READ_URL. */
function checkReplica({ isUsed, lagMs, problem }: ReplicaState): Finding {
  const age = lagMs === null ? 'of unknown age' : `${Math.ceil(lagMs)} ms old at most`
  if (isUsed) return ok('replica', `reports come from it, ${age}`)
  return warning(
    'replica',
    `reports come from the primary: the replica ${problem ?? 'is not used'}`,
    'start it, or correct DATABASE_READ_URL',
  )
}

export const REPLICA: Condition<{ readonly replica: ReplicaState | null }> = {
  name: 'replica',
  place: 'postgres',
  severity: 'note',
  find: async ({ replica }) => (replica === null ? [] : checkReplica(replica)),
  readiness: { item: 'replica', lacks: ({ replicaUsed }) => replicaUsed === false },
}
