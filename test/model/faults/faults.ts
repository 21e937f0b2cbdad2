import type { Emphasis } from '../steps.ts'
import type { Rule } from './rules.ts'

/** Kinds of schedules: how much likelier a step is than by its own weight. Rules differ in what tries them. */
export const FAULT_PROFILES: readonly Emphasis[] = [
  {},
  // Entries are lost, and gateways are slow to see it: workers pass gaps of journals that are there.
  {
    'the number of shards changes': 0,
    'Redis loses one': 12,
    'Redis loses all': 0,
    'a shipper looks for loss': 0.05,
    'a gateway prunes': 2,
    'time passes': 2,
    'a worker goes some steps': 2,
    'a gateway is killed': 0.3,
    'power is lost': 0,
  },
  // The same by the hour.
  {
    'Redis loses one': 10,
    'Redis loses all': 0,
    'a shipper looks for loss': 0.02,
    'a gateway prunes': 4,
    'time passes': 5,
    'a worker goes some steps': 3,
    'a gateway is killed': 0.2,
    'a worker dies': 0.1,
    'power is lost': 0,
    'a journal is lost': 0,
    'Postgres is restored from long ago': 0,
  },
  // Disks die.
  {
    'a journal is lost': 12,
    'a worker dies': 10,
    'a shipper looks for loss': 0.05,
    'Redis loses all': 0.2,
    'Redis loses one': 0.2,
    'Redis loses the newest': 0.2,
    'Postgres is restored to a moment ago': 0.2,
    'time passes': 1.5,
    'a worker goes some steps': 1.5,
    'power is lost': 0.3,
  },
  // Postgres regresses, again and again.
  {
    'the number of shards changes': 0,
    'Postgres is restored to a moment ago': 3,
    'Postgres is restored from long ago': 8,
    'a gateway prunes': 3,
    'time passes': 4,
    'a worker goes some steps': 2,
    'power is lost': 0.2,
    'a gateway is killed': 0.5,
  },
  // Long calls: gateways die when what they closed has long been pruned.
  {
    'a call ends': 0.6,
    'a gateway prunes': 4,
    'time passes': 2,
    'a worker goes some steps': 2,
    'power is lost': 0.2,
    'Redis loses all': 0.3,
    'Redis loses one': 0.3,
  },
  // The same for producers that have done their work.
  {
    'a call begins': 0.2,
    'a call ends': 4,
    'Postgres is restored from long ago': 15,
    'Postgres is restored to a moment ago': 0.2,
    'a gateway prunes': 4,
    'time passes': 4,
    'a worker goes some steps': 2,
    'power is lost': 0.2,
    'a gateway is killed': 0.5,
    'a journal is lost': 0,
  },
  // Disks garble what they had synced, and long calls are under way.
  {
    'a disk garbles what was synced': 15,
    'a disk loses a segment': 15,
    'a call ends': 0.7,
    'a gateway prunes': 2,
    'a gateway is killed': 2,
    'a gateway adopts': 2,
    'power is lost': 0.3,
    'a journal is lost': 0,
    'Redis loses all': 0.3,
    'Postgres is restored from long ago': 0.5,
  },
  // Disks fail to sync, and lose what was not synced.
  {
    'a sync fails': 8,
    'a journal syncs': 1.5,
    'power is lost': 4,
    'a gateway is killed': 2,
    'a gateway starts': 2,
    'a gateway of the release before starts': 2,
    'a gateway adopts': 2,
    'an adopter closes a call': 2,
    'a gateway prunes': 3,
    'a worker goes some steps': 2,
  },
  // Power is lost again and again, and long calls outlive segments that are deleted.
  {
    'a call ends': 0.8,
    'a journal syncs': 1.5,
    'power is lost': 8,
    'a gateway starts': 3,
    'a gateway adopts': 3,
    'an adopter closes a call': 2,
    'a gateway prunes': 5,
    'nothing goes wrong for some minutes': 4,
    'a journal is lost': 0,
    'Redis loses all': 0.2,
    'Postgres is restored from long ago': 0.3,
  },
  // Producers come, do their work and go, and their folders with them.
  {
    'nothing goes wrong for some minutes': 15,
    'a call ends': 4,
    'a gateway stops': 4,
    'a gateway is killed': 2,
    'a finished journal is deleted': 4,
    'Postgres is restored from long ago': 5,
    'Postgres is restored to a moment ago': 0.2,
    'power is lost': 0.2,
    'a journal is lost': 0,
  },
]

/**
 * Rules that few schedules miss, and the first one that does, of the profile that misses it most. Without it each is searched
 * for among thousands.
 */
export const MISSED_AT: Readonly<Partial<Record<Rule, number>>> = {
  tailNotRead: 798,
  doubtNotCounted: 808,
  doubtStays: 9_079,
  syncedBeforeDeleted: 5_718,
  beginNumbers: 29_294,
  upgradeSynced: 1_846,
  appendAgain: 875,
  lossProof: 1_007,
  trimAfterCommit: 13_940,
  filledOnce: 574,
  gapsPassed: 28_061,
  gapsSentAgain: 3_445,
  gapsKept: 22_147,
}
