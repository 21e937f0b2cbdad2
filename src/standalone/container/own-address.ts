import { lookup } from 'node:dns/promises'
import { networkInterfaces } from 'node:os'

/**
 * Loaded first (`--import`) into a gateway or worker in a container. ADMIN_HOST and WORKER_HOST may be a name that several
 * containers of one network share; this replaces it by the address among that name's addresses which belongs to this
 * container. The operators' listener is then in that network alone. A name without an address of this
 * container stays as it is.
 */
const own = new Set(Object.values(networkInterfaces()).flatMap((of) => of?.map(({ address }) => address)))
for (const variable of ['ADMIN_HOST', 'WORKER_HOST']) {
  const name = process.env[variable]
  if (!name) continue
  const named = await lookup(name, { all: true }).catch(() => [])
  const found = named.find(({ address }) => own.has(address))
  if (found !== undefined) process.env[variable] = found.address
}
