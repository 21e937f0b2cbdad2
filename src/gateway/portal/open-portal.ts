import type { AddressInfo } from 'node:net'
import type { GatewayConfig } from '../../config/config.ts'
import type { KeyDirectory } from '../../keys/key-directory.ts'
import type { Logger } from '../../lib/log.ts'
import type { RunningLimits } from '../../limits/open-limits.ts'
import type { ServedCertificate } from '../health/certificate.ts'
import type { ReloadableConfig } from '../reloadable-config.ts'
import { buildPortal, type PortalOptions } from './portal.ts'

interface OpenPortalOptions
  extends Pick<
    PortalOptions,
    'readiness' | 'polls' | 'pool' | 'summaries' | 'selfService' | 'announceKeyChange' | 'now'
  > {
  readonly config: Pick<GatewayConfig, 'host' | 'portalPort' | 'portalEmbedOrigins' | 'keyPepper'>
  readonly log: Logger
  /** `null`: plain HTTP. */
  readonly certificate: ServedCertificate | null
  readonly keys: Pick<KeyDirectory, 'find'>
  readonly limits: Pick<RunningLimits, 'answer'>
  readonly reloadable: Pick<ReloadableConfig, 'listModels' | 'shownPrices'>
}

/** Listens for clients' pages; `null`: it is not wanted. */
export async function openPortal(options: OpenPortalOptions) {
  const { config, log, certificate, keys, limits, reloadable, pool } = options
  if (config.portalPort === null) return null
  const app = buildPortal({
    ...options,
    logger: log,
    tls: certificate?.pem ?? null,
    embedOrigins: config.portalEmbedOrigins,
    findCaller: (key) => keys.find(key),
    peppers: config.keyPepper,
    listModels: () => reloadable.listModels(),
    listLimits: (clientId, keyId) => limits.answer(pool, clientId, keyId),
    shownPrices: () => reloadable.shownPrices().config,
  })
  certificate?.serve(app.server)
  await app.listen({ host: config.host, port: config.portalPort })
  return { address: app.server.address() as AddressInfo, close: () => app.close() }
}
