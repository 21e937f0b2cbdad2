import { COUNTING } from './counting.ts'
import { JOURNALS } from './journals.ts'
import { DEAD_LETTERS, GAPS } from './losses.ts'
import { REDIS_MEMORY } from './redis-memory.ts'
import { REDIS_PREFIX } from './redis-prefix.ts'

export const LEDGER_CONDITIONS = [GAPS, DEAD_LETTERS, REDIS_MEMORY, COUNTING, REDIS_PREFIX, JOURNALS] as const
