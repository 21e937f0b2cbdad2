/** The rules of docs/ledger.md that the model can do without, one at a time. */
export const RULES = {
  openBeforeUpstream: 'a call is noted before it goes upstream (J2)',
  recordBeforeAnswer: 'the record is written before the client has its whole answer (J3)',
  closeWithRecord: 'the record is written and the open row deleted in one transaction (J3, 3.3)',
  shipSynced: 'only what is synced is shipped (J5)',
  syncedBeforeSync: 'a sync vouches only for what was committed before it began (J4)',
  numbersContinue: 'numbering goes on after what was pruned (2)',
  adoptionLock: 'one process at a time has a journal (2, 3)',
  appendAgain: 'what was not clearly answered is sent again (4.3)',
  lossProof: 'what Redis lost is sent again (4)',
  lossReread: 'the mark is read again after an entry was found gone (4)',
  markGoesBack: 'a mark that went back takes the shipping back with it (4)',
  voidForPruned: 'records that are nowhere any more are said to be void (7)',
  contiguous: 'a mark moves over contiguous numbers only (5.4)',
  duplicatesDropped: 'what is at or under the mark is not counted again (5.4)',
  markWithTotals: 'the mark moves in the transaction of the totals (5.5 to 5.8)',
  oneWriter: 'one writer at a time: shard lock, row lock, checked mark (5.1, 5.3, 5.7)',
  trimAfterCommit: 'an entry leaves the stream after its commit (5.10)',
  sessionEnded: 'a worker whose session was ended commits nothing (8)',
  gapWithMark: 'a hole is recorded in the transaction that passes it (5.4)',
  filledOnce: 'a hole shrinks in the transaction that fills it (5.4)',
  holesPassed: 'a hole that stands for ten minutes is passed (7)',
  gapsSentAgain: 'records of a recorded hole are sent again (4)',
  keptUntilCommitted: 'the journal keeps what is not committed (6)',
  keptForKeepTime: 'the journal keeps what was committed for less than the keep time (6)',
  keptWhileLower: 'a mark that went back counts from when it is there again (6)',
  tombstones:
    'what was counted of a producer whose folder is gone is named when Postgres goes back behind it (7)',
  tombstoneFirst: 'a tombstone is there before the folder goes (3.5)',
  gapsKept: 'what filled a hole is kept for the keep time as well (6)',
} as const

export type Rule = keyof typeof RULES
