import { setTimeout as delay } from 'node:timers/promises'
import type { Dialogue } from '../servers/redis-program.ts'
import { type Comparison, compareBooks } from './compare-books.ts'
import { startLoad } from './load.ts'
import { startOtherGateway } from './other-gateway.ts'
import { startOwnGateway } from './own-gateway.ts'
import { buildProof, complaintsOf, type Proof, type ProofOrder } from './proof.ts'
import type { MortalPart, Proven } from './proven.ts'
import { type Random, seeded } from './random.ts'
import { readStandInLedger } from './stand-in-ledger.ts'

const AT_ONCE = 100
/** The share of streams whose client leaves in the middle. */
const DEPARTING = 0.02
const BETWEEN_KILLS_MS = { least: 500, most: 2_500 }
const DEAD_MOST_MS = 1_500
/** From the last call to its being counted. With a minute of calls the whole takes less than three. */
const SETTLES_WITHIN_MS = 75_000
const AGREES_FOR_MS = 2_000
const CHECK_EVERY_MS = 500

/**
 * Makes calls while every part is killed in turn, then compares the books of the clients, of the provider and of the
 * gateway, until they agree or a time is over.
 */
export async function prove(order: ProofOrder, dialogue: Dialogue): Promise<Proof> {
  const random = seeded(order.seed)
  const proven =
    order.other === null ? await startOwnGateway(dialogue) : await startOtherGateway(order.other, dialogue)
  try {
    dialogue.say(`${order.seconds} s of calls to ${proven.name}, ${order.rate} a second, seed ${order.seed}`)
    const load = startLoad({
      targets: proven.targets,
      keys: proven.keys,
      plan: proven.plan,
      atOnce: AT_ONCE,
      callsPerSecond: order.rate,
      departing: DEPARTING,
      random: random.fork(1),
    })
    const killed = await killInTurn(proven.parts, order.seconds * 1_000, random.fork(2), dialogue)
    await load.stop()
    dialogue.say('no more calls: the books are compared')
    const { found, complaints } = await settle(proven, load.traces)
    const logs = complaints.length === 0 ? null : proven.keepLogs()
    return buildProof(
      { gateway: proven.name, seed: order.seed, killed, complaints, logs },
      load.traces,
      found,
    )
  } finally {
    await proven.stop()
  }
}

/** Each part at least once, and on until the time is over. All of them run at the end. */
async function killInTurn(parts: readonly MortalPart[], forMs: number, random: Random, { say }: Dialogue) {
  const killed = new Map<string, number>(parts.map(({ name }) => [name, 0]))
  const untilMs = performance.now() + forMs
  let turn: readonly MortalPart[] = []
  do {
    turn = turn.length > 1 ? turn.slice(1) : random.shuffle(parts)
    const [part] = turn
    await delay(random.between(BETWEEN_KILLS_MS.least, BETWEEN_KILLS_MS.most))
    if (part === undefined) continue
    await part.kill()
    await delay(random.between(0, DEAD_MOST_MS))
    await part.start()
    killed.set(part.name, (killed.get(part.name) ?? 0) + 1)
    say(`killed and started again: ${part.name}`)
  } while (performance.now() < untilMs || [...killed.values()].includes(0))
  return killed
}

async function settle(
  proven: Proven,
  traces: Parameters<typeof compareBooks>[0]['traces'],
): Promise<{ readonly found: Comparison; readonly complaints: readonly string[] }> {
  const { plan, tolerance } = proven
  const compare = async () => {
    const standIn = readStandInLedger(proven.standInFile)
    const counted = await proven.readBooks(traces.length)
    const found = compareBooks({ traces, standIn, counted, plan, tolerance })
    return { found, complaints: [...complaintsOf(found), ...(await proven.contradictions())] }
  }
  const untilMs = performance.now() + SETTLES_WITHIN_MS
  let agreed = false
  while (true) {
    // The part that was killed last may still be starting.
    const compared = await compare().catch((error: unknown) => {
      if (performance.now() > untilMs) throw error
      return null
    })
    if (compared === null) {
      await delay(CHECK_EVERY_MS)
      continue
    }
    const agrees = compared.complaints.length === 0
    if ((agrees && agreed) || performance.now() > untilMs) return compared
    agreed = agrees
    await delay(agrees ? AGREES_FOR_MS : CHECK_EVERY_MS)
  }
}
