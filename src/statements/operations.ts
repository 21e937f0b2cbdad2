import { z } from 'zod'
import { type Client, findClient, findClientById } from '../keys/clients.ts'
import type { LedgerPorts } from '../ledger/operations/ledger.ts'
import {
  shownDocument,
  shownFlag,
  shownList,
  shownMoment,
  shownText,
  shownTextOrNull,
} from '../operations/answers.ts'
import { clientField, groupsField, textField } from '../operations/fields.ts'
import { type Chapter, operation, renderedOperation } from '../operations/operation.ts'
import type { Ports } from '../operations/ports.ts'
import { conflict, invalid, noClient } from '../operations/refuse.ts'
import { printable, renderTable } from '../operations/table.ts'
import {
  checkReceipt,
  checkStatement,
  parsePublicKey,
  parseReceiptFile,
  parseStatementFile,
} from './check-statement.ts'
import {
  type ClosedMonth,
  type ClosedStatement,
  closeStatement,
  findClosed,
  selectClosed,
} from './close-statement.ts'
import { findOpenEnds, numbered, OPEN_ENDS, type OpenEnd } from './open-ends.ts'
import { selectStatement } from './select-statement.ts'
import { publicKeyOf } from './signed-statement.ts'
import { MONTH, STATED, STATEMENT, type StatedMonth, statementDocument } from './statement-document.ts'

export interface StatementPorts extends LedgerPorts {
  /** The pepper that statements are signed under. Throws where it is not configured. */
  newKeyPepper(): string
}

const CLIENT = textField('The name of the client, or its id.', 'name')
function stated(closed: ClosedStatement): StatedMonth {
  return {
    statement: STATEMENT.parse(JSON.parse(closed.document)),
    provisional: [],
    sha256: closed.sha256.toString('hex'),
    signature: closed.signature.toString('base64'),
    public_key: closed.publicKey.toString('base64'),
  }
}

/** Of a statement with 40,000 lines. */
const MOST_CHARACTERS = 16 * 1024 * 1024
const MOST_OF_RECEIPT = 1024 * 1024

export const showStatement = operation({
  name: 'statements.show',
  summary: 'Shows what a client owes for a month, line by line.',
  description:
    'A month that is closed is as it was signed. The figures of another may change, and `provisional` says by what.',
  role: 'read',
  http: { method: 'GET', path: '/clients/{id}/statements/{month}', id: 'getStatement' },
  input: { id: CLIENT, month: MONTH },
  answer: STATED,
  gives: 'The statement.',
  errors: ['not_found'],
  async run(ports: StatementPorts, { id, month }): Promise<StatedMonth> {
    const client = await getClient(ports, id)
    const closed = await findClosed(ports.pool, client.id, month)
    if (closed !== null) return stated(closed)
    const [statement, provisional] = await Promise.all([
      selectStatement(ports.pool, client, month),
      findOpenEnds(ports, client.id, month),
    ])
    return {
      ...{ statement: statementDocument(statement, null), provisional },
      ...{ sha256: null, signature: null, public_key: null },
    }
  },
  command: {
    words: 'statement show',
    options: { id: '<client>', month: '<month>' },
    print: statementText,
  },
})

const closeOperation = operation({
  name: 'statements.close',
  summary: "Closes a client's month: its statement is signed, and never changes.",
  description:
    'What changes the cost of its calls later is a line of the next month. Months are closed in their order.',
  role: 'admin',
  http: {
    method: 'POST',
    path: '/clients/{id}/statements/{month}',
    id: 'closeStatement',
    status: 201,
    body: 'StatementClosing',
  },
  input: {
    id: CLIENT,
    month: MONTH,
    accepted: groupsField(
      OPEN_ENDS.filter((name) => name !== 'month_not_over'),
      'What may still change the month, and is taken as it is.',
    ).optional(),
  },
  answer: STATED,
  gives: 'The closed statement.',
  errors: ['not_found', 'conflict'],
  changes: {
    event: 'admin.statement_closed',
    says: 'statement of a client closed',
    log: ({ statement }) => ({ client: statement.client_id, month: statement.month }),
    // Its transaction reads one snapshot, which none around it would have.
    inParts: true,
  },
  async run(ports: StatementPorts, { id, month, accepted = [] }, who): Promise<StatedMonth> {
    const client = await getClient(ports, id)
    const ends = await findOpenEnds(ports, client.id, month)
    const left = ends.filter((open) => open.name === 'month_not_over' || !accepted.includes(open.name))
    if (left.length > 0)
      throw conflict(
        `The month may still change. ${left.map(({ name, says }) => `${name}: ${says}`).join(' ')}`,
        'month',
      )
    const taken = ends.map((open) => open.name)
    const pepper = ports.newKeyPepper()
    return stated(
      await closeStatement(ports.pool, client, month, { accepted: taken, who, pepper, nowMs: ports.now() }),
    )
  },
  command: {
    words: 'statement close',
    options: { id: '<client>', month: '<month>' },
    print: ({ statement, sha256 }) =>
      `${statement.month} of ${printable(statement.client)} is closed: ${statement.rounded_usd} USD, SHA-256 ${sha256}.`,
  },
})

export const listStatements = renderedOperation({
  name: 'statements.list',
  summary: 'Shows the months that are closed, the newest first, at most 1,000.',
  role: 'read',
  http: { method: 'GET', path: '/statements', id: 'listStatements' },
  input: {
    client: clientField('The name of a client, or its id. Without it: all.').optional(),
    month: MONTH.optional(),
  },
  answer: shownList(
    shownDocument('ClosedMonth', {
      client: shownText('The name of the client when the month was closed.'),
      client_id: shownText('The id of the client.'),
      month: shownText('YYYY-MM, UTC.'),
      total_usd: shownText('US dollars to the last of 12 places, as decimal text.'),
      closed_at: shownMoment('When it was closed.'),
      closed_by: shownText('Who closed it.'),
      sha256: shownText('Of the statement as JSON without spaces, in hex.'),
    }),
  ),
  gives: 'The closed months.',
  errors: ['not_found'],
  async run(ports: Ports, { client, month = null }) {
    const id = client === undefined ? null : (await getClient(ports, client)).id
    return await selectClosed(ports.pool, id, month)
  },
  render: (months: readonly ClosedMonth[]) => months.map(renderClosed),
  command: {
    words: 'statement list',
    print: {
      empty: 'No month is closed. Close one: statement close CLIENT MONTH',
      columns: [
        { heading: 'MONTH', cell: ({ month }) => month },
        { heading: 'CLIENT', cell: ({ client }) => client },
        { heading: 'TOTAL (USD)', align: 'right', cell: ({ totalUsd }) => totalUsd },
        { heading: 'CLOSED', cell: ({ closedAt }) => closedAt.toISOString() },
        { heading: 'SHA-256', cell: ({ sha256 }) => sha256.toString('hex') },
      ],
    },
  },
})

const statementKey = operation({
  name: 'statements.key',
  summary: 'Shows the public key that statements are signed with.',
  description: 'It is made of the pepper of keys. Give it to those who check their statements.',
  role: 'read',
  http: { method: 'GET', path: '/statements/key', id: 'getStatementKey' },
  input: {},
  answer: shownDocument('StatementKey', { public_key: shownText('Ed25519, in base64.') }),
  gives: 'The key.',
  run: async (ports: StatementPorts) => ({
    public_key: publicKeyOf(ports.newKeyPepper()).toString('base64'),
  }),
  command: { words: 'statement key', print: ({ public_key: key }) => key },
})

const verifyStatement = operation({
  name: 'statements.verify',
  summary: 'Checks a statement from a file alone: its signature, its hash, and its sums.',
  role: 'read',
  http: {
    method: 'POST',
    path: '/statements/verify',
    id: 'verifyStatement',
    body: 'StatementFile',
    // The texts are within JSON, where their quotation marks take two bytes each.
    bodyLimitBytes: 2 * (MOST_CHARACTERS + MOST_OF_RECEIPT),
  },
  needsNoStores: true,
  input: {
    file: z
      .string('must be a text')
      .max(MOST_CHARACTERS, 'must be at most 16 Mi characters')
      .describe('What `statement show --json` wrote.'),
    receipt: z
      .string('must be a text')
      .max(MOST_OF_RECEIPT, 'must be at most 1 Mi characters')
      .describe('What GET /v1/usage/calls/{id} answered: whether the statement is made of it too.')
      .optional(),
    public_key: textField(
      'The key that it has to be signed with, in base64: `statement key`.',
      'key',
    ).optional(),
  },
  answer: shownDocument('CheckedStatement', {
    ok: shownFlag('Nothing is wrong.'),
    client: shownText('The name of the client.'),
    month: shownText('YYYY-MM, UTC.'),
    total_usd: shownText('What is owed, as decimal text.'),
    public_key: shownTextOrNull('The key that signed it, in base64.'),
    problems: shownList(z.string(), 'What is wrong.'),
  }),
  gives: 'What was found.',
  async run(_: Ports, { file, receipt: receiptText, public_key: key }) {
    const parsed = parseStatementFile(file)
    if (parsed === null) throw invalid('file', 'must be what statement show --json wrote')
    const expectedKey = key === undefined ? null : parsePublicKey(key)
    if (key !== undefined && expectedKey === null) throw invalid('public_key', 'must be 32 bytes in base64')
    const receipt = receiptText === undefined ? undefined : parseReceiptFile(receiptText)
    if (receipt === null) throw invalid('receipt', 'must be what GET /v1/usage/calls/{id} answered')
    const problems = [
      ...checkStatement(parsed, expectedKey),
      ...(receipt === undefined ? [] : checkReceipt(receipt, parsed, expectedKey)),
    ]
    const { client, month, total_usd } = parsed.statement
    return { ok: problems.length === 0, client, month, total_usd, public_key: parsed.public_key, problems }
  },
  command: {
    words: 'statement verify',
    options: { file: '<statement-file>', receipt: '--receipt, --receipt-file <file>' },
    print: ({ ok, client, month, total_usd: total, problems }, { public_key: key }) =>
      ok
        ? `${month} of ${printable(client)}: ${total} USD, as it was signed${key === undefined ? ' by the key in the file' : ''}.`
        : problems.join('\n'),
    exitCode: ({ ok }) => (ok ? 0 : 1),
  },
})

export const STATEMENTS_CHAPTER: Chapter<StatementPorts> = {
  words: 'statement',
  about: 'What clients owe for a month.',
  operations: [showStatement, closeOperation, listStatements, statementKey, verifyStatement],
}

async function getClient({ pool }: Ports, idOrName: string): Promise<Client> {
  const found = (await findClient(pool, idOrName)) ?? (await findClientById(pool, idOrName))
  if (found === null) throw noClient(idOrName)
  return found
}

function renderClosed(closed: ClosedMonth) {
  return {
    client: closed.client,
    client_id: closed.clientId,
    month: closed.month,
    total_usd: closed.totalUsd,
    closed_at: closed.closedAt.toISOString(),
    closed_by: closed.closedBy,
    sha256: closed.sha256.toString('hex'),
  }
}

function statementText({ statement, provisional, sha256 }: StatedMonth): string {
  const rows = [
    ...statement.lines.map((line) => [
      line.model,
      line.upstream,
      [line.name, line.service_tier ?? [], markupOf(line.factor)].flat().join(', '),
      `${line.quantity}`,
      line.unit_price_usd ?? '',
      line.unit,
      line.amount_usd,
    ]),
    ...statement.corrections.map(({ id, kind, why, amount_usd }) =>
      rowOf(`${kind} ${id}: ${why}`, amount_usd),
    ),
    ...(statement.charges ?? []).map(({ category, service, from, to, reason, amount_usd }) =>
      rowOf(`${category}: ${service}, ${from === to ? from : `${from} to ${to}`} (${reason})`, amount_usd),
    ),
    ...statement.carried.map(({ month, amount_usd }) => rowOf(`since ${month} was closed`, amount_usd)),
    rowOf('total', statement.total_usd),
    rowOf('rounded', statement.rounded_usd),
  ]
  const table = renderTable(
    [
      { heading: 'MODEL' },
      { heading: 'UPSTREAM' },
      { heading: 'WHAT' },
      { heading: 'QUANTITY', align: 'right' },
      { heading: 'UNIT PRICE (USD)', align: 'right' },
      { heading: 'FOR' },
      { heading: 'AMOUNT (USD)', align: 'right' },
    ],
    rows,
  )
  const unpriced = statement.unpriced.map(
    ({ model, upstream, calls, classes }) =>
      `Not charged, as there is no price: ${classes.length === 0 ? '' : `${classes.join(', ')} of `}${numbered(calls, 'call', 'calls')} of ${printable(model)} at ${printable(upstream)}.`,
  )
  const ends = provisional.map(({ says }: OpenEnd | { readonly says: string }) => `Provisional: ${says}`)
  const accepted = statement.accepted.length === 0 ? '' : `, with ${statement.accepted.join(', ')} accepted`
  const state = sha256 === null ? ends : [`Closed ${statement.closed_at}${accepted}, SHA-256 ${sha256}.`]
  const head = `${printable(statement.client)}, ${statement.month} (UTC), ${numbered(statement.requests, 'call', 'calls')}`
  return [head, '', table, '', ...unpriced, ...state].join('\n').trimEnd()
}

/** A row that is about no model. */
function rowOf(what: string, amountUsd: string): string[] {
  return ['', '', what, '', '', '', amountUsd]
}

function markupOf(factor: string | null): string | readonly [] {
  return factor === null || factor === '1' ? [] : `markup ${factor}`
}
