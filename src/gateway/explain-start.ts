import { resolve } from 'node:path'
import type { GatewayConfig } from '../config/config.ts'

/** What of the configuration a start depends on beside the stores. */
export type StartConfig = Pick<GatewayConfig, 'host' | 'port' | 'adminHost' | 'adminPort' | 'journalDir'> &
  Partial<Pick<GatewayConfig, 'portalPort'>>

const OF_FOLDERS: Readonly<Record<string, string>> = {
  EROFS: 'is on a file system that is read-only',
  EACCES: 'may not be written by this user',
  EPERM: 'may not be written by this user',
  ENOSPC: 'is on a disk that is full',
  EDQUOT: 'is on a disk that is full for this user',
  ENOTDIR: 'is a file, or lies in one',
  EIO: 'is on a disk that fails',
}

/** One sentence with the variable that is to be corrected; `null`: the error is of another kind. */
export function explainStart(error: unknown, config: StartConfig): string | null {
  const { code, syscall, path, port } = Object(error) as NodeJS.ErrnoException & { readonly port?: number }
  if (code === undefined) return null
  if (syscall === 'listen' || syscall === 'bind' || syscall === 'getaddrinfo')
    return explainListener(
      code,
      port === config.adminPort ? 'ADMIN_' : port === config.portalPort ? 'PORTAL_' : '',
      config,
    )
  const why = OF_FOLDERS[code]
  const isOfJournal = path !== undefined && resolve(path).startsWith(resolve(config.journalDir))
  return why !== undefined && isOfJournal ? `JOURNAL_DIR ${config.journalDir} ${why} (${code})` : null
}

function explainListener(
  code: string,
  prefix: '' | 'ADMIN_' | 'PORTAL_',
  config: StartConfig,
): string | null {
  const host = prefix === 'ADMIN_' ? config.adminHost : config.host
  const port = { '': config.port, ADMIN_: config.adminPort, PORTAL_: config.portalPort }[prefix]
  switch (code) {
    case 'EADDRINUSE':
      return `${prefix}PORT ${port} is in use by another program at ${host}`
    case 'EACCES':
      return `${prefix}PORT ${port} may not be listened on by this user`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${prefix === 'ADMIN_' ? prefix : ''}HOST ${host} is not an address of this machine`
    default:
      return null
  }
}
