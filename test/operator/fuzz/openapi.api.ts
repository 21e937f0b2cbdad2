import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest'
import { utcDayOf } from '../../../src/domain/utc-day.ts'
import type * as GuessesModule from '../../../src/http/guesses.ts'
import { createGroup } from '../../../src/keys/groups/groups.ts'
import { signInMember } from '../../../src/limits/members/sign-in-member.ts'
import type { OpenApiDocument } from '../../../src/operator/openapi/types.ts'
import { PEPPER, startStack, type TestStack } from '../../support/servers/stack.ts'

/** Requests that are made by the document, all together. */
const CASES = 5_000
const SEED = 1
/** Of each operation, in each of the phases that make requests up. */
const CASES_EACH = Number(process.env.FUZZ_CASES ?? 80)
const TOKEN = 'operator-token-of-the-tests'

/** Whose members may make keys, and whose owner disables members. Its provider is not asked. */
const GROUP = 'fuzzed-group'
const ISSUER = 'http://127.0.0.1:9'
const SELF_SERVICE = `
self_service:
  issuer: ${ISSUER}
  client_id: tallygate
  client_secret_env: OIDC_SECRET
  public_url: http://127.0.0.1:9
  groups:
    - { group: ${GROUP}, members: [members], owners: [owners], most_keys: 100 }
`

// Every operation is tried with a wrong token, all from one address.
vi.mock('../../../src/http/guesses.ts', async (importOriginal) => {
  const original = await importOriginal<typeof GuessesModule>()
  class Guesses extends original.Guesses {
    constructor() {
      super(Number.POSITIVE_INFINITY)
    }
  }
  return { ...original, Guesses }
})

let stack: TestStack
let folder: string
let admin: string
let document: Pick<OpenApiDocument, 'paths'>

beforeAll(async () => {
  // What is asked for newer prices or sent as an alert stays on this machine.
  const nowhere = 'http://127.0.0.1:9'
  Object.assign(process.env, {
    PRICES_URL: `${nowhere}/data.json`,
    HTTP_PROXY: nowhere,
    HTTPS_PROXY: nowhere,
  })
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-fuzz-'))
  await writeFile(join(folder, 'schemathesis.toml'), settings())
  const file = join(folder, 'tallygate.yaml')
  await writeFile(file, SELF_SERVICE)
  const env = { ADMIN_TOKEN: TOKEN, PORTAL_PORT: '0', TALLYGATE_CONFIG: file, OIDC_SECRET: 'a secret' }
  stack = await startStack('http://127.0.0.1:9', { env, workers: false })
  admin = `http://127.0.0.1:${stack.gateway.adminAddress.port}`
  document = JSON.parse(await (await fetch(`${admin}/openapi.json`)).text())
  await writeFile(join(folder, 'openapi.json'), JSON.stringify(document))
})

afterAll(() => stack?.stop())

/** A name has characters that can be seen; of `\p{C}` schemathesis knows control characters alone. */
const SEEN = 'characters that cannot be seen are more than those of control'

/** What keeps to the JSON schema of these and may be refused with 400 all the same, since no schema can say why. */
const UNSAID: Readonly<Record<string, string>> = {
  createClient: SEEN,
  renameClient: SEEN,
  createGroup: SEEN,
  renameGroup: SEEN,
  moveClient: 'one of two places; days to come',
  removeGroup: 'one of two places',
  getGroupUsage: 'period is in place of days',
  moveGroup: 'one of two places; days to come',
  setContract: 'what it holds for, and one of a discount and prices',
  setCharge: 'what a charge may say, by its category',
  settleBillingEvent: 'one of two fields',
  reconcile: 'who can be asked without a month',
  listCalls: 'the first day is not behind the last one',
  createKey: SEEN,
  createToken: SEEN,
  createPortalToken: 'a length of time is a day at most',
  importKeys: 'one of three places where rows are',
  convertConfig: 'what is in the configuration',
  listClients: 'a cursor is an item that is there',
  listTokens: 'a cursor is an item that is there',
  listKeys: 'a cursor is an item that is there',
  listLimits: 'parameters of a query that need or exclude each other; a cursor is an item that is there',
  getReport: 'parameters of a query that need or exclude each other; a cursor is of the same query',
  verifyStatement: 'what is in the file',
  getUsageOfAll: 'parameters of a query that need each other; a cursor is of the same query',
  getUsage: 'period is in place of days',
  exportUsage: 'the first day is not behind the last one; by an axis two formats are',
  supposeUsage: 'period is in place of days; two tiers differ; upstreams that there are',
  replayLimit: 'one limit at a time; what it may say, by its kind; period is in place of days',
  tryLimit: 'one limit at a time; what it may say, by its kind; a default is of no client',
  setLimit: 'what a limit may say, by its kind; days to come',
  changeLimit: 'the kind of the limit with this id says what it may say',
  raiseLimit: 'the kind of the limit with this id; moments gone by',
  topUpBudget: 'the limit with this id is a budget in total',
  addReceiver: 'the host of a URL is one; kinds that are about no single client',
  addAdjustment: 'days to come',
  reprice: 'days to come',
  rebuildDay: 'days to come',
  retryDeadLetters: 'one of two fields',
  importInvoice: 'what is in the file',
  importPrices: 'one of two fields; what is in the list',
  diff: 'what is in the document',
  apply: 'what is in the document, and the plan',
  acceptPriceDoubt: 'one of three ways to name prices',
  getReceipt: 'a key in the query, beside one that is read before it, is a parameter',
  getOwnUsage: 'period is in place of days',
  getOwnReport: 'parameters of a query that need or exclude each other; a cursor is of the same query',
  exportOwnUsage: 'the first day is not behind the last one',
  listOwnCalls: 'the first day is not behind the last one',
  listOwnKeys: 'a cursor is an item that is there',
  listOwnMembers: 'a cursor is an item that is there',
  createOwnKey: SEEN,
  rotateOwnKey: 'a length of time is a day at most',
}

/** Some 15,000 requests, one after the other. */
const TRIED_MS = 20 * 60_000

/** Of clients: what is not a GET there goes upstream, and none is in this test. */
const PROXIED = [
  ...['listModels', 'getModel', 'listModelsAsGoogle', 'getModelAsGoogle'],
  ...['getUsage', 'getReceipt'],
]

/** Which paths are tried together, at one listener with one token. A sign-out would end the token of the others. */
const TRIED = {
  operators: /^\/(admin\/v1\/|healthz|readyz|openapi|metrics|dashboard)/,
  clients: /^\/v1(beta)?\//,
  members: /^\/portal(\/v1\/(?!session$)|$)/,
  'sign-in': /^\/portal\/v1\/session$/,
}
/** Everything else goes there. */
const UPSTREAM = '/{upstream_path}'

/** Of an operation that is in both lists, one table says both. */
function settings(): string {
  // A text beyond its length may be beyond the size of a body, too.
  const tooLarge = 'checks.negative_data_rejection.expected-statuses = ["4xx", "5xx"]\n'
  return (
    tooLarge +
    [...new Set([...Object.keys(UNSAID), ...PROXIED])]
      .flatMap((id) => [
        '[[operations]]',
        `include-operation-id = "${id}"`,
        ...(id in UNSAID
          ? [
              'checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404", "409", "5xx"]',
            ]
          : []),
        ...(PROXIED.includes(id) ? ['phases.coverage.unexpected-methods = []'] : []),
      ])
      .join('\n')
  )
}

/** Runs it over the paths that fit, and gives its exit code and how many cases there were. */
async function fuzz(what: keyof typeof TRIED, url: string, token: string) {
  const report = join(folder, `${what}.txt`)
  const child = spawn(
    'python3',
    [
      ...['-m', 'schemathesis.cli', 'run', 'openapi.json', '--url', url],
      ...['--header', `Authorization: Bearer ${token}`, '--include-path-regex', TRIED[what].source],
      ...['--phases', 'examples,coverage,fuzzing,stateful', '--max-examples', `${CASES_EACH}`],
      ...['--seed', `${SEED}`, '--generation-deterministic', '--checks', 'all'],
      ...['--request-timeout', '30', '--workers', '1', '--no-color', '--continue-on-failure'],
    ],
    {
      cwd: folder,
      env: {
        ...process.env,
        NO_PROXY: '*',
        PYTHONPATH: inject('schemathesis'),
        PYTHONDONTWRITEBYTECODE: '1',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  const out = createWriteStream(report)
  child.stdout.pipe(out)
  child.stderr.pipe(out, { end: false })
  const code = await new Promise((resolve) => child.once('close', resolve))
  const text = await readFile(report, 'utf8')
  const [, cases = '0'] = /(\d[\d,]*) generated/.exec(text) ?? []
  return { code, text, cases: Number(cases.replaceAll(',', '')) }
}

/** The token of an owner of the group, and a member beside it. */
async function signInOwner(): Promise<string> {
  await createGroup(stack.pool, GROUP, null)
  const policy = {
    ...{ group: GROUP, members: ['members'], owners: ['owners'] },
    ...{ mostKeys: 100, models: null, memberBudgetPico: null },
  }
  const terms = { memberDays: 30, mostMembers: 10, sessionSeconds: 86_400 }
  const signIn = async (name: string, isOwner: boolean) => {
    const member = { issuer: ISSUER, subject: name, name, policy, isOwner, from: '127.0.0.1' }
    const arrival = await signInMember(stack.pool, member, terms, PEPPER, utcDayOf(Date.now()))
    if ('refused' in arrival) throw new Error(`${name}: ${arrival.refused}`)
    return arrival.made.token
  }
  await signIn('member', false)
  return await signIn('owner', true)
}

test('every path of the API description is tried once, but for what goes upstream', () => {
  const fitting = Object.keys(document.paths).map((path) => ({
    path,
    tried: Object.values(TRIED).filter((paths) => paths.test(path)).length,
  }))
  expect(fitting.filter(({ tried }) => tried !== 1)).toEqual([{ path: UPSTREAM, tried: 0 }])
})

test(
  '5,000 requests that the API description allows or forbids are answered as it says',
  async () => {
    const portal = `http://127.0.0.1:${stack.gateway.portalAddress?.port}`
    const runs = [await fuzz('operators', admin, TOKEN)]
    // Behind the operators', who disable clients.
    const { key } = await stack.addClient('fuzzed')
    runs.push(
      await fuzz('clients', stack.url, key),
      await fuzz('members', portal, await signInOwner()),
      await fuzz('sign-in', portal, key),
    )
    for (const { code, text } of runs) expect(code, text.slice(-20_000)).toBe(0)
    expect(runs.reduce((sum, { cases }) => sum + cases, 0)).toBeGreaterThanOrEqual(CASES)
  },
  TRIED_MS,
)
