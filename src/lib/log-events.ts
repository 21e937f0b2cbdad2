/**
 * The events of the log: the field `event` of every line, for alerts and searches. A code never changes its meaning;
 * messages may be reworded. `area.what`, and what has happened.
 */
export const LOG_EVENTS = {
  'admin.applied':
    'the operator applied a declaration of clients, keys, limits, alerts, contracts and charges',
  'admin.charge_changed': 'the operator set, removed or shared out what is charged beside calls',
  'admin.client_changed': 'the operator renamed, disabled or enabled a client',
  'admin.client_created': 'the operator created a client',
  'admin.value_erased': 'the operator had the value of an axis erased',
  'admin.contract_changed': 'the operator set or removed what is paid to a provider',
  'admin.cost_corrected': 'the operator adjusted, rebuilt or repriced costs',
  'admin.statement_closed': 'the operator closed a statement of a client',
  'admin.group_changed': 'the operator made, renamed, moved or removed a group of clients, or moved a client',
  'admin.billing_mapped': 'the operator said who a client is in a billing system',
  'admin.billing_off': 'the operator deleted all that was known of a billing system',
  'admin.billing_retried': 'the operator had refused events sent to a billing system again',
  'admin.billing_settled': 'the operator said whether an event has arrived at a billing system',
  'admin.billing_unmapped': 'the operator had sums of a client sent to a billing system no more',
  'admin.invoice_changed': 'the operator took, or removed, an invoice of a provider',
  'admin.kafka_off': 'the operator deleted the calls that waited for Kafka',
  'admin.key_created': 'the operator created an API key',
  'admin.key_revoked': 'the operator revoked an API key',
  'admin.key_rotated': 'the operator replaced an API key',
  'admin.letters_retried': 'the operator had dead letters counted again',
  'admin.limit_changed': 'the operator set, raised, topped up or removed a limit',
  'admin.limit_tried': 'the operator began, or ended, to try a limit',
  'admin.prices_taken': 'the operator took newer prices for all gateways',
  'admin.process_dismissed': 'the operator had a silent process dropped',
  'admin.producers_pruned': 'the operator had producers of long ago folded',
  'admin.receiver_added': 'the operator added a receiver of alerts',
  'admin.receiver_removed': 'the operator removed a receiver of alerts',
  'admin.reload_asked': 'the operator had gateways read their configuration again',
  'admin.request_failed': 'a request of the operator failed in the gateway',
  'admin.signing_secret_made': 'the operator made a signing secret for an API key',
  'admin.token_created': "the operator made a token for an operator or for a client's page",
  'admin.token_revoked': 'the operator revoked such a token',

  'adoption.abandoned_calls': 'calls that were open in a journal may or may not have been counted',
  'adoption.done': 'the records of a producer that is gone were taken over',
  'adoption.foreign_journal': 'a journal belongs to another database and stays as it is',
  'adoption.journal_missing': 'a journal is gone; what it had not shipped is lost',
  'adoption.journal_quarantined': 'a damaged journal was renamed and kept for inspection',
  'adoption.journal_unreadable': 'a journal is unreadable; what it had not shipped is lost',
  'adoption.postponed': 'a journal could not be adopted; it is tried again',
  'adoption.unreadable_call': 'a call of a dead gateway cannot be read and is not counted',

  'alerts.delivered': 'a receiver has taken an alert',
  'alerts.given_up':
    'an alert could not be delivered for a day, or its receiver is gone: it is not tried again',
  'alerts.not_delivered': 'an alert could not be delivered at the first attempt; it is tried again for a day',
  'alerts.raised': 'something happened that receivers of alerts asked for',

  'billing.back': 'a billing system takes sums of usage again',
  'billing.not_sent': 'sums of usage do not reach a billing system; they wait',

  'call.failed': 'a call failed in the gateway itself',
  'call.suspect_cost': 'a call cost more than CALL_ALERT_USD',
  'call.unmetered': 'a call went upstream unmetered, as the configuration allows',
  'call.unreadable': 'an answer could not be read; its call is counted without its figures',
  'calls.partitions_failed': 'no partition for single calls: they are counted and not kept',

  'clock.off': "the clock of this process and Postgres's differ by more than a second",
  'clock.right': "the clock of this process agrees with Postgres's again",

  'config.reload_failed': 'the changed configuration is invalid; the old one stays in force',
  'config.reloaded': 'the changed configuration is in force',

  'gateway.crashed': 'the gateway ends because of an error',
  'gateway.process_died': 'one of the gateway processes died; another one starts',
  'gateway.process_not_started': 'the system starts no process in place of one that died; it is tried again',
  'gateway.process_start_failed': 'a gateway process could not start',
  'gateway.start_failed': 'the gateway could not start',
  'gateway.started': 'the gateway takes calls',
  'gateway.stopping': 'the gateway takes no new calls and ends',
  'gateway.stores_not_closed': 'Postgres or Redis did not close their connections in time',

  'groups.read_again': 'groups are read from Postgres again',
  'groups.unreadable': 'groups cannot be read from Postgres; the last known ones hold',

  'identity.keys_fetched': 'the public keys of an identity provider are fetched again',
  'identity.keys_not_fetched':
    'the public keys of an identity provider cannot be fetched; those of before are good for a day',
  'identity.list_unreadable': 'a list of revoked tokens cannot be read; the one before goes on',

  'job.fetch_failed': 'the answer of a job that its client has not fetched could not be fetched',
  'invoices.not_fetched': 'a report of costs could not be fetched; it is tried again',
  'invoices.taken': 'a report of costs was fetched and taken',
  'invoices.unexplained': 'an invoice differs from what was counted, and nothing explains it',

  'jobs.fetch_failed': 'jobs that their clients have not fetched could not be fetched',
  'jobs.fetched': 'jobs that their clients have not fetched were fetched and counted',

  'sign_in.provider_away': 'the identity provider of operators or members is not reached; their tokens go on',
  'sign_in.provider_reached': 'the identity provider of operators or members is reached again',
  'sign_in.refused': 'an answer of the identity provider did not sign an operator or member in',

  'journal.folder_not_deleted': 'the folder of an unused journal could not be deleted',
  'journal.directory_unreadable': 'the journal directory cannot be read',
  'journal.prune_failed': 'counted records could not be deleted from the journal yet',
  'journal.recovered': 'the journal takes records again',
  'journal.rewrite_failed': 'what could not be synced could not be written to another file either',
  'journal.sync_failed': 'the journal could not be synced to disk',
  'journal.unreadable': 'the journal cannot be read',
  'journal.full': 'the journal takes no records: the disk is full, or JOURNAL_MAX_BYTES is reached',
  'journal.unwritable': 'the journal cannot be written, for another reason than a full disk',

  'kafka.back': 'calls are sent to Kafka again',
  'kafka.not_sent': 'calls cannot be sent to Kafka; they wait in Postgres',
  'kafka.outbox_full': 'too many calls wait for Kafka; further ones are counted and not sent',

  'keys.expired': 'Postgres is away longer than KEY_GRACE_SECONDS; no API key is accepted',
  'keys.last_use_not_saved': 'the last use of API keys could not be saved',
  'keys.listener_failed': 'the connections of a revoked API key could not all be ended',
  'keys.read_again': 'API keys are read from Postgres again',
  'keys.unreadable': 'API keys cannot be read from Postgres; known ones stay valid for a time',

  'ledger.database_changed': 'another database answers than before',
  'ledger.gap': 'records exist nowhere any more; they are recorded as a gap',
  'ledger.redis_lost_entries': 'Redis lost entries; the journal sends them again',
  'ledger.regressed': 'Postgres was restored to an earlier state; the journal sends records again',
  'ledger.regressed_too_far': 'Postgres was restored behind a journal that is gone; its records are lost',
  'ledger.retired_check_failed':
    'producers whose journals are gone cannot be checked against Postgres; it is tried again',
  'ledger.stream_not_registered': 'the stream of this producer cannot be registered yet',

  'limits.listener_failed': 'a change of limits could not be taken over by a part of the gateway',
  'limits.read_again': 'limits are read from Postgres again',
  'limits.unreadable': 'limits cannot be read from Postgres; the last known ones hold',
  'limits.refusals_not_saved': 'counts of refused calls cannot be added to Postgres; they wait in memory',
  'keys.networks_not_saved': 'networks of keys cannot be added to Postgres; they wait in memory',
  'limits.not_shared': 'Redis does not answer in time; this gateway goes on with its share of the limits',
  'limits.shared_again': 'gateways share limits by Redis again',

  'postgres.away': 'Postgres does not answer; records wait in the journal',
  'postgres.back': 'Postgres answers again',
  'postgres.connection_broken': 'a connection to Postgres broke',
  'postgres.connections_back': 'Postgres gives connections again',
  'postgres.out_of_connections': 'Postgres has no connection left: the message says what to do',
  'postgres.pooler': 'a pooler stands before Postgres; settings go with each transaction',

  'replica.left': 'reports come from the primary: the replica is away or too far behind',
  'replica.used': 'reports come from the replica',
  'redis.away': 'Redis does not answer; records wait in the journal',
  'redis.back': 'records are sent to Redis again',
  'redis.prefix_of_another': 'the Redis prefix belongs to another database: records wait in the journal',
  'redis.unreachable': 'a connection to Redis cannot be made',
  'redis.unusable': 'Redis answers, and records cannot be counted over it: the message says why',
  'redis.usable': 'records can be counted over Redis again',

  'prices.held': 'newer prices of some models are doubted; their old ones stay until a person accepts them',
  'prices.in_use': 'newer prices are in use in this gateway',
  'prices.not_kept': 'prices could not be saved for a start without Postgres',
  'prices.not_taken': 'newer prices could not be taken; the ones in use stay',
  'prices.refused': 'fetched prices are implausible; the old ones stay',
  'prices.taken': 'newer prices are in force from the day named',
  'prices.unreachable': 'prices could not be fetched; it is tried again',

  'queue.error': 'the job queue had an error',
  'queue.job_failed': 'a job failed',
  'queue.prune_postponed':
    "nothing old is deleted while the clock and Postgres's differ by more than a minute",
  'queue.pruned': 'old partitions and identifiers were deleted',

  'request.failed': 'a request failed in the gateway',

  'rollup.damaged_entries': 'damaged stream entries were deleted; their producers send them again',
  'rollup.dead_letters': 'records could not be counted and were kept as dead letters',
  'rollup.failed': 'calls are not being counted; it is tried again',
  'rollup.foreign_entries': 'a stream has entries of another database; they are left alone',
  'rollup.gap': 'records are missing; they are recorded as a gap',
  'rollup.newer_entries': 'a stream has entries of a later release; it waits for an upgraded worker',

  'schema.message': 'what the migration tool says',
  'schema.migrated': 'a migration was applied',

  'tls.certificate_loaded': 'clients get the certificate that the files have now',
  'tls.certificate_refused': 'the certificate that the files have now cannot be served; the former stays',

  'upstream.api_unserved':
    'calls speak an API that no upstream without a path prefix serves: they are refused',
  'upstream.credential_not_renewed': 'the credential of an upstream cannot be renewed; it is tried again',
  'upstream.credential_renewed': 'the credential of an upstream is renewed again',
  'upstream.credential_refused': 'an upstream refuses the credential that the gateway has for it',
  'upstream.credential_taken': 'an upstream takes the credential of the gateway again',
  'upstream.models_fetched': 'the model list of an upstream is fetched again',
  'upstream.models_not_fetched': 'the model list of an upstream could not be fetched',
  'usage.query_failed': 'the usage summary could not be read from Postgres',

  'summaries.failed': 'a day or month that is over could not be summed up; answers about it take longer',
  'summaries.written': 'days and months that are over were summed up',

  'verify.failed': 'totals differ from what they are made of: see ledger verify',
  'verify.not_checked': 'totals that could not be held against their calls, as none are kept',
  'verify.passed': 'totals equal what their calls, prices and adjustments make',
  'verify.requests_differ': 'committed offsets and totals differ in the number of requests',
  'verify.row_differs': 'one total differs from what it is made of',

  'tracing.failed': 'spans or metrics could not be sent to the collector; calls are not held up',

  'worker.crashed': 'the worker ends because of an error',
  'worker.prefix_claimed': 'the Redis prefix belongs to the database of this worker now',
  'worker.prefix_of_another': 'the Redis prefix belongs to another database: this worker counts nothing',
  'worker.started': 'the worker counts calls',
  'worker.stopping': 'the worker ends',
  'worker.summary': 'how many calls this worker has counted, once a minute while there are any',
} as const

export type LogEvent = keyof typeof LOG_EVENTS
