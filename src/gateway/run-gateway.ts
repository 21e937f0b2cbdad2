import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import type { CallRecord } from '../call/call-record.ts'
import type { GatewayConfig } from '../config/config.ts'
import { DEFAULT_ESTIMATES } from '../config/yaml/config-file.ts'
import { streamNames } from '../domain/redis/redis-names.ts'
import { openConnectionDrainer } from '../http/connection-drainer.ts'
import type { Readiness } from '../http/listener.ts'
import { openKeyDirectory } from '../keys/key-directory.ts'
import { announceKeyChange } from '../keys/key-version.ts'
import { openKeyNetworks } from '../keys/networks/open-key-networks.ts'
import { openLedger } from '../ledger/running-ledger.ts'
import { withinDeadline } from '../lib/deadline.ts'
import type { Activity } from '../lib/idle-memory.ts'
import type { Logger } from '../lib/log.ts'
import { VERSION } from '../lib/version.ts'
import { openLimits } from '../limits/open-limits.ts'
import { openSending } from '../metrics/otlp/open-sending.ts'
import { ObjectIndex } from '../objects/object-index.ts'
import { Objects } from '../objects/objects.ts'
import { recordObjects } from '../objects/record-objects.ts'
import { selectOwners } from '../objects/table/objects-table.ts'
import { buildAdmin } from '../operator/admin.ts'
import { openSignIns } from '../operator/sign-in/open-sign-ins.ts'
import { followPrices, loadStoredPrices } from '../pricing/refresh/follow-prices.ts'
import { findSigned } from '../statements/statement-receipts.ts'
import { openRedis } from '../store/connection/redis.ts'
import { buildLedgerDatabase } from '../store/ledger/ledger-database.ts'
import { keepAnnounced } from '../store/processes/processes-table.ts'
import { StoreClock } from '../store/processes/store-clock.ts'
import { RedisWatch } from '../store/redis-probe/redis-probe.ts'
import { answerClient } from '../usage/query/answer-usage.ts'
import { buildStages } from './admission/admit.ts'
import { BodyBudget } from './bodies/body-budget.ts'
import { LearnedRatios } from './estimation/learning/learned-ratios.ts'
import { shareRatios } from './estimation/learning/share-ratios.ts'
import { CallEstimates } from './expected-use/call-estimates.ts'
import { buildGateway } from './gateway.ts'
import { openGatewayPools } from './gateway-pools.ts'
import { watchCertificate } from './health/certificate.ts'
import { buildGatewayMetrics } from './health/gateway-metrics.ts'
import { JournalDisk } from './health/journal-disk.ts'
import { watchKafkaBacklog } from './health/kafka-backlog.ts'
import { type GatewayState, readinessOf } from './health/readiness.ts'
import { nameGateway, recordJournal, recordPrices } from './health/recorded-state.ts'
import { ReloadAsked } from './health/reload-asked.ts'
import { hashConfiguration, reportGateway } from './health/report-process.ts'
import { UpstreamHealth } from './health/upstream-health.ts'
import { watchWorkers } from './health/worker-watch.ts'
import { openIdentities } from './identity/open-identities.ts'
import { createJobSettler } from './jobs/job-settler.ts'
import { openOwnCalls } from './own-calls/own-calls.ts'
import { openPortal } from './portal/open-portal.ts'
import { failOpenLedger } from './proxy/fail-open-ledger.ts'
import { Unattended } from './proxy/unattended.ts'
import { logCalls } from './recording/call-log.ts'
import { buildInterrupted } from './recording/finalize-call.ts'
import { recordsWritten } from './recording/records-written.ts'
import { ReloadableConfig } from './reloadable-config.ts'
import { answersForLiteLlm } from './routes/litellm-answers.ts'
import { Summaries } from './routes/usage.ts'
import { openTracing } from './tracing/open-tracing.ts'

/**
 * The request bodies in memory, for all calls together. Beyond this, large ones are refused: otherwise the
 * process could run out of memory.
 */
const BODY_BUDGET_BYTES = 256 * 1024 * 1024
/** A call waits no longer for the owner of an object. */
const OWNERS_MS = 2_000
/** A client's query is answered within this time, or refused. */
const SUMMARY_MS = 4_000
const REDIS_SILENCE_MS = 1_000
/** After the last call, the time to ship the records. */
const SHIP_GRACE_MS = 3_000
/** By then the stores are not needed any more: one that does not answer is abandoned. */
const STORES_GRACE_MS = 500

/** A running gateway process. */
export interface RunningGateway {
  /** The addresses for clients and for the operator. */
  readonly address: AddressInfo
  readonly adminAddress: AddressInfo
  /** Of the clients' page; `null`: there is none. */
  readonly portalAddress: AddressInfo | null
  /** How many calls and sessions are read on without their client now. */
  unattendedCalls(): number
  /** Calls under way, and the records so far. */
  activity(): Activity
  /** Takes upstreams, routes, paths, models, prices and `cost_in_answers` from `config`. All else stays as at the start. */
  reload(config: GatewayConfig): void
  /**
   * Has an operator's wish to read the configuration again carried out.
   *
   * @param listener Gives why it cannot be read; `null`: it was.
   */
  onReloadAsked(listener: () => string | null): void
  /** Before `stop`: gives clients and balancers five seconds at most to go elsewhere. */
  drain(): Promise<void>
  /** Accepts no new connections, lets running calls end, and ships their records. */
  stop(): Promise<void>
}

/** Opens stores, ledger and server, in this order, and closes them in reverse. */
export async function runGateway(
  config: GatewayConfig,
  log: Logger,
  clock = new StoreClock({ log }),
): Promise<RunningGateway> {
  const { now } = clock
  const { redisUrl, redisPrefix } = config
  const announceKeys = () => void announceKeyChange(redisUrl, redisPrefix, log)
  const pools = openGatewayPools(config, log)
  const { lanes, reports } = pools
  const { polls } = lanes
  const redis = openRedis(redisUrl, {
    name: 'tallygate gateway',
    whenAway: 'fail',
    silenceMs: REDIS_SILENCE_MS,
    log,
  })
  const redisWatch = new RedisWatch({ redisUrl, redisPrefix, log })
  let readLimits: () => Promise<unknown> = async () => {}
  const keys = openKeyDirectory({
    pool: polls,
    ...{ redisUrl, redisPrefix, readFirst: () => readLimits() },
    peppers: config.keyPepper,
    graceSeconds: config.keyGraceSeconds,
    clock,
    log,
  })
  const identities = openIdentities({ config, keys, pool: polls, now, log })
  const signIns = openSignIns(config, log)
  const following = { pool: polls, dataDir: config.dataDir, log }
  const stored = await loadStoredPrices(following)
  const reloadable = new ReloadableConfig(config, log, stored)
  const ledger = await openLedger({
    journalDir: config.journalDir,
    journalMaxBytes: config.journalMaxBytes,
    keepSeconds: config.journalKeepSeconds,
    ...{ redisUrl, redisPrefix },
    redisMemory: () => redisWatch.memory,
    streams: streamNames(redisPrefix, config.streamShards),
    database: buildLedgerDatabase(polls),
    buildInterrupted: (open, snapshot) => buildInterrupted(open, snapshot, reloadable.pricing),
    log,
  })
  const name = nameGateway()
  const ratios = new LearnedRatios()
  const sharedRatios = shareRatios(polls, ratios, log)
  const estimates = new CallEstimates(() => reloadable.catalog, config.estimates ?? DEFAULT_ESTIMATES, ratios)
  const networks = openKeyNetworks(config.keyNetworks, lanes.limits, log, now)
  const limits = await openLimits({
    ...{ redisUrl, redisPrefix },
    ...{ producerOf: (clientId) => ledger.producerOf(clientId), producers: ledger.producers },
    ...{ pool: lanes.limits, now, log },
  })
  readLimits = limits.refresh
  const kafkaBacklog = watchKafkaBacklog(polls)
  const upstreamHealth = new UpstreamHealth(reloadable.circuits)
  let stopping = false
  let configuration = hashConfiguration(config)
  const reloadAsked = new ReloadAsked()
  const disk = new JournalDisk(config.journalDir)
  const certificate = config.tls === null ? null : watchCertificate(config.tls, log)
  const state = (): GatewayState => {
    const { redisConnected, oldestUncommittedMs, journalWritable } = ledger.stats()
    return {
      stopping,
      keysReady: keys.ready,
      postgresReachable: keys.stats().storeReachable,
      redisUsable: redisWatch.problem === null,
      redisConnected,
      oldestUncommittedMs,
      journalWritable,
      journalMaxBytes: config.journalMaxBytes,
      canTakeCalls: ledger.canTakeCalls,
      passesUnmetered: config.onJournalFull === 'unmetered',
      replicaUsed: reports.state()?.isUsed ?? null,
      kafkaBehind: kafkaBacklog.isBehind(),
      limitsDegraded: limits.isDegraded(),
      clockOff: clock.isOff,
      clockOffsetMs: clock.provenOffsetMs,
      disk: disk.last,
      certificateEndsAtMs: certificate?.endsAtMs ?? null,
      upstreamsRefusing: upstreamHealth.refusing(),
      connectionShortage: lanes.shortage,
    }
  }
  const readiness = (): Readiness => readinessOf(state())
  const ownCalls = openOwnCalls({ config, name, pool: polls, redis, ledger, now, log })
  const summaries = new Summaries({ ping: () => polls.query('select'), limitMs: SUMMARY_MS })
  const inTurn = async <Answer>(clientId: string, work: () => Promise<Answer>) => ({
    wholeUntilMs: await ownCalls.wholeUntilMs(clientId),
    answer: await summaries.answer(clientId, work),
  })
  const metrics = buildGatewayMetrics({
    ...{ config, ledger, keys, limits, state, now, knowsModel: reloadable.pricing.knowsModel },
    circuits: () => reloadable.circuits.report(),
    pool: lanes.reports,
    replica: reports.state,
  })
  const tracing = await openTracing(config.tracing, metrics.callTraced, log)
  const sending = await openSending(config.metricsExport, 'tallygate', metrics.figures, log)
  const observer = upstreamHealth.watch(logCalls(metrics.observer, log))
  const unattended = new Unattended()
  const bodyBudget = new BodyBudget(BODY_BUDGET_BYTES, config.bodyLimitBytes)
  const objects = new Objects(
    new ObjectIndex({
      selectOwners: (upstreams, ids) =>
        withinDeadline(selectOwners(lanes.objects, upstreams, ids), OWNERS_MS),
    }),
  )
  const recorded = recordObjects(ledger, objects)
  const services = {
    unattended,
    ownTime: metrics.ownTime,
    shownLimits: config.compat === undefined ? undefined : limits.holding,
    tracer: tracing?.tracer,
    ratios,
    ledger:
      config.onJournalFull === 'unmetered' ? failOpenLedger(recorded, observer.callUnmetered) : recorded,
    pricing: reloadable.pricing,
    observer: {
      ...observer,
      callEnded: (record: CallRecord) => {
        ownCalls.ended(record.clientId)
        observer.callEnded(record)
      },
    },
    onClientAbort: config.onClientAbort,
  }
  const liteLlm = answersForLiteLlm({
    ...{ pool: lanes.usage, inTurn, limits, now },
    listModels: () => reloadable.listModels(),
    placesOf: (model, clientName) => reloadable.placesOf(model, clientName),
  })
  const { app, webSockets, http2 } = buildGateway({
    logger: log,
    admission: {
      stages: buildStages(config.identity?.proxy ?? null),
      config,
      findCaller: identities.findCaller,
      findVouched: identities.findVouched,
      signers: keys,
      ledger: services.ledger,
      upstreams: reloadable.table,
      ...{ pathPolicy: reloadable.pathPolicy, costInAnswers: () => reloadable.costInAnswers },
      objects,
      jobs: createJobSettler({ objects, pricing: reloadable.pricing, pool: lanes.objects }),
      unattended,
      limits: {
        limiter: limits.limiter,
        expectedUse: (admission) => estimates.expectedUse(admission),
        upperUse: (admission, model, asked, bytes) => estimates.upperUse(admission, model, asked, bytes),
        learn: (expected, record, prompt) => estimates.learn(expected, record, prompt),
      },
      refused: limits.refused,
      refusedUnknown: (reason, owner) => limits.refusedUnknown(reason, owner, metrics),
      keyUsed: networks.used,
      now,
      stageFailed: (err) => log.error({ event: 'call.failed', err }, 'a call failed in the gateway'),
    },
    tls: certificate?.pem ?? null,
    listModels: () => reloadable.listModels(),
    summariseUsage: (query) => inTurn(query.client.id, () => answerClient(lanes.usage, query)),
    listLimits: (clientId, keyId) => withinDeadline(limits.answer(lanes.usage, clientId, keyId), SUMMARY_MS),
    findReceipt: (client, id) => inTurn(client, () => findSigned(lanes.usage, client, id, config.keyPepper)),
    liteLlm: config.compat === undefined ? undefined : liteLlm,
    readiness,
    forward: {
      ...{ services, bodyBudget, objects },
      bodyLimitBytes: config.bodyLimitBytes,
    },
    webSockets: {
      ...{ services, bodyBudget },
      onDeactivated: (listener) => keys.onDeactivated(listener),
      handshakeTimeoutMs: config.upstreamHeadersTimeoutMs,
    },
  })
  const admin = buildAdmin({
    logger: log,
    adminToken: config.adminToken,
    ...{ metrics, readiness, polls, reports, now },
    signIn: signIns.operators,
    ledgerStats: () => ledger.stats(),
    prices: () => reloadable.shownPrices(),
    env: process.env,
    pool: lanes.reports,
    openLong: pools.openLong,
    ...{ redisUrl, redisPrefix },
    announceKeyChange: announceKeys,
    peppers: config.keyPepper,
    journalDir: config.journalDir,
    axes: config.axes?.list ?? [],
    baseUrl: `${config.tls === null ? 'http' : 'https'}://localhost:${config.port}${config.basePath}`,
    version: VERSION,
  })
  await admin.listen({ host: config.adminHost, port: config.adminPort })
  const portal = await openPortal({
    ...{ config, log, certificate, readiness, keys, polls, now, summaries, limits, reloadable },
    ...{ pool: lanes.usage, selfService: signIns.members, announceKeyChange: announceKeys },
  })
  certificate?.serve(app.server)
  const drainer = openConnectionDrainer(app.server)
  await app.listen({ host: config.host, port: config.port })
  const { port } = app.server.address() as AddressInfo
  const recording = recordPrices(polls, `${hostname()}:${port}`, () => reloadable.recordedPrices(), log)
  const journalRecording = recordJournal(polls, name, ledger, config.journalMaxBytes, log)
  const workerWatch = watchWorkers({ pool: polls, redis, redisPrefix, now, log })
  const announced = keepAnnounced({
    pool: polls,
    kind: 'gateway',
    connections: lanes,
    clock,
    report: reportGateway({
      version: VERSION,
      adminAddress: admin.server.address() as AddressInfo,
      configuration: () => configuration,
      ...{ reloadable, identities, signIns, ledger, disk },
      certificateEndsAtMs: () => certificate?.endsAtMs ?? null,
      upstreams: upstreamHealth,
      reload: () => reloadAsked.said,
      config,
    }),
    onReloadAsked: (askedAtMs) => reloadAsked.carryOut(askedAtMs),
  })
  const followed = followPrices(following, stored, (newer) => {
    reloadable.takePrices(newer)
    recording.record()
  })
  return {
    address: app.server.address() as AddressInfo,
    adminAddress: admin.server.address() as AddressInfo,
    portalAddress: portal?.address ?? null,
    unattendedCalls: () => unattended.count,
    activity: () => {
      const { openCalls, last } = ledger.stats()
      return { underWay: openCalls, done: last }
    },
    reload: (changed) => {
      reloadable.reload(changed)
      upstreamHealth.reset()
      configuration = hashConfiguration(changed)
      certificate?.reload()
      recording.record()
    },
    onReloadAsked: (listener) => reloadAsked.carryOutBy(listener),
    async drain() {
      stopping = true
      http2.beginDrain()
      await drainer.begin()
    },
    async stop() {
      stopping = true
      reloadable.stopListing()
      certificate?.stop()
      http2.beginDrain()
      const closed = app.close()
      // `close` waits for connections, and a call whose client has left has none.
      const ended = closed.then(() => unattended.idle())
      await Promise.race([ended, delay(config.shutdownGraceMs, undefined, { ref: false })])
      unattended.beginStop()
      const sessionsClosed = webSockets.closeAll()
      await Promise.race([closed, sessionsClosed])
      app.server.closeAllConnections()
      http2.closeAll()
      await sessionsClosed
      await closed
      await unattended.idle()
      await recordsWritten(ledger)
      await ledger.stop(SHIP_GRACE_MS)
      redisWatch.stop()
      ownCalls.close()
      redis.disconnect()
      const telemetrySent = Promise.all([tracing?.close(), sending?.close()])
      const storesClosed = (async () => {
        // First: a process that does not say that it stops is taken for one that was killed.
        await announced.stop()
        const limitsClosed = limits.close()
        await Promise.all([admin.close(), portal?.close()])
        await Promise.all([reloadable.close(), identities.stop(), signIns.stop()])
        await keys.close()
        for (const one of [networks, followed, recording, sharedRatios]) await one.stop()
        for (const one of [journalRecording, kafkaBacklog, workerWatch]) await one.stop()
        await Promise.all([limitsClosed, pools.end()])
      })()
      await withinDeadline(storesClosed, STORES_GRACE_MS).catch((error: unknown) => {
        log.warn(
          { event: 'gateway.stores_not_closed', err: error },
          'Postgres or Redis did not close their connections in time',
        )
      })
      await telemetrySent
    },
  }
}
