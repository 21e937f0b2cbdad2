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
      test: 'test/rollup/roll-up.test.ts',
    },
    {
      find: 'waits.has(entry) ? [] : [entry.id]',
      replace: '[entry.id]',
      says: 'what waits behind a gap is deleted',
      test: 'test/rollup/roll-up.test.ts',
    },
    {
      find: 'if (letters.length > 0) {',
      replace: 'if (letters.length > 1) {',
      says: 'a record that Postgres refuses disappears',
      test: 'test/rollup/roll-up.test.ts',
    },
    {
      find: 'if (created.length > 0) unspent.delete(keyOf(name))',
      replace: 'if (created.length > 0) continue',
      says: 'a response that is fetched is counted again',
      test: 'test/rollup/roll-up.test.ts',
    },
    {
      find: 'isOwn || unspent.delete(keyOf(name)) ? record : withoutUsage(record)',
      replace: 'isOwn || unspent.has(keyOf(name)) ? record : withoutUsage(record)',
      says: 'a response that is fetched twice is counted twice',
      test: 'test/rollup/roll-up.test.ts',
    },
    {
      find: "day, clientId, axis, value: totals === 'other' ? OTHER_VALUES : value }",
      replace: 'day, clientId, axis, value }',
      says: 'a client fills the totals with values that it makes up',
      test: 'test/rollup/axes.test.ts',
    },
    {
      find: '  for (const call of settled) for (const total of totalsOf(call)) takeSettled(total)\n',
      replace: '',
      says: "a job that reported its use stays unpriced in its value's totals",
      test: 'test/rollup/settlements.test.ts',
    },
    {
      find: 'if (number > afterSlot) rows.push(',
      replace: 'if (number > afterSlot + 1) rows.push(',
      says: 'a call under way in a gateway that is killed is not counted',
    },
    {
      find: 'this.#moveSent(Math.max(this.#rewindTo, this.#committed))',
      replace: 'this.#moveSent(Math.max(this.#sent, this.#committed))',
      says: 'what Redis lost is not sent again',
    },
    {
      find: '        progress.rewind()\n',
      replace: '',
      says: 'a loss is found, and nothing is sent again',
    },
    {
      find: 'if (ids.length < rows.length) this.#gaps = [gap, ...this.#gaps]\n    else if',
      replace: 'if',
      says: 'records of a gap that Redis refuses once stay missing',
    },
    {
      find: '    this.#attempts++\n',
      replace: '',
      says: 'a stream that loses all fills up with what is sent again every second',
    },
    {
      find: '    if (committedOffset < this.committedOffset)\n      this.#readings = withReading(',
      replace: '    if (committedOffset > this.committedOffset)\n      this.#readings = withReading(',
      says: 'a journal deletes what a restored Postgres lacked a moment ago',
    },
    {
      find: '      await this.#disk.syncFolder(this.#folder)\n      this.#file =',
      replace: '      this.#file =',
      says: 'a power cut takes a file of the journal that was never named on the disk',
    },
    {
      find: '    if (this.#dirty) this.touch()\n',
      replace: '',
      says: 'a record that is written during a sync waits for the next call',
    },
  ],
}
