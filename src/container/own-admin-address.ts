import { lookup } from 'node:dns/promises'
import { networkInterfaces } from 'node:os'

/**
 * Loaded first (`--import`) into a gateway in a container: where ADMIN_HOST is a name that several gateways of one network
 * share, it becomes the address among that name's that is this container's own. So the operators' listener is
 * in that network alone. What names no address of ours stays as it is.
 */
const { ADMIN_HOST } = process.env
if (ADMIN_HOST) {
  const own = new Set(Object.values(networkInterfaces()).flatMap((of) => of?.map(({ address }) => address)))
  const named = await lookup(ADMIN_HOST, { all: true }).catch(() => [])
  const found = named.find(({ address }) => own.has(address))
  if (found !== undefined) process.env.ADMIN_HOST = found.address
}
