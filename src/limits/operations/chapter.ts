import type { Chapter } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { raiseSeveral, removeSeveral, setSeveral, topUpScope } from './limit-commands.ts'
import { changeLimit, raiseLimit, removeLimit, setLimit, topUpLimit } from './limits.ts'
import { listLimitChanges, listLimits } from './list-limits.ts'
import { listRefused } from './refused.ts'
import { replayOperation } from './replay.ts'
import { dropOperation, enforceOperation, listTried, tryOperation } from './tried.ts'

export const LIMITS: Chapter<Ports> = {
  words: 'limits',
  about: 'Rates and budgets of clients.',
  operations: [
    setSeveral,
    listLimits,
    removeSeveral,
    raiseSeveral,
    topUpScope,
    listLimitChanges,
    listRefused,
    replayOperation,
    tryOperation,
    listTried,
    enforceOperation,
    dropOperation,
    setLimit,
    changeLimit,
    removeLimit,
    raiseLimit,
    topUpLimit,
  ],
}
