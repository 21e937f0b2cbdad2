import type { ReplicaState } from '../../../store/replica/reports.ts'
import { type Finding, ok, warning } from '../../finding.ts'

/** Checks that reports come from the replica of DATABASE_READ_URL. */
export function checkReplica({ isUsed, lagMs, problem }: ReplicaState): Finding {
  const age = lagMs === null ? 'of unknown age' : `${Math.ceil(lagMs)} ms old at most`
  if (isUsed) return ok('replica', `reports come from it, ${age}`)
  return warning(
    'replica',
    `reports come from the primary: the replica ${problem ?? 'is not used'}`,
    'start it, or correct DATABASE_READ_URL',
  )
}
