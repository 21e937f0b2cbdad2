import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { addCredit } from '../../src/corrections/adjustments.ts'
import { parseUsdText } from '../../src/domain/pico-usd.ts'
import { createClient } from '../../src/keys/clients.ts'
import { setContract } from '../../src/pricing/contracts/contracts-table.ts'
import { CHARGE_CATEGORIES } from '../../src/usage/charges/charge.ts'
import { selectCharges, setCharge } from '../../src/usage/charges/charges-table.ts'
import { run } from '../cli/command-line.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer } from '../rollup/records.ts'
import { run as runProgram } from '../support/cached-install.ts'
import { callsOfAllCharges } from '../usage/export/all-charges.ts'

/** What holds of us, in the specification's words: rules that ask for it are not skipped. */
const WE_SUPPORT = [
  'ACCOUNT_NAMING_SUPPORTED',
  'BILLING_BASED_ON_PROVISIONED_RESOURCES_SUPPORTED',
  'MULTIPLE_BILLING_ACCOUNT_TYPES_SUPPORTED',
  'MULTIPLE_PRICING_CATEGORIES_SUPPORTED',
  'NEGOTIATED_PRICING_SUPPORTED',
  'PRICING_BILLING_CURRENCY_DIFFERENCES_SUPPORTED',
  'PUBLIC_PRICE_LIST_SUPPORTED',
  'RESOURCE_TYPE_ASSIGNMENT_SUPPORTED',
  'SUB_ACCOUNT_SUPPORTED',
  'TAGGING_SUPPORTED',
  'UNIT_PRICING_SUPPORTED',
  'USAGE_MEASUREMENT_SUPPORTED',
]

const RANGE = ['--from', '2026-03-01', '--to', '2026-04-30']

let ledger: LedgerDatabase
let folder: string

beforeAll(async () => {
  ledger = await openLedgerDatabase()
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-focus-'))
  const client = await createClient(ledger.pool, 'acme')
  if (client === null) throw new Error('the client is there already')
  const calls = callsOfAllCharges().flatMap((changes) => [
    { ...changes, clientId: client.id, arrivedAtMs: Date.parse('2026-03-31T23:59:59Z') },
    { ...changes, clientId: 'cli_gone', arrivedAtMs: Date.parse('2026-04-01T00:00:00Z') },
  ])
  const producer = newProducer()
  await ledger.rollUp(
    'test:calls',
    calls.map((changes, index) => aCandidate(producer, index + 1, aRecord(changes))),
  )
  for (const [day, pico] of [
    ['2026-03-31', -1_000_000n],
    ['2026-04-01', 7n],
  ] as const)
    await addCredit(ledger.pool, { clientId: client.id, day, model: null, pico, who: 'ann', why: 'goodwill' })
  for (const [index, category] of CHARGE_CATEGORIES.entries())
    await setCharge(ledger.pool, {
      ...{ name: `INV-${index}`, category, from: '2026-04-01', to: '2026-04-30', service: `a ${category}` },
      ...{ upstream: 'openai-eu', model: null, quantity: null, unit: null, capacityTokens: 10n ** 7n },
      ...{ clientId: index % 2 === 0 ? client.id : null, amountPico: category === 'credit' ? -3n : 5n },
      reason: 'invoice',
    })
  const contract = { id: '', upstream: 'openai-eu', model: null, serviceTier: null, from: '2026-04-01' }
  await setContract(ledger.pool, { ...contract, factor: '0.93', prices: {}, reference: '' })
  // The second is made while its month runs.
  await ledger.pool.query(
    "update tallygate.adjustment_entries set at = '2026-04-02T00:00:00Z' where day = '2026-04-01'",
  )
})

afterAll(async () => {
  await ledger?.drop()
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
})

async function exported(...more: string[]): Promise<string> {
  const { code, out, err } = await run({ DATABASE_URL: ledger.url }, 'usage', 'export', ...RANGE, ...more)
  if (code !== 0) throw new Error(err)
  return out
}

interface Checked {
  readonly passed: number
  /** Rules for what we have none of, and those that no program can check. */
  readonly skipped: number
  readonly failed: readonly string[]
}

async function validate(version: string): Promise<Checked> {
  const file = join(folder, `focus-${version}.csv`)
  await exported('--format', 'focus', '--focus-version', version, '-o', file)
  const report = join(folder, `report-${version}.xml`)
  const asked = ['--data-file', file, '--validate-version', '1.2', '--block-download']
  const how = ['--applicability-criteria', WE_SUPPORT.join(','), '--output-type', 'unittest']
  const validator = inject('installedFocusValidator')
  await runProgram(
    'python3',
    ['-m', 'focus_validator.main', ...asked, ...how, '--output-destination', report],
    {
      cwd: validator, // it finds its lists from there
      env: { ...process.env, PYTHONPATH: validator, LOG_LEVEL: 'ERROR' },
      maxBuffer: 64 * 1024 * 1024,
    },
  )
  const results = [...(await readFile(report, 'utf8')).matchAll(RESULT)]
  const idsOf = (...kinds: readonly string[]) =>
    new Set(results.flatMap(([, id = '', , kind = 'passed']) => (kinds.includes(kind) ? [id] : [])))
  const passed = idsOf('passed')
  const rules = join(validator, 'focus_validator', 'rules', 'model-1.2.0.1.json')
  const alternatives = alternativesIn(JSON.parse(await readFile(rules, 'utf8')).ModelRules, passed)
  return {
    passed: passed.size,
    skipped: idsOf('skipped').size,
    failed: [...idsOf('failure', 'error')].filter((id) => !alternatives.has(id)),
  }
}

const RESULT = /<testcase name="([^ "]+)[^>]*?(?:\/>|>\s*(<(skipped|failure|error))?)/g

interface Rule {
  readonly ValidationCriteria: {
    readonly Requirement: {
      readonly CheckFunction?: string
      readonly Items?: readonly { readonly ModelRuleId?: string }[]
    }
  }
}

/**
 * Rules of which one is enough, where it holds. The validator calls the others failed: an invoice's id cannot be both
 * null and not null.
 */
function alternativesIn(
  rules: Readonly<Record<string, Rule>>,
  passed: ReadonlySet<string>,
): ReadonlySet<string> {
  const choices = Object.values(rules).map((rule) => rule.ValidationCriteria.Requirement)
  return new Set(
    choices
      .filter(({ CheckFunction }) => CheckFunction === 'OR')
      .map(({ Items = [] }) => Items.flatMap(({ ModelRuleId }) => ModelRuleId ?? []))
      .filter((ids) => ids.some((id) => passed.has(id)))
      .flat(),
  )
}

// Of 1.3 the validator's package has no rules: what 1.2 asks for holds of it as well.
test.each([
  '1.2',
  '1.3',
])('the Foundation’s validator finds nothing wrong in an export of %s', async (version) => {
  const { passed, skipped, failed } = await validate(version)
  console.log(`FOCUS ${version}: ${passed} rules hold, ${failed.length} do not, ${skipped} are not for us`)
  expect(failed).toEqual([])
  expect(passed).toBeGreaterThan(250)
})

test('the costs of an export add up to what usage export says, to the pico-dollar', async () => {
  const sumOf = (text: string, column: string) => {
    const [header = '', ...lines] = text.trimEnd().split('\r\n')
    const place = header.split(',').indexOf(column)
    return lines.reduce((sum, line) => {
      const cells = [...line.matchAll(/(?:^|,)(?:"(?:[^"]|"")*"|([^,]*))/g)]
      return sum + parseUsdText(cells[place]?.[1] ?? '')
    }, 0n)
  }
  const total = sumOf(await exported('--format', 'csv'), 'cost_usd')
  expect(total).toBeGreaterThan(0n)
  const charges = await exported('--format', 'focus')
  const period = { fromDay: '2026-03-01', toDay: '2026-04-30' }
  const beside = await selectCharges(ledger.pool, { period, clientId: null })
  const wanted = beside.reduce((sum, { amountPico }) => sum + amountPico, total)
  expect(sumOf(charges, 'BilledCost')).toBe(wanted)
  // A credit is the client's alone, and a markup no cost of the operator.
  expect(sumOf(charges, 'EffectiveCost')).toBe(sumOf(charges, 'ContractedCost'))
})
