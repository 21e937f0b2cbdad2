/** Names of releases before 0.2.0, which a cluster could not hold. They held hints and schedules only. */
export const OLD_NAMES = {
  offsets: (redisPrefix: string) => `${redisPrefix}marks`,
  queuePrefix: (redisPrefix: string) => `${redisPrefix}bull`,
} as const
