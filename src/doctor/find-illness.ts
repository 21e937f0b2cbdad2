import { LEDGER_CONDITIONS } from '../ledger/conditions/ledger-conditions.ts'
import { withinDeadline } from '../lib/deadline.ts'
import type { Condition, StorePorts } from '../store/conditions/condition.ts'
import { STORE_CONDITIONS } from '../store/conditions/store-conditions.ts'

/** Below the time that a container's check has. */
const ANSWER_MS = 2_000
const WATCHED: readonly Pick<Condition, 'failsWorker'>[] = [...STORE_CONDITIONS, ...LEDGER_CONDITIONS]
const CHECKS = WATCHED.flatMap(({ failsWorker }) => failsWorker ?? [])

/** The first of the conditions that make a worker ill, in a sentence; `null`: it is well. */
export async function findIllness(ports: StorePorts): Promise<string | null> {
  const check = async () => {
    for (const find of CHECKS) {
      const { name, state, detail } = await find(ports)
      if (state === 'wrong') return `${name}: ${detail}`
    }
    return null
  }
  return await withinDeadline(check(), ANSWER_MS).catch((error: unknown) => String(error))
}
