import type { Area } from '../mutant.ts'

export const limits: Area = {
  name: 'limits',
  tests: ['test/limits', 'test/gateway/limits'],
  mutants: [
    {
      find: 'holding.needOf(call.estimatedTokens) <= holding.ceiling',
      replace: 'holding.needOf(call.estimatedTokens) < holding.ceiling',
      says: 'the last request of a minute is refused',
      // Simulated months never end with it: a call waits there until it is admitted.
      test: 'test/limits/engine/limit-engine.test.ts',
    },
    {
      find: 'account.used + pico <= account.ceiling',
      replace: 'account.used <= account.ceiling',
      says: 'one call may cost more than is left of a budget',
    },
    {
      find: 'if (pico > 0n) for (let at = 0; at < accounts.length; at += 1) accounts[at]?.reserve(pico)',
      replace: '',
      says: 'calls under way count for no budget',
    },
    {
      find: "      if (account.limit.whenAlone !== 'share') continue\n",
      replace: '',
      says: 'a gateway takes a share of its own while Redis is away',
    },
    {
      find: 'const isSettled = !isBlank && presence.isSettled(this.#answersSinceMs, sentAtMs)',
      replace: 'const isSettled = true',
      says: 'a gateway takes what others hold, as Redis was flushed',
    },
    {
      find: 'return nowMs < this.#signsToMs && this.#signsFromMs < reportedAtMs + KEEPS_MS',
      replace: 'return true',
      says: 'a gateway that reaches no store spends what others have taken over',
    },
    {
      find: '.getUTCDay() + 6) % 7',
      replace: '.getUTCDay()) % 7',
      says: "a week's budget begins on Sunday",
    },
    {
      find: 'toDay: addDays(nextMonth, -1)',
      replace: 'toDay: nextMonth',
      says: "a month's budget counts a day of the next",
    },
    {
      find: "return whole === undefined ? 0n : BigInt(whole + fraction.padEnd(12, '0'))",
      replace: "return whole === undefined ? 0n : BigInt(whole + fraction.padEnd(11, '0'))",
      says: 'a budget is a tenth of what was written',
    },
    {
      find: '    return unpriced(unpricedModel(admission, expected) ?? model)\n',
      replace: '    return null\n',
      says: 'a model without a price passes a hard budget',
      test: 'test/gateway/limits/doors.test.ts',
    },
    {
      find: 'scan.readable && !scan.duplicateModel && !scan.namesOtherModels',
      replace: 'scan.readable && !scan.namesOtherModels',
      says: "a key's list of models is passed by naming two",
      test: 'test/gateway/access/key-models.test.ts',
    },
    {
      find: 'const toDay = last < span.to_day ? last : span.to_day',
      replace: 'const toDay = last',
      says: 'a group pays for a client that has left it',
      test: 'test/limits/group-budgets.test.ts',
    },
    {
      find: '    for (const groupId of groups) {\n      if (this.#ofGroups',
      replace: '    for (const groupId of groups.slice(0, 1)) {\n      if (this.#ofGroups',
      says: "a group's limit does not hold in the groups within it",
    },
    {
      find: 'c.axis = a.axis and c.value = a.value',
      replace: 'c.axis = a.axis',
      says: 'a budget of one value is spent by all values',
      test: 'test/limits/value-budgets.test.ts',
    },
    {
      find: 'const routes = shapes.some(({ ofModel }) => ofModel) ? [ROUTES] : []',
      replace: 'const routes: string[] = []',
      says: "a route's budget is never spent",
      test: 'test/limits/spent.test.ts',
    },
    {
      find: 'const wanted = countFrom > fromDay ? addDays(countFrom, -1) : countFrom',
      replace: 'const wanted = countFrom',
      says: 'a tried limit loses at midnight what was used of it',
      test: 'test/limits/tried-limits.test.ts',
    },
    {
      find: 'o.settled_at is null and o.deleted_at is null and o.created_at >=',
      replace: 'o.settled_at is null and o.created_at >=',
      says: 'a batch that is deleted is not charged',
      test: 'test/limits/spent.test.ts',
    },
  ],
}
