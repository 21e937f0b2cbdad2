import type { z } from 'zod'
import type { ReceiverSchema } from '../../src/alerts/operations.ts'
import type { listAxes } from '../../src/corrections/operations/axes.ts'
import type { listInvoices } from '../../src/corrections/operations/invoices.ts'
import type { reconcileOperation } from '../../src/corrections/operations/reconcile.ts'
import type { repriceOperation } from '../../src/corrections/operations/reprice.ts'
import type { verifyOperation } from '../../src/corrections/operations/verify.ts'
import type { doctorOperation, listProcesses } from '../../src/doctor/health-operations.ts'
import type { listClientsOperation } from '../../src/keys/operations/clients.ts'
import type { listGroupsOperation } from '../../src/keys/operations/groups.ts'
import type { listKeysOperation } from '../../src/keys/operations/keys.ts'
import type { listNetworksOperation } from '../../src/keys/operations/networks.ts'
import type { listTokensOperation } from '../../src/keys/operations/tokens.ts'
import type { ledgerGaps, ledgerStatus } from '../../src/ledger/operations/ledger.ts'
import type { listLimitChanges, listLimits } from '../../src/limits/operations/list-limits.ts'
import type { listRefused } from '../../src/limits/operations/refused.ts'
import type { listTried } from '../../src/limits/operations/tried.ts'
import type { listAudit } from '../../src/operations/audit/audit-operation.ts'
import type { listContracts } from '../../src/pricing/operations/contracts.ts'
import type { listDoubts } from '../../src/pricing/operations/doubts.ts'
import type { showModelPrices } from '../../src/pricing/operations/show.ts'
import type { listLetters } from '../../src/rollup/dead-letter-operations.ts'
import type { showGroupStatement } from '../../src/statements/group-statement.ts'
import type { listStatements, showStatement } from '../../src/statements/operations.ts'
import type { explainOperation } from '../../src/usage/calls/call-operations.ts'
import type { listCallsOperation } from '../../src/usage/calls/list-operations.ts'
import type { listCharges } from '../../src/usage/operations/charges.ts'
import type { groupUsage } from '../../src/usage/operations/group-usage.ts'
import type { listContradictions, listDifferences } from '../../src/usage/operations/price-checks.ts'
import type { reportOperation } from '../../src/usage/operations/report.ts'
import type { listUnpriced } from '../../src/usage/operations/unpriced.ts'

/** What an operation answers: the page has no second description of it. */
type AnswerOf<Operation extends { readonly answer: z.ZodType }> = z.output<Operation['answer']>
type RowOf<Operation extends { readonly answer: z.ZodType<readonly unknown[]> }> = AnswerOf<Operation>[number]

export type Report = AnswerOf<typeof reportOperation>
export type ReportRow = Report['rows'][number]
export type Axis = RowOf<typeof listAxes>
export type Verification = AnswerOf<typeof verifyOperation>
export type Client = RowOf<typeof listClientsOperation>
export type Group = RowOf<typeof listGroupsOperation>
export type GroupUsage = AnswerOf<typeof groupUsage>
export type GroupStatement = AnswerOf<typeof showGroupStatement>
export type Key = RowOf<typeof listKeysOperation>
export type Network = RowOf<typeof listNetworksOperation>
export type Token = RowOf<typeof listTokensOperation>
export type Limit = RowOf<typeof listLimits>
export type Tried = RowOf<typeof listTried>
export type LimitChange = RowOf<typeof listLimitChanges>
export type Refused = RowOf<typeof listRefused>
export type Audited = RowOf<typeof listAudit>
export type Doubt = RowOf<typeof listDoubts>
export type ModelPrices = AnswerOf<typeof showModelPrices>
export type Repricing = AnswerOf<typeof repriceOperation>
export type Difference = RowOf<typeof listDifferences>
export type Contradictions = AnswerOf<typeof listContradictions>
export type Unpriced = RowOf<typeof listUnpriced>
export type CostOfCall = RowOf<typeof explainOperation>
export type Charge = RowOf<typeof listCharges>
export type Contract = RowOf<typeof listContracts>
export type InvoiceImport = RowOf<typeof listInvoices>
export type Reconciliation = AnswerOf<typeof reconcileOperation>
export type StatedMonth = AnswerOf<typeof showStatement>
export type ClosedMonth = RowOf<typeof listStatements>
export type Ledger = AnswerOf<typeof ledgerStatus>
export type Gap = RowOf<typeof ledgerGaps>
export type DeadLetter = RowOf<typeof listLetters>
export type Health = AnswerOf<typeof doctorOperation>
export type Process = RowOf<typeof listProcesses>
export type Receiver = z.output<ReceiverSchema>
export type Call = RowOf<typeof listCallsOperation>
