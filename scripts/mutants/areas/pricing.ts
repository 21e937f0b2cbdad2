import type { Area } from '../mutant.ts'

export const pricing: Area = {
  name: 'pricing',
  tests: ['test/pricing', 'test/gateway/proxy/finalize-call.test.ts'],
  mutants: [
    {
      find: '      output +\n      cacheRead +\n',
      replace: '      output +\n',
      says: 'cached tokens are billed in full',
    },
    {
      find: '  for (const name of BILLED_UNITS) cost += terms[name] * sums[name]\n',
      replace: '',
      says: 'searches and pictures of a whole day are free',
    },
    {
      find: '  if (size > Number.MAX_SAFE_INTEGER) return null\n',
      replace: '',
      says: 'large costs are rounded',
    },
    {
      find: 'sum += fast[name] * (units[name] ?? 0)',
      replace: 'sum += fast[name]',
      says: 'ten searches cost as much as one',
    },
    {
      find: 'scaleToInteger(factor.value, reportedPico, 1n)',
      replace: 'reportedPico',
      says: 'a markup is left out where the upstream says what a call cost',
    },
    {
      find: 'if (missing !== null || first === undefined) {',
      replace: 'if (first === undefined) {',
      says: 'a part without a price is free',
    },
    {
      find: 'return whole === null || whole <= inParts ? null : whole - inParts',
      replace: 'return whole',
      says: 'what a part of a session is billed by is billed twice',
    },
    {
      find: 'const call = { ...before.context.call, upstream, provider, path, requestedModel }',
      replace: 'const call = { ...before.context.call, path, requestedModel }',
      says: 'a call costs what the target that failed would have',
      test: 'test/gateway/routes/routes.test.ts',
    },
    {
      find: '    if (use !== null && (willRetry || isLeft || attempt.status === null)) this.#uses.push(use)\n',
      replace: '',
      says: 'what a target that was given up bills is free',
      test: 'test/gateway/routes/routes.test.ts',
    },
    {
      find: "const atMs = endpoint.responseUse === 'fetched' ? submittedAtMs(call, observed) : call.arrivedAtMs",
      replace: 'const atMs = call.arrivedAtMs',
      says: 'a batch costs what it would on the day that it is fetched',
    },
    {
      find: 'cacheReadImage - cacheRead - imageInput + input,',
      replace: 'cacheReadImage - cacheRead - imageInput,',
      says: 'a cached picture takes off what its tokens cost',
    },
    {
      find: 'if (rates.cacheWrite1h === undefined && isSome(usage.cacheWrite1hTokens)) {',
      replace: 'if (rates.cacheWrite1h !== undefined && isSome(usage.cacheWrite1hTokens)) {',
      says: 'a lifetime of the cache without a price is billed as a shorter one, without a word',
    },
    {
      find: "  if (isSome(usage.imageInputTokens) && rates.imageInput === undefined) add('imageInput')\n",
      replace: '',
      says: "a picture for OpenAI's models costs what text does",
    },
    {
      find: '(audioOutputTokens ?? 0) - (imageOutputTokens ?? 0)',
      replace: '(audioOutputTokens ?? 0)',
      says: 'a model that draws and has no price of text lacks one for every picture',
    },
    {
      find: "(one) => !fitting.some((other) => isSameCalls(one, other) && (one.from ?? '') < (other.from ?? '')),",
      replace: '() => true,',
      says: 'a markup is taken beside the one that it follows',
    },
    {
      find: 'const begun = startsMs.findLastIndex((startMs) => startMs <= atMs)',
      replace: 'const begun = 0',
      says: 'a markup never changes while the gateway runs',
    },
    {
      find: "    if (rest.cost.reason === 'contradictory_usage' || priced.length === 0) missing ??= rest.cost\n",
      replace: '',
      says: 'a search is free where its model has no price and nothing else was used',
    },
    {
      find: '  for (const { price } of priced) for (const rate of price.definition.unpriced ?? []) gaps.add(rate)\n',
      replace: '',
      says: 'what a part of a session used without a price is not said of the session',
    },
  ],
}
