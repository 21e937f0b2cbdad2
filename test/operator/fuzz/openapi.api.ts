import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest'
import type * as GuessesModule from '../../../src/http/guesses.ts'
import { startStack, type TestStack } from '../../support/servers/stack.ts'

/** Requests that are made by the document, all together. */
const CASES = 5_000
const SEED = 1
/** Of each operation, in each of the phases that make requests up. */
const CASES_EACH = Number(process.env.FUZZ_CASES ?? 80)
const TOKEN = 'operator-token-of-the-tests'

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
  stack = await startStack('http://127.0.0.1:9', { env: { ADMIN_TOKEN: TOKEN }, workers: false })
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
}

/** Some 12,000 requests, one after the other. */
const TRIED_MS = 20 * 60_000

/** Of clients: what is not a GET there goes upstream, and none is in this test. */
const PROXIED = ['listModels', 'getUsage']

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
async function fuzz(url: string, schema: string, token: string, include: string, what: string) {
  const report = join(folder, `${what}.txt`)
  const child = spawn(
    'python3',
    [
      ...['-m', 'schemathesis.cli', 'run', schema, '--url', url],
      ...['--header', `Authorization: Bearer ${token}`, '--include-path-regex', include],
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

test(
  '5,000 requests that the API description allows or forbids are answered as it says',
  async () => {
    const { port } = stack.gateway.adminAddress
    const admin = `http://127.0.0.1:${port}`
    const document = JSON.parse(await (await fetch(`${admin}/openapi.json`)).text())
    const schema = join(folder, 'openapi.json')
    await writeFile(schema, JSON.stringify(document))
    const operators = await fuzz(
      admin,
      schema,
      TOKEN,
      '^/(admin/v1|healthz|readyz|openapi|metrics|dashboard)',
      'operators',
    )
    const client = await stack.addClient('fuzzed')
    const clients = await fuzz(stack.url, schema, client.key, '^/v1/(models|usage)$', 'clients')
    for (const { code, text } of [operators, clients]) expect(code, text.slice(-20_000)).toBe(0)
    expect(operators.cases + clients.cases).toBeGreaterThanOrEqual(CASES)
  },
  TRIED_MS,
)
