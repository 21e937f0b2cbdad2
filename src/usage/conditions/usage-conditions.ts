import { KAFKA } from './kafka.ts'
import { COSTLY_CALLS, PLACES_UNKNOWN, RESPONSE_IDS } from './odd-calls.ts'
import { UNPRICED, UNREAD_CALLS } from './unpriced.ts'
import { UNUSUAL_SPEND } from './unusual-spend.ts'

export const USAGE_CONDITIONS = [
  UNPRICED,
  UNREAD_CALLS,
  COSTLY_CALLS,
  UNUSUAL_SPEND,
  RESPONSE_IDS,
  PLACES_UNKNOWN,
  KAFKA,
] as const
