import type { Area } from '../mutant.ts'

export const ledger: Area = {
  name: 'ledger',
  tests: ['test/rollup', 'test/ledger', 'test/model'],
  mutants: [
    {
      find: 'if (gap === undefined) continue\n      counted.push(entry)',
      replace: 'counted.push(entry)\n      if (gap === undefined) continue',
      says: 'a record that comes twice is counted twice',
    },
    {
      find: 'left.from - right.from || Number(left.gapReason !== null) - Number(right.gapReason !== null)',
      replace: 'left.from - right.from || Number(right.gapReason !== null) - Number(left.gapReason !== null)',
      says: 'a record that comes with the marker of its gap fills a gap that never was',
    },
    {
      find: '      waiting.push(entry)\n',
      replace: '      counted.push(entry)\n      committedOffset = entry.to\n',
      says: 'records that are late are lost',
    },
    {
      find: '      if (moves.length > 0) await moveOffsets(session, moves)\n',
      replace: '',
      says: 'what was counted is counted again after a restart',
    },
    {
      find: 'waits.has(entry) ? [] : [entry.id]',
      replace: '[entry.id]',
      says: 'what waits behind a gap is deleted',
    },
    {
      find: 'if (letters.length > 0) {',
      replace: 'if (letters.length > 1) {',
      says: 'a record that Postgres refuses disappears',
    },
    {
      find: 'if (created.length > 0) unspent.delete(keyOf(name))',
      replace: 'if (created.length > 0) continue',
      says: 'a response that is fetched is counted again',
    },
    {
      find: 'isOwn || unspent.delete(keyOf(name)) ? record : withoutUsage(record)',
      replace: 'isOwn || unspent.has(keyOf(name)) ? record : withoutUsage(record)',
      says: 'a response that is fetched twice is counted twice',
    },
  ],
}
