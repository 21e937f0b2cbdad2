import {
  addAdjustmentOperation,
  endRuleOperation,
  listAdjustmentsOperation,
  listRulesOperation,
} from '../corrections/operations/adjustments.ts'
import { rebuildOperation, verifyOperation } from '../corrections/operations/verify.ts'
import { alertsChapter } from '../alerts/operations.ts'
import { ALERTS } from '../doctor/conditions.ts'
import { DOCTOR_CHAPTER, type DoctorPorts, GATEWAYS_CHAPTER } from '../doctor/health-operations.ts'
import { PROCESS_CHAPTERS } from '../doctor/process-operations.ts'
import { BACKUP_CHAPTERS, type BackupPorts } from '../ledger/operations/backup.ts'
import { claimStores } from '../ledger/operations/claim.ts'
import { JOURNAL_CHAPTER, type JournalPorts } from '../ledger/operations/journal.ts'
import { type LedgerPorts, ledgerGaps, ledgerStatus } from '../ledger/operations/ledger.ts'
import { PRODUCERS_CHAPTER } from '../ledger/operations/producers.ts'
import {
  createClientOperation,
  disableClientOperation,
  enableClientOperation,
  listClientsOperation,
} from '../keys/operations/clients.ts'
import {
  createKeyOperation,
  type KeyPorts,
  listKeysOperation,
  revokeKeyOperation,
} from '../keys/operations/keys.ts'
import { makeSigningSecretOperation } from '../keys/operations/signing-secrets.ts'
import { LIMITS } from '../limits/operations/chapter.ts'
import { rotateKeyOperation } from '../limits/operations/rotate-key.ts'
import { JOBS_CHAPTER } from '../objects/job-operations.ts'
import type { AnyOperation, Chapter } from '../operations/operation.ts'
import { listDoubts } from '../pricing/refresh/doubt-operations.ts'
import { DEAD_LETTERS_CHAPTER } from '../rollup/dead-letter-operations.ts'
import { CALLS_CHAPTER } from '../usage/calls/call-operations.ts'
import { KAFKA_CHAPTER } from '../usage/operations/kafka.ts'
import { listUnpriced, type UnpricedPorts } from '../usage/operations/unpriced.ts'
import { USAGE_CHAPTER, type UsagePorts } from '../usage/operations/usage.ts'

/** What the operations of all chapters use. */
export interface AllPorts
  extends KeyPorts,
    LedgerPorts,
    DoctorPorts,
    UsagePorts,
    UnpricedPorts,
    BackupPorts,
    JournalPorts {}

/** Every chapter that declares operations, in the order of the command line's help. */
export const CHAPTERS: readonly Chapter<AllPorts>[] = [
  {
    words: 'client',
    about: 'The accounts that usage is summed up for.',
    operations: [createClientOperation, listClientsOperation, disableClientOperation, enableClientOperation],
  },
  {
    words: 'key',
    about: 'The API keys that clients call with.',
    operations: [
      createKeyOperation,
      listKeysOperation,
      revokeKeyOperation,
      rotateKeyOperation,
      makeSigningSecretOperation,
    ],
  },
  LIMITS,
  USAGE_CHAPTER,
  alertsChapter(ALERTS),
  CALLS_CHAPTER,
  {
    words: 'prices',
    about: 'What calls cost, and why.',
    operations: [listUnpriced, listDoubts, listRulesOperation, endRuleOperation],
  },
  {
    words: 'adjustment',
    about: 'Corrections of cost, each with its reason.',
    operations: [addAdjustmentOperation, listAdjustmentsOperation],
  },
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
  ...BACKUP_CHAPTERS,
  GATEWAYS_CHAPTER,
  ...PROCESS_CHAPTERS,
  DOCTOR_CHAPTER,
]

export const OPERATIONS: readonly AnyOperation<AllPorts>[] = CHAPTERS.flatMap(({ operations }) => operations)
