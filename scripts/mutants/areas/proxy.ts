import type { Area } from '../mutant.ts'

export const proxy: Area = {
  name: 'proxy',
  tests: ['test/gateway/proxy'],
  mutants: [
    {
      find: 'if ((meaning & (NOT_UPSTREAM | ENDS_HERE)) !== 0) {',
      replace: 'if ((meaning & ENDS_HERE) !== 0) {',
      says: 'an upstream gets keys, addresses and cookies of clients',
    },
    {
      find: 'if (connectionNamed?.has(name.toLowerCase()) === true) continue\n    if ((meaning & IS_SUBPROTOCOL)',
      replace: 'if ((meaning & IS_SUBPROTOCOL)',
      says: 'headers of the connection go further than it',
    },
    {
      find: '      if ((meaning & IS_LENGTH) !== 0 && contentLength !== null) continue\n',
      replace: '',
      says: 'an edited body goes out with two lengths',
    },
    {
      find: '      if ((meaning & IS_CODING) !== 0 && isPlain === true) continue\n',
      replace: '',
      says: 'a body that was unpacked is announced as packed',
    },
    {
      find: '        if (hasType) continue\n',
      replace: '',
      says: 'an upstream reads another type than the gateway',
      test: 'test/gateway/access/forms.test.ts',
    },
    {
      find: '    if (ofClient >= maxPerClient) return true\n',
      replace: '',
      says: 'a client that hangs up has as many calls under way as it likes',
    },
    {
      find: "asked.value === true || asked.value === 'other'",
      replace: 'asked.value !== null',
      says: 'a client that does not want usage is not counted',
    },
    {
      find: 'return sendsProof(method) ? credentialOf(route.upstream) : null',
      replace: 'return credentialOf(route.upstream)',
      says: "TRACE shows a client the provider's key",
      test: 'test/gateway/access/smuggling.test.ts',
    },
    {
      find: '      cutAnswer(response)\n      return\n    }\n    if (upstreamError',
      replace: '    }\n    if (upstreamError',
      says: 'a client has a whole answer that is not counted',
      test: 'test/gateway/proxy/last-piece.test.ts',
    },
    {
      find: '      if (this.#headWritten) this.#cut()\n',
      replace: '      if (this.#headWritten) response.end()\n',
      says: 'an answer that broke off looks whole',
      test: 'test/gateway/upstreams/upstream-failures.test.ts',
    },
    {
      find: 'return !runsOn || !attempt.isBegun',
      replace: 'return true',
      says: 'work that goes on behind its answer is begun at two targets',
      test: 'test/gateway/routes/broken-routes.test.ts',
    },
  ],
}
