import { lookup } from 'node:dns/promises'
import { networkInterfaces } from 'node:os'

/**
 * Loaded first (`--import`) into a gateway in a container. ADMIN_HOST may be a name that several gateways of
 * one network share; this replaces it by the address among that name's addresses which belongs to this
 * container. The operator's listener is then in that network alone. A name without an address of this
 * container stays as it is.
 */
const { ADMIN_HOST } = process.env
if (ADMIN_HOST) {
  const own = new Set(Object.values(networkInterfaces()).flatMap((of) => of?.map(({ address }) => address)))
  const named = await lookup(ADMIN_HOST, { all: true }).catch(() => [])
  const found = named.find(({ address }) => own.has(address))
  if (found !== undefined) process.env.ADMIN_HOST = found.address
}
