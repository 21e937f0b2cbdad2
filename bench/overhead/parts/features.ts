import { generateKeyPairSync, sign } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Cell, measureCell } from '../cells.ts'
import { jsonShape, type Shape } from '../load/shapes.ts'
import { type Rig, WARM_UP_CALLS } from '../rig.ts'
import type { Target } from '../targets/target.ts'
import { perCall } from './json.ts'
import type { Part, RunOptions } from './part.ts'

const CONNECTIONS = 32
/**
 * A feature costs less than what the machine changes by from one second to the next. So all that are compared run within
 * one: a slice each, in each order in turn, many times.
 */
const SLICE_CALLS = 400
/** For each round that is asked for. */
const SLICES = 90
/** Of the runs that tell calls a second, and what the worker has to do. */
const CALLS = 5_000
const MODEL = 'by-a-route'
const TOKEN_SECONDS = 3_600

/** A gateway with one feature in use, and how its calls differ from those to the plain one. */
interface Feature {
  readonly name: string
  /** Of its configuration. */
  readonly yaml: string
  readonly shape: Shape
  /** In place of the client's key. */
  readonly credential?: string
}

/** One kind of calls among those that are compared. */
interface Kind {
  readonly target: Target
  readonly shape: Shape
}

/** To the feature's gateway, without the feature. */
const PLAIN = 'plain'

/** What it costs a call to use a feature, beside a gateway that has none. */
export const featuresPart: Part = {
  name: 'features',
  title: 'Calls that use a feature',
  about: [
    `JSON answers of 1 KB over ${CONNECTIONS} connections, CPU in slices of ${SLICE_CALLS} calls. \`tallygate\` is the gateway as it`,
    'comes. Each cell has another gateway with one feature, with stores and a worker of its own. The calls of its last row',
    'use the feature: a route of two targets, whose first one answers; two axes with the values of two headers; a JWT in',
    'place of the key; the cost in the answer. `plain` are calls to the same process without route or JWT; a gateway with',
    'axes or costs has no others. Two processes of the same code differ by some percent: `same` has no feature. In brackets',
    'are confidence intervals of the medians, 95 %.',
  ].join(' '),
  columns: [
    { figure: 'cpuUs', title: 'CPU of the gateway, µs', digits: 1, around: 'interval' },
    { figure: `cpuUs / ${PLAIN}`, title: 'of plain', digits: 3, around: 'interval' },
    { figure: 'cpuUs / tallygate', title: 'of tallygate', digits: 3, around: 'interval' },
    { figure: 'perSecond', title: 'calls a second', digits: 0, around: 'interval' },
    { figure: 'workerUs', title: 'worker, µs', digits: 1, around: 'interval' },
  ],
  async measure(rig, { rounds, scale, isAsked }) {
    const provider = await startIdentityProvider()
    const cells = []
    for (const feature of featuresWith(provider)) {
      const name = `${feature.name}, ${CONNECTIONS} connections`
      if (isAsked(name)) cells.push(...(await measureFeature(rig, feature, name, { rounds, scale })))
    }
    provider.close()
    return cells
  },
}

async function measureFeature(
  rig: Rig,
  feature: Feature,
  name: string,
  { rounds, scale }: Pick<RunOptions, 'rounds' | 'scale'>,
): Promise<readonly Cell[]> {
  const kinds = await startFeature(rig, feature)
  const targets = [...kinds].map(([name, { target }]) => ({ ...target, name }))
  const kindOf = ({ name }: Target): Kind => {
    const kind = kinds.get(name)
    if (kind === undefined) throw new Error(`no calls are called ${name}`)
    return kind
  }
  const courseOf = (calls: number, keeps = false) =>
    ({ kind: 'closed', connections: CONNECTIONS, calls: Math.ceil(calls * scale), keeps }) as const
  for (const { target, shape } of kinds.values()) await rig.run(target, shape, courseOf(WARM_UP_CALLS))
  const rejoin = rig.isolateGateways()
  const slices = await measureCell({
    name,
    targets,
    rounds: rounds * SLICES,
    isNew: false,
    async measure(target) {
      const { target: gateway, shape } = kindOf(target)
      return { cpuUs: await rig.cpuOfSlice(gateway, shape, courseOf(SLICE_CALLS, true)) }
    },
    comparisons: [PLAIN, rig.tallygate.name].map((other) => ({ figure: 'cpuUs', with: other, by: 'ratio' })),
  })
  rejoin()
  const counted = await measureCell({
    name: `${name}, until they are counted`,
    targets,
    rounds,
    isNew: true,
    async measure(target) {
      const { target: gateway, shape } = kindOf(target)
      const { perSecond, workerUs } = perCall(await rig.run(gateway, shape, courseOf(CALLS)))
      return { perSecond: perSecond ?? null, workerUs: workerUs ?? null }
    },
    comparisons: [],
  })
  return [slices, counted]
}

async function startFeature(
  rig: Rig,
  { name, yaml, shape, credential }: Feature,
): Promise<ReadonlyMap<string, Kind>> {
  const { target } = await rig.addGateway(name, yaml)
  // The same headers: what they cost by themselves is not the feature's.
  const plain = { ...jsonShape(1), headers: shape.headers ?? [] }
  return new Map([
    [rig.tallygate.name, { target: rig.tallygate.target, shape: plain }],
    [PLAIN, { target, shape: plain }],
    [name, { target: credential === undefined ? target : { ...target, key: credential }, shape }],
  ])
}

function featuresWith(provider: IdentityProvider): readonly Feature[] {
  const plain = jsonShape(1)
  return [
    { name: 'same', yaml: '', shape: plain },
    {
      name: 'route',
      yaml: `routes:
  - { model: ${MODEL}, order: listed, to: [{ upstream: openai, model: gpt-4o-mini }, { upstream: vllm, model: gpt-4o-mini }] }
`,
      shape: { ...plain, body: plain.body.replace('gpt-4o-mini', MODEL) },
    },
    {
      name: 'axes',
      yaml: `axes:
  - { name: user, from: [{ header: x-user }] }
  - { name: feature, from: [{ header: x-feature }] }
`,
      shape: { ...plain, headers: ['x-user: ann@example.com', 'x-feature: search'] },
    },
    {
      name: 'jwt',
      yaml: `identity:
  issuers:
    - { name: corp, issuer: '${provider.url}', audience: bench, jwks_url: '${provider.url}/jwks', client: { claim: team } }
`,
      shape: plain,
      credential: provider.token,
    },
    { name: 'cost', yaml: 'cost_in_answers: ["*"]\n', shape: plain },
  ]
}

interface IdentityProvider {
  readonly url: string
  /** Of the bench's client. */
  readonly token: string
  close(): void
}

async function startIdentityProvider(): Promise<IdentityProvider> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'bench', alg: 'ES256', use: 'sig' }
  const server = createServer((_request, answer) => {
    answer.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: [jwk] }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const nowSeconds = Math.floor(Date.now() / 1000)
  const claims = {
    iss: url,
    aud: 'bench',
    sub: 'ann@example.com',
    team: 'bench',
    iat: nowSeconds,
    exp: nowSeconds + TOKEN_SECONDS,
  }
  const signed = [{ alg: 'ES256', typ: 'JWT', kid: 'bench' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return { url, token: `${signed}.${signature.toString('base64url')}`, close: () => server.close() }
}
