import { X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import type { Server } from 'node:http'
import { Server as HttpsServer } from 'node:https'
import { createSecureContext } from 'node:tls'
import type { TlsFiles } from '../../config/gateway-config.ts'
import { certificatesIn } from '../../config/yaml/identity-config.ts'
import type { Logger } from '../../lib/log.ts'
import { reasonOf } from '../../lib/reason-of.ts'
import { repeat } from '../../lib/repeat.ts'

const CHECK_MS = 5_000

interface Pem {
  readonly cert: Buffer
  readonly key: Buffer
  /** Authorities of clients' certificates; absent: clients are asked for none. */
  readonly ca?: Buffer
}

/** The certificate for clients: the one that is served, and its end. */
export interface ServedCertificate {
  readonly pem: Pem
  readonly endsAtMs: number
  /** New connections to this server get every later certificate, too. */
  serve(server: Server): void
  /** Reads the files again. What cannot be served is logged, and the former stays. */
  reload(): void
  stop(): void
}

/**
 * Reads the files, and again when they change: certificates are renewed every few weeks, and gateways run on. Both are
 * checked every five seconds, as who renews them often replaces the file, or a link to its folder.
 */
export function watchCertificate(files: TlsFiles, log: Logger, checkMs = CHECK_MS): ServedCertificate {
  let pem = readPem(files)
  let endsAtMs = endOf(pem)
  let seen = stampOf(files)
  const servers: HttpsServer[] = []
  /** The stamp of files that were refused, so that this is said once. */
  let refused: string | null = null

  function reload(): void {
    const stamp = stampOf(files)
    try {
      const next = readPem(files)
      // Throws where key and certificate do not belong together, as between the writing of one and the other.
      createSecureContext(next)
      const nextEndMs = endOf(next)
      if (nextEndMs <= Date.now()) throw new Error(`it ended ${new Date(nextEndMs).toISOString()}`)
      if (next.ca !== undefined && certificatesIn(next.ca.toString('latin1')).length === 0)
        throw new Error('there is no authority of clients')
      const isOther = textOf(next) !== textOf(pem)
      ;[pem, endsAtMs, seen, refused] = [next, nextEndMs, stamp, null]
      if (!isOther) return
      for (const server of servers) server.setSecureContext(next)
      log.info(
        { event: 'tls.certificate_loaded', endsAt: new Date(endsAtMs).toISOString() },
        'clients get the certificate that the files have now',
      )
    } catch (error) {
      if (refused === stamp) return
      refused = stamp
      log.error(
        { event: 'tls.certificate_refused', problem: reasonOf(error) },
        'the certificate that the files have now cannot be served: clients get the former',
      )
    }
  }

  const watching = repeat(async () => {
    if (stampOf(files) !== seen) reload()
  }, checkMs)
  return {
    get pem() {
      return pem
    },
    get endsAtMs() {
      return endsAtMs
    },
    serve(of) {
      if (of instanceof HttpsServer) servers.push(of)
    },
    reload,
    stop: () => void watching.stop(),
  }
}

function readPem({ certFile, keyFile, clientCaFile }: TlsFiles): Pem {
  const own = { cert: readFileSync(certFile), key: readFileSync(keyFile) }
  return clientCaFile === undefined ? own : { ...own, ca: readFileSync(clientCaFile) }
}

function textOf({ cert, key, ca }: Pem): string {
  return [cert, key, ca].join('\n')
}

function endOf({ cert }: Pem): number {
  return Date.parse(new X509Certificate(cert).validTo)
}

/** Changes whenever one of the files is written or replaced. */
function stampOf({ certFile, keyFile, clientCaFile = '' }: TlsFiles): string {
  return [certFile, keyFile, clientCaFile]
    .map((file) => {
      const { ino, mtimeMs, size } = statSync(file, { throwIfNoEntry: false }) ?? {}
      return `${ino}/${mtimeMs}/${size}`
    })
    .join(' ')
}
