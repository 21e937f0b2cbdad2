import { generateKeyPairSync, sign } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { measureCell } from '../cells.ts'
import { jsonShape, type Shape } from '../load/shapes.ts'
import { type Rig, WARM_UP_CALLS } from '../rig.ts'
import type { Target } from '../targets/target.ts'
import { perCall } from './json.ts'
import type { Part } from './part.ts'

const CONNECTIONS = 32
/** Some two seconds of calls: what a feature costs is less than what rounds of one second differ by. */
const CALLS = 20_000
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

/** What it costs a call to use a feature, beside a gateway that has none. */
export const featuresPart: Part = {
  name: 'features',
  title: 'Calls that use a feature',
  about: [
    `JSON answers of 1 KB over ${CONNECTIONS} connections. \`tallygate\` is the gateway as it comes. Each other one has`,
    'one feature, and its calls use it: a route of two targets, whose first one answers; two axes with the values of',
    'two headers; a JWT in place of the key; the cost in the answer. `same` has none, and shows what is by chance. All',
    'have stores and a worker of their own.',
  ].join(' '),
  columns: [
    { figure: 'cpuUs', title: 'CPU of the gateway, µs', digits: 1 },
    { figure: 'cpuUs / tallygate', title: 'of tallygate', digits: 3 },
    { figure: 'perSecond', title: 'calls a second', digits: 0 },
    { figure: 'perSecond / tallygate', title: 'of tallygate', digits: 3 },
    { figure: 'workerUs', title: 'worker, µs', digits: 1 },
  ],
  async measure(rig, { rounds, scale, isAsked }) {
    const provider = await startIdentityProvider()
    const cells = []
    for (const feature of featuresWith(provider)) {
      const name = `${feature.name}, ${CONNECTIONS} connections`
      if (!isAsked(name)) continue
      const target = await startFeature(rig, feature)
      // The same headers: what they cost by themselves is not the feature's.
      const plain = { ...jsonShape(1), headers: feature.shape.headers ?? [] }
      const shapeFor = ({ name }: Target) => (name === feature.name ? feature.shape : plain)
      const course = { kind: 'closed', connections: CONNECTIONS, calls: Math.ceil(CALLS * scale) } as const
      await rig.run(target, feature.shape, { ...course, calls: WARM_UP_CALLS * scale })
      const cell = await measureCell({
        name,
        targets: [rig.tallygate.target, target],
        rounds,
        isNew: true,
        measure: async (target) => perCall(await rig.run(target, shapeFor(target), course)),
        comparisons: [
          { figure: 'cpuUs', with: rig.tallygate.name, by: 'ratio' },
          { figure: 'perSecond', with: rig.tallygate.name, by: 'ratio' },
        ],
      })
      cells.push(cell)
    }
    provider.close()
    return cells
  },
}

async function startFeature(rig: Rig, { name, yaml, credential }: Feature): Promise<Target> {
  const { target } = await rig.addGateway(name, yaml)
  return credential === undefined ? target : { ...target, key: credential }
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
