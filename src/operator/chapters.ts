import { alertsChapter } from '../alerts/operations.ts'
import {
  addAdjustmentOperation,
  endRuleOperation,
  listAdjustmentsOperation,
  listRulesOperation,
} from '../corrections/operations/adjustments.ts'
import { AXES_CHAPTER, type AxisPorts } from '../corrections/operations/axes.ts'
import { INVOICE_CHAPTER } from '../corrections/operations/invoices.ts'
import { RECONCILE_CHAPTER, type ReconcilePorts } from '../corrections/operations/reconcile.ts'
import { repriceOperation } from '../corrections/operations/reprice.ts'
import { rebuildOperation, verifyOperation } from '../corrections/operations/verify.ts'
import { whatIfOperation } from '../corrections/operations/what-if.ts'
import { ALERTS } from '../doctor/conditions.ts'
import { DOCTOR_CHAPTER, type DoctorPorts, GATEWAYS_CHAPTER } from '../doctor/health-operations.ts'
import { PROCESS_CHAPTERS } from '../doctor/process-operations.ts'
import {
  createClientOperation,
  disableClientOperation,
  enableClientOperation,
  listClientsOperation,
  moveClientOperation,
  renameClientOperation,
  showClientOperation,
} from '../keys/operations/clients.ts'
import {
  createGroupOperation,
  listGroupsOperation,
  moveGroupOperation,
  removeGroupOperation,
  renameGroupOperation,
} from '../keys/operations/groups.ts'
import {
  createKeyOperation,
  type KeyPorts,
  listKeysOperation,
  revokeKeyOperation,
} from '../keys/operations/keys.ts'
import { listNetworksOperation } from '../keys/operations/networks.ts'
import { ownAccount, ownKeys } from '../keys/operations/own-keys.ts'
import { PORTAL_CHAPTER } from '../keys/operations/portal-tokens.ts'
import { SECRETS_CHAPTER, type SecretPorts } from '../keys/operations/secrets.ts'
import { makeSigningSecretOperation } from '../keys/operations/signing-secrets.ts'
import { TOKEN_CHAPTER } from '../keys/operations/tokens.ts'
import { BACKUP_CHAPTERS, type BackupPorts } from '../ledger/operations/backup.ts'
import { claimStores } from '../ledger/operations/claim.ts'
import { JOURNAL_CHAPTER, type JournalPorts } from '../ledger/operations/journal.ts'
import { type LedgerPorts, ledgerGaps, ledgerStatus } from '../ledger/operations/ledger.ts'
import { MIGRATE_CHAPTER } from '../ledger/operations/migrate.ts'
import { PRODUCERS_CHAPTER } from '../ledger/operations/producers.ts'
import { disableMember, listMembers, setMemberBudget } from '../limits/members/operations.ts'
import { createOwnKey, type MemberPorts, revokeOwnKey, rotateOwnKey } from '../limits/members/own-keys.ts'
import { LIMITS } from '../limits/operations/chapter.ts'
import { type OwnLimitPorts, ownLimits, ownRefused } from '../limits/operations/own-limits.ts'
import { rotateKeyOperation } from '../limits/operations/rotate-key.ts'
import { COMPARE_CHAPTER } from '../litellm/compare/compare-operation.ts'
import { CONFIG_CHAPTER } from '../litellm/config/config-operation.ts'
import { importKeysOperation } from '../litellm/keys/import-operation.ts'
import { JOBS_CHAPTER } from '../objects/job-operations.ts'
import { AUDIT_CHAPTER } from '../operations/audit/audit-operation.ts'
import type { AnyOperation, Chapter } from '../operations/operation.ts'
import { CONTRACT_CHAPTER } from '../pricing/operations/contracts.ts'
import { acceptDoubted, listDoubts } from '../pricing/operations/doubts.ts'
import { importPrices } from '../pricing/operations/import.ts'
import { type OwnPricePorts, ownModels } from '../pricing/operations/own-prices.ts'
import { showModelPrices } from '../pricing/operations/show.ts'
import { diffPrices, type UpdatePorts, updatePrices } from '../pricing/operations/update.ts'
import { DEAD_LETTERS_CHAPTER } from '../rollup/dead-letter-operations.ts'
import { BILLING_CHAPTER } from '../statements/billing/operations.ts'
import { showGroupStatement } from '../statements/group-statement.ts'
import { STATEMENTS_CHAPTER, type StatementPorts } from '../statements/operations.ts'
import { CALLS_CHAPTER } from '../usage/calls/call-operations.ts'
import { CHARGE_CHAPTER } from '../usage/operations/charges.ts'
import { groupUsage } from '../usage/operations/group-usage.ts'
import { KAFKA_CHAPTER } from '../usage/operations/kafka.ts'
import { ownCalls } from '../usage/operations/own-calls.ts'
import { exportOwnUsage, ownUsage } from '../usage/operations/own-usage.ts'
import { listContradictions, listDifferences } from '../usage/operations/price-checks.ts'
import { ownReport, REPORT_CHAPTER } from '../usage/operations/report.ts'
import { listUnpriced, type UnpricedPorts } from '../usage/operations/unpriced.ts'
import { USAGE_CHAPTER, type UsagePorts } from '../usage/operations/usage.ts'
import { type ApplyPorts, applyChapters } from './apply/apply-operations.ts'
import { PROVE_CHAPTER, type ProvePorts } from './prove-operation.ts'

/** What the operations of all chapters use. */
export interface AllPorts
  extends KeyPorts,
    LedgerPorts,
    DoctorPorts,
    UsagePorts,
    AxisPorts,
    UnpricedPorts,
    UpdatePorts,
    ReconcilePorts,
    StatementPorts,
    BackupPorts,
    SecretPorts,
    JournalPorts,
    ProvePorts,
    ApplyPorts {}

const operationsOf = (chapters: readonly Chapter<AllPorts>[]) =>
  chapters.flatMap(({ operations }) => operations)

const OWN_CHAPTERS: readonly Chapter<AllPorts>[] = [
  SECRETS_CHAPTER,
  {
    words: 'client',
    about: 'The accounts that usage is summed up for.',
    operations: [
      createClientOperation,
      listClientsOperation,
      showClientOperation,
      renameClientOperation,
      moveClientOperation,
      disableClientOperation,
      enableClientOperation,
    ],
  },
  {
    words: 'group',
    about: 'Groups of clients, such as teams and departments.',
    operations: [
      createGroupOperation,
      listGroupsOperation,
      renameGroupOperation,
      moveGroupOperation,
      removeGroupOperation,
      groupUsage,
      showGroupStatement,
    ],
  },
  {
    words: 'key',
    about: 'The API keys that clients call with.',
    operations: [
      createKeyOperation,
      listKeysOperation,
      listNetworksOperation,
      revokeKeyOperation,
      rotateKeyOperation,
      makeSigningSecretOperation,
      importKeysOperation,
    ],
  },
  TOKEN_CHAPTER,
  PORTAL_CHAPTER,
  AUDIT_CHAPTER,
  LIMITS,
  { ...USAGE_CHAPTER, operations: [...USAGE_CHAPTER.operations, whatIfOperation] },
  REPORT_CHAPTER,
  AXES_CHAPTER,
  alertsChapter(ALERTS),
  CALLS_CHAPTER,
  {
    words: 'prices',
    about: 'What calls cost, and why.',
    operations: [
      showModelPrices,
      listUnpriced,
      listDifferences,
      listContradictions,
      repriceOperation,
      listRulesOperation,
      endRuleOperation,
      updatePrices,
      diffPrices,
      importPrices,
      listDoubts,
      acceptDoubted,
    ],
  },
  CONTRACT_CHAPTER,
  CHARGE_CHAPTER,
  {
    words: 'adjustment',
    about: 'Corrections of cost, each with its reason.',
    operations: [addAdjustmentOperation, listAdjustmentsOperation],
  },
  STATEMENTS_CHAPTER,
  BILLING_CHAPTER,
  INVOICE_CHAPTER,
  RECONCILE_CHAPTER,
  COMPARE_CHAPTER,
  CONFIG_CHAPTER,
  JOBS_CHAPTER,
  {
    words: 'ledger',
    about: 'Whether what was counted is right.',
    operations: [ledgerStatus, ledgerGaps, verifyOperation, rebuildOperation, claimStores],
  },
  DEAD_LETTERS_CHAPTER,
  JOURNAL_CHAPTER,
  PRODUCERS_CHAPTER,
  KAFKA_CHAPTER,
  MIGRATE_CHAPTER,
  ...BACKUP_CHAPTERS,
  GATEWAYS_CHAPTER,
  ...PROCESS_CHAPTERS,
  DOCTOR_CHAPTER,
  PROVE_CHAPTER,
]

/** Every chapter that declares operations, in the order of the command line's help. */
export const CHAPTERS: readonly Chapter<AllPorts>[] = [
  ...OWN_CHAPTERS,
  ...applyChapters(operationsOf(OWN_CHAPTERS)),
]

export const OPERATIONS: readonly AnyOperation<AllPorts>[] = operationsOf(CHAPTERS)

/** What operations of clients use. */
export interface OwnPorts extends OwnLimitPorts, OwnPricePorts, MemberPorts {}

/** What a client may ask about itself, and change where it is a member, on the listener of the clients' page. */
export const CLIENT_OPERATIONS: readonly AnyOperation<OwnPorts>[] = [
  ownAccount,
  ownUsage,
  ownReport,
  exportOwnUsage,
  ownLimits,
  ownRefused,
  ownModels,
  ownCalls,
  ownKeys,
  createOwnKey,
  rotateOwnKey,
  revokeOwnKey,
  listMembers,
  setMemberBudget,
  disableMember,
]
