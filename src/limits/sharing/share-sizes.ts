/**
 * Of what is left, a gateway takes this part of its even share in advance: the rest stays for those that need it. Of a
 * budget it is more, as a gateway that cannot ask has nothing else.
 */
const PARTS = 4
const PARTS_OF_PICO = 2

export interface ShareOfPico {
  /** Integer pico-USD that the gateway may use in all. */
  readonly ceiling: bigint
  /** Of it, what no call has asked for. */
  readonly chunk: bigint
}

/**
 * How much of a budget a gateway takes.
 *
 * @param used What it has recorded and reserves.
 * @param room What no gateway has promised to any call, this one's own share beyond `used` included.
 * @param planned What waiting calls need; more than `room` only for a call that runs alone.
 * @param gateways How many share what is left; 0: nothing is taken in advance.
 */
export function shareOfPico(used: bigint, room: bigint, planned: bigint, gateways: number): ShareOfPico {
  const share = room > 0n && gateways > 0 ? room / BigInt(PARTS_OF_PICO * gateways) : 0n
  const chunk = share > planned ? share : planned
  return { ceiling: used + chunk, chunk: share > planned ? share - planned : 0n }
}

export interface ShareOfRate {
  readonly ceiling: number
  readonly chunk: number
}

/** The same of a limit on requests, tokens or calls at once. */
export function shareOfRate(used: number, room: number, planned: number, gateways: number): ShareOfRate {
  let share = room > 0 && gateways > 0 ? Math.floor(room / (PARTS * gateways)) : 0
  // Small limits: one in advance, as long as each gateway can have one more.
  if (share === 0 && gateways > 0 && room >= 2 * gateways) share = 1
  const size = Math.max(share, planned)
  return { ceiling: used + size, chunk: Math.max(0, share - planned) }
}

/** What a gateway may use of a limit on requests, tokens or calls at once while Redis is away. */
export function rateWhileAway(amount: number, gateways: number): number {
  return gateways <= 2 ? amount : Math.ceil((2 * amount) / gateways)
}

/** What a gateway takes of a budget while Redis is away, where the budget says so. Integer pico-USD. */
export function evenShare(left: bigint, gateways: number): bigint {
  return left > 0n ? left / BigInt(gateways) : 0n
}
