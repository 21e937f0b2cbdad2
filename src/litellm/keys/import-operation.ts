import { z } from 'zod'
import { parsedJson } from '../../domain/json.ts'
import type { KeyPorts } from '../../keys/operations/keys.ts'
import { describeSort, renderAmount } from '../../limits/limit-document.ts'
import {
  shownChoice,
  shownCount,
  shownDocument,
  shownFlag,
  shownList,
  shownMomentOrNull,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import { Failure } from '../../operations/failure.ts'
import { choiceField, flagField, textField } from '../../operations/fields.ts'
import { renderedOperation } from '../../operations/operation.ts'
import { invalid } from '../../operations/refuse.ts'
import { renderTable } from '../../operations/table.ts'
import { type Imported, type ImportedKey, importKeys } from './import-keys.ts'
import type { MappedLimit } from './map-limits.ts'
import { type LeftKey, type PlannedKey, planKeys } from './plan-keys.ts'
import { readDatabase } from './read-tables.ts'
import { type LiteLlmTables, TABLE_NAMES } from './tables.ts'

const MAX_ROWS = 100_000
const BODY_LIMIT_BYTES = 64 * 1024 * 1024

function rowsField(member: keyof typeof TABLE_NAMES) {
  return z
    .array(z.record(z.string(), z.unknown()), 'must be a list of rows')
    .max(MAX_ROWS, `must be at most ${MAX_ROWS} rows`)
    .describe(`Rows of ${TABLE_NAMES[member]}, with its names of columns.`)
}

const KEY = {
  name: shownText('Its alias there, or litellm.'),
  prefix: shownText('The part of the key that is shown there, or the beginning of its hash.'),
}

const IMPORTED_KEYS = shownDocument('ImportedKeys', {
  dry_run: shownFlag('Nothing was written.'),
  taken: shownCount('Keys that were taken.'),
  known: shownCount('Keys that were taken before. Nothing of them is changed.'),
  left: shownCount('Keys that were not taken.'),
  clients_made: shownList(z.string(), 'Names of the clients that were made for teams and users.'),
  keys: shownList(
    z.strictObject({
      ...KEY,
      state: shownChoice(['taken', 'known', 'left'], 'What became of it.'),
      client: shownTextOrNull('Its client here. null: it was left.'),
      models: z.array(z.string()).nullable().describe('The models that it may use. null: every model.'),
      expires_at: shownMomentOrNull('Its end. null: it has none.'),
      revoked: shownFlag('It is blocked there, and refused here for good.'),
      limits: shownList(z.string(), 'Its own limits.'),
      lost: shownList(z.string(), 'What is not taken of it.'),
      why: shownTextOrNull('Why it was left. null: it was not.'),
    }),
    'Each key.',
  ),
})

const TABLES = z.object(
  {
    keys: rowsField('keys'),
    teams: rowsField('teams').default([]),
    users: rowsField('users').default([]),
    budgets: rowsField('budgets').default([]),
  },
  'must be an object with keys',
)

interface Found extends Imported {
  readonly isDry: boolean
}

export const importKeysOperation = renderedOperation({
  name: 'keys.import',
  summary: 'Takes keys that another gateway made, by their hashes: clients go on with the keys they have.',
  description:
    'The rows are those of its tables. Teams and users become clients, budgets and rates limits. Sent twice, the second changes nothing.',
  role: 'admin',
  http: {
    method: 'POST',
    path: '/keys/import',
    id: 'importKeys',
    body: 'KeyImport',
    bodyLimitBytes: BODY_LIMIT_BYTES,
    without: ['database', 'tables'], // a server reads no database that someone names
  },
  input: {
    from: choiceField(['litellm'], 'The gateway that made them.').default('litellm'),
    database: textField('The DATABASE_URL of LiteLLM. It is only read.', 'url').optional(),
    tables: z
      .string('must be a text')
      .optional()
      .describe('A file of JSON with the rows: {"keys": [], "teams": [], "users": [], "budgets": []}.'),
    keys: rowsField('keys').optional(),
    teams: rowsField('teams').default([]),
    users: rowsField('users').default([]),
    budgets: rowsField('budgets').default([]),
    partly: flagField(
      'Keys are taken too where a limit of theirs has nothing like it here. They may then use more than there.',
    ).default(false),
    dry_run: flagField('Says what would be done, and does nothing.').default(false),
  },
  answer: IMPORTED_KEYS,
  gives: 'What became of each key.',
  check({ database, tables, keys }) {
    const given = [database, tables, keys].filter((one) => one !== undefined)
    if (given.length !== 1) throw invalid(keys === undefined ? 'database' : 'keys', ONE_SOURCE)
  },
  async run(
    { pool, keyPeppers, newKeyPepper }: KeyPorts,
    { partly, dry_run: isDry, database, tables, keys = [], teams, users, budgets },
    who,
  ) {
    newKeyPepper() // says what to set where it is missing
    const read =
      database !== undefined
        ? await readDatabase(database)
        : tables !== undefined
          ? readWritten(tables)
          : { keys, teams, users, budgets }
    const plan = planKeys(read, partly)
    const imported = await importKeys(pool, { keys: plan.keys, peppers: keyPeppers, who, isDry })
    return { ...imported, left: [...plan.left, ...imported.left], isDry }
  },
  render: renderImported,
  changes: {
    event: 'admin.key_created',
    says: 'keys of another gateway taken',
    inParts: true,
    log: ({ keys, left, isDry }) => (isDry ? null : { taken: takenOf(keys).length, left: left.length }),
    isAnnounced: true,
  },
  command: {
    words: 'key import',
    options: { tables: '--file <file>', keys: null, teams: null, users: null, budgets: null },
    print: (found) => importedText(renderImported(found)),
  },
})

function readWritten(json: string): LiteLlmTables {
  const written = parsedJson(json)
  if (written === undefined) throw new Failure('the file is not JSON')
  const read = TABLES.safeParse(written)
  if (read.success) return read.data
  const [issue] = read.error.issues
  throw new Failure(`in the file, ${String(issue?.path[0] ?? 'the JSON')} ${issue?.message}`)
}

const ONE_SOURCE = 'must be the one place where the rows are: a database, a file or keys'

function renderImported({ isDry, keys, left, clients }: Found) {
  return {
    dry_run: isDry,
    taken: takenOf(keys).length,
    known: keys.length - takenOf(keys).length,
    left: left.length,
    clients_made: clients,
    keys: [
      ...keys.map(({ key, client, state }) => ({ ...renderKey(key), state, client, why: null })),
      ...left.map(renderLeft),
    ],
  }
}

function takenOf(keys: readonly ImportedKey[]): readonly ImportedKey[] {
  return keys.filter(({ state }) => state === 'taken')
}

function renderKey({ name, prefix, models, expiresAt, isRevoked, limits, lost }: PlannedKey) {
  return {
    name,
    prefix,
    models: models === null ? null : [...models],
    expires_at: expiresAt?.toISOString() ?? null,
    revoked: isRevoked,
    limits: limits.map(limitText),
    lost,
  }
}

function renderLeft({ name, prefix, why }: LeftKey) {
  return {
    name,
    prefix,
    state: 'left' as const,
    client: null,
    models: null,
    expires_at: null,
    revoked: false,
    limits: [],
    lost: [],
    why,
  }
}

function limitText(limit: MappedLimit): string {
  const amount = renderAmount(limit, limit.amount)
  return `${amount} ${limit.kind === 'budget' ? 'USD, ' : ''}${describeSort(limit)}${limit.model === null ? '' : ` of ${limit.model}`}`
}

/** The text of the command. */
function importedText(document: ReturnType<typeof renderImported>): string {
  const table = renderTable(
    ['KEY', 'NAME', 'STATE', 'CLIENT', 'MODELS', 'LIMITS', 'NOT TAKEN'].map((heading) => ({ heading })),
    document.keys.map((key) => [
      key.prefix,
      key.name,
      key.revoked ? `${key.state}, revoked` : key.state,
      key.client ?? '',
      key.state === 'left' ? '' : (key.models?.join(',') ?? 'all'),
      key.limits.join('; '),
      key.why ?? key.lost.join('; '),
    ]),
  )
  const { taken, known, left, dry_run: isDry } = document
  const done = isDry ? 'would be taken' : 'taken'
  const spent =
    'What was spent there of daily, weekly and monthly budgets is not taken: their period begins at 0 here.'
  return `${table}\n\n${taken} keys ${done}, ${known} known already, ${left} left. ${spent}`
}
