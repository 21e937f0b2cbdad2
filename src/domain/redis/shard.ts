/**
 * The shard of a client's records, from 0 to `shards` - 1. All gateways must agree on it: a client lives in one
 * shard, so that no two shards wait for the same rows. The hash never changes.
 */
export function shardOf(clientId: string, shards: number): number {
  if (shards === 1) return 0
  // FNV-1a over UTF-16 code units, then the last step of MurmurHash3: FNV alone leaves low bits alike.
  let hash = 0x811c9dc5
  for (let index = 0; index < clientId.length; index += 1) {
    hash = Math.imul(hash ^ clientId.charCodeAt(index), 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) % shards
}
