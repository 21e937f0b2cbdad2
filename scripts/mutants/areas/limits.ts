import type { Area } from '../mutant.ts'

export const limits: Area = {
  name: 'limits',
  tests: ['test/limits', 'test/gateway/limits', 'test/gateway/admission', 'test/gateway/access'],
  mutants: [
    {
      find: 'holding.needOf(call.estimatedTokens) <= holding.ceiling',
      replace: 'holding.needOf(call.estimatedTokens) < holding.ceiling',
      says: 'the last request of a minute is refused',
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
      find: '    return unpriced(model)\n',
      replace: '    return null\n',
      says: 'a model without a price passes a hard budget',
    },
    {
      find: '!scan.duplicateModel && !scan.namesOtherModels)\n  return isSure ? null : UNREADABLE',
      replace: '!scan.namesOtherModels)\n  return isSure ? null : UNREADABLE',
      says: "a key's list of models is passed by naming two",
    },
  ],
}
