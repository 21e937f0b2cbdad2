/**
 * What connections are taken for, the most urgent first. Polls: keys, committed offsets, prices, announcements. Limits:
 * definitions and spent figures. Objects: owners that a call waits for. Usage: clients' queries. Reports: operators'.
 */
export const LANES = ['polls', 'limits', 'objects', 'usage', 'reports'] as const
export type LaneName = (typeof LANES)[number]

/** With fewer, slow queries of clients would keep a call's objects waiting, or those of operators all clients'. */
export const LEAST_CONNECTIONS = 4
/** Of one gateway process, whatever it is asked. */
export const MOST_CONNECTIONS = 8

/**
 * How many of `total` connections each lane may hold together with all that are less urgent. So each of the first three
 * finds a connection however many slow queries run: no report keeps a poll, or a figure of limits, waiting.
 */
export function laneCaps(total: number): readonly number[] {
  const objects = Math.max(1, total - 2)
  const usage = total < 2 ? 0 : total < 5 ? Math.max(1, total - 2) : Math.min(4, total - 3)
  const reports = total < 2 ? 0 : total < 6 ? 1 : 2
  return [total, Math.max(1, total - 1), objects, usage, reports]
}
