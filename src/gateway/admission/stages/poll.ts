import type { Admission } from '../admission.ts'

/** A longer body orders work. */
const MAX_POLL_BYTES = 512

/**
 * A request that only asks for what an earlier one had put into a queue is a fetch of that, and runs no model, although
 * its path takes both.
 */
export function readPoll(admission: Admission): null {
  const { route, body, candidates } = admission
  const polls = route.dialect?.polls
  if (polls === undefined || candidates.length > 0) return null
  const { plain } = body
  if (plain === null || plain.length > MAX_POLL_BYTES || !polls.body.test(plain.toString('latin1')))
    return null
  admission.route = { ...route, dialect: polls.dialect, isFetch: true }
  return null
}
