/**
 * The name of everything that is kept in Redis. All begin with REDIS_PREFIX. Names that one command, script or pipeline
 * uses together have the same hash tag, the text in the first pair of braces: a Redis Cluster keeps them on one node.
 */

/** The stream of a shard. Shard 0 has no number: its name is the one of a deployment with a single stream. */
export function streamName(redisPrefix: string, shard: number): string {
  return shard === 0 ? `${redisPrefix}calls` : `${redisPrefix}calls:${shard}`
}

/** The streams of so many shards, in their order. */
export function streamNames(redisPrefix: string, shards: number): readonly string[] {
  return Array.from({ length: shards }, (_, shard) => streamName(redisPrefix, shard))
}

/** The hash of producer to committed offset, of one stream and on its node: a hint that workers leave to gateways. */
export function offsetsName(redisPrefix: string, stream: string): string {
  return `${redisPrefix}marks:{${stream}}`
}

/** The name of who reads a stream, on the stream's node. */
export function leaseName(redisPrefix: string, stream: string): string {
  return `${redisPrefix}lease:{${stream}}`
}

/** The sorted set of the running workers. */
export function workersName(redisPrefix: string): string {
  return `${redisPrefix}workers`
}

/** The hash of what gateways use of a client's limits. One name, so that one script reaches all of it on any node. */
export function limitsName(redisPrefix: string, clientId: string): string {
  return `${redisPrefix}limits:${clientId}`
}

/** Since when Redis keeps those hashes. */
export function limitsSinceName(redisPrefix: string): string {
  return `${redisPrefix}limits`
}

/** The channel that one gateway process listens on for as long as it runs. Nothing is said there. */
export function gatewayChannel(redisPrefix: string, gatewayId: string): string {
  return `${redisPrefix}limits:${gatewayId}`
}

/** The text that begins all keys of the job queue, which uses many of them in one script. */
export function queuePrefix(redisPrefix: string): string {
  return `${redisPrefix}{bull}`
}

/** The channel on which changes of clients, keys and limits are announced. */
export function keyChannel(redisPrefix: string): string {
  return `${redisPrefix}keys`
}

/** The channel on which gateways ask which calls of a client have ended, or the one on which `asker` is answered. */
export function endsChannel(redisPrefix: string, asker?: string): string {
  return asker === undefined ? `${redisPrefix}ends` : `${redisPrefix}ends:${asker}`
}

/** The identity of the database in which this prefix is counted. */
export function databaseName(redisPrefix: string): string {
  return `${redisPrefix}database`
}

/**
 * Tells whether names with this prefix have the hash tags that a cluster needs: the prefix has no braces, or one pair
 * with text in it, which then is the tag of all names.
 */
export function fitsCluster(redisPrefix: string): boolean {
  return /^[^{}]*(?:\{[^{}]+\}[^{}]*)?$/.test(redisPrefix)
}
