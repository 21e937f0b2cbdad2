import { sendSignal } from '../../../src/standalone/processes/detached-process.ts'
import { chatAnswer, json } from '../../support/upstream.ts'
import type { Fault } from '../fault.ts'
import { holdNoSecret } from '../secrets.ts'
import { AUTHORITY, shownPart } from '../upstream.ts'
import type { World } from '../world.ts'

const fails = (cause: string) =>
  new RegExp(`^calls of the last 5 minutes fail, ${cause}: main \\(\\d+ of \\d+ calls at gateway`)

async function reload({ gateway }: World): Promise<void> {
  sendSignal(gateway.pid, 'SIGHUP')
}

async function restart({ gateway }: World): Promise<void> {
  await gateway.stop(20_000)
  await gateway.start()
}

/** The provider has renewed its key, and the gateway runs with the old one. */
function refusingKey(status: 401 | 403): Fault {
  let former = ''
  return {
    name: `an upstream refuses the key of the gateway with ${status}`,
    async begin({ upstream }) {
      former = upstream.key
      upstream.refuse = (response, key) =>
        json(response, status, {
          error: { message: `Incorrect API key provided: ${shownPart(key)}`, code: 'invalid_api_key', key },
        })
      upstream.key = `sk-renewed-${status}-${former.slice(-12)}`
    },
    line: 'upstreams',
    says: fails('credential refused'),
    advice:
      /^it refuses the key that gateways have for it: renew that, .*restart them where it is a variable/,
    // One a day for each cause.
    ...(status === 401 ? { alert: 'upstream' } : {}),
    repair: restart,
    after: (world) => holdNoSecret(world, former),
  }
}

function answering(
  name: string,
  status: number,
  cause: string,
  advice: RegExp,
  state: 'wrong' | 'note',
): Fault {
  return {
    name,
    async begin({ upstream }) {
      upstream.answer = (_, response) => json(response, status, { error: { message: 'no', code: 'no' } })
    },
    line: 'upstreams',
    says: fails(cause),
    advice,
    state,
    alert: 'upstream',
    async repair({ upstream }) {
      upstream.answer = chatAnswer
    },
  }
}

/** Of an upstream that is slow, and then as slow as it is known to be. */
const SLOW_MS = 1_500

export const UPSTREAM_FAULTS: readonly Fault[] = [
  {
    name: 'an upstream refuses connections',
    begin: ({ upstream }) => upstream.close(),
    line: 'upstreams',
    says: fails('connect refused'),
    advice: /^nothing listens there: start it, or correct its URL/,
    alert: 'upstream',
    repair: ({ upstream }) => upstream.open(),
  },
  {
    name: 'the name of an upstream has no address',
    async begin(world) {
      await world.configure('http://no-such-host.invalid:8080')
      await reload(world)
    },
    line: 'upstreams',
    says: fails('dns'),
    advice: /^its name has no address: correct its URL/,
    alert: 'upstream',
    async repair(world) {
      await world.configure(world.upstream.url)
      await reload(world)
    },
  },
  {
    name: 'the certificate of an upstream is not trusted',
    async begin(world) {
      await world.upstream.serve('https')
      await world.configure(world.upstream.url.replace('http://127.0.0.1', 'https://localhost'))
      await reload(world)
    },
    line: 'upstreams',
    says: fails('tls'),
    advice: /^its certificate is not trusted: renew it, or set NODE_EXTRA_CA_CERTS at the gateways/,
    alert: 'upstream',
    async repair(world) {
      await world.run({ NODE_EXTRA_CA_CERTS: AUTHORITY }, {})
    },
    async after(world) {
      await world.upstream.serve('http')
      await world.configure(world.upstream.url)
      await reload(world)
    },
  },
  refusingKey(401),
  refusingKey(403),
  answering('an upstream answers with 429', 429, 'rate limited', /^the account's limits are used up/, 'note'),
  answering('an upstream answers with 503', 503, 'server error', /^see the status of the provider/, 'wrong'),
  {
    name: 'an upstream does not answer in time',
    gateway: { UPSTREAM_HEADERS_TIMEOUT_MS: '1000' },
    async begin({ upstream }) {
      upstream.answer = (request, response) =>
        void setTimeout(() => void chatAnswer(request, response), SLOW_MS)
    },
    line: 'upstreams',
    says: fails('slow answer'),
    advice: /^see the load of the upstream, or raise UPSTREAM_HEADERS_TIMEOUT/,
    alert: 'upstream',
    repair: (world) => world.run({ UPSTREAM_HEADERS_TIMEOUT_MS: '4000' }, {}),
    async after({ upstream }) {
      upstream.answer = chatAnswer
    },
  },
]
