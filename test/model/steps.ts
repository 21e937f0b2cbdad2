import type { OwnedJournal } from './faults/adoption.ts'
import { oneOf, type Random } from './faults/random.ts'
import { settleRound } from './faults/settle.ts'
import { MAX_SHARDS } from './stream.ts'
import { KEEP_MS, type World } from './world.ts'

const MAX_GATEWAYS = 3
const MAX_WORKER_STEPS = 10
const SETTLE_ROUNDS = 12
const PAUSES_MS = [20, 1_000, 1_000, 15_000, 60_000, 200_000, 600_000] as const

/** What can happen, and how often against the others. Where it cannot happen just now, nothing does. */
const STEPS: Readonly<
  Record<string, { readonly weight: number; readonly run: (world: World, random: Random) => void }>
> = {
  'a call begins': { weight: 10, run: (world, random) => oneOf(world.gateways, random)?.open() },
  'a call ends': { weight: 10, run: endCall },
  'a journal syncs': { weight: 16, run: (world, random) => anyOwnedJournal(world, random)?.sync() },
  'a sync fails': { weight: 1, run: failSync },
  'a shipper sends': { weight: 14, run: (world, random) => anyOwnedJournal(world, random)?.ship(random) },
  'Redis does it and answers': { weight: 14, run: (world, random) => deliver(world, random, true) },
  'Redis does it, in part, and no answer comes': {
    weight: 2,
    run: (world, random) => deliver(world, random, false),
  },
  'a shipper gives up waiting': {
    weight: 2,
    run: (world, random) => anyOwnedJournal(world, random)?.giveUp(),
  },
  'what was sent is lost on the way': { weight: 2, run: lose },
  'a gateway asks for committed offsets or has them': {
    weight: 8,
    run: (world, random) => oneOf(world.gateways, random)?.readCommittedOffsets(),
  },
  'a shipper looks for loss': { weight: 8, run: (world, random) => alone(world, random)?.checkLoss() },
  'a gateway prunes': { weight: 8, run: (world, random) => alone(world, random)?.prune() },
  'a gateway adopts': {
    weight: 5,
    run: (world, random) => {
      const journal = oneOf(world.journals, random)
      if (journal !== undefined) oneOf(world.gateways, random)?.adopt(journal)
    },
  },
  'an adopter closes a call': {
    weight: 6,
    run: (world, random) =>
      oneOf(
        ownedJournals(world).filter(({ adopting }) => adopting !== null),
        random,
      )?.adopt(),
  },
  'a finished journal is deleted': {
    weight: 2,
    run: (world, random) => oneOf(world.gateways, random)?.release(),
  },
  'a gateway checks retired producers': {
    weight: 3,
    run: (world, random) => oneOf(world.gateways, random)?.checkRetiredProducers(),
  },
  'a worker goes some steps': {
    weight: 20,
    run: (world, random) => {
      const worker = oneOf(world.workers, random)
      for (let steps = 1 + random(MAX_WORKER_STEPS); steps > 0; steps--) worker?.step(random)
    },
  },
  'a worker dies': { weight: 2, run: (world, random) => oneOf(world.workers, random)?.die() },
  'time passes': { weight: 8, run: (world, random) => world.pass(oneOf(PAUSES_MS, random) ?? 0) },
  'nothing goes wrong for some minutes': {
    weight: 0.2,
    run: (world, random) => {
      for (let round = random(SETTLE_ROUNDS); round >= 0; round--) {
        settleRound(world, random)
        world.pass(60_000)
      }
    },
  },
  'a gateway starts': {
    weight: 2,
    run: (world) => {
      if (world.gateways.length < MAX_GATEWAYS) world.startGateway()
    },
  },
  'the number of shards changes': {
    weight: 0.5,
    run: (world, random) => {
      world.shards = 1 + random(MAX_SHARDS)
    },
  },
  'a gateway of the release before starts': {
    weight: 0.5,
    run: (world) => {
      if (world.gateways.length < MAX_GATEWAYS) world.startGateway(true)
    },
  },
  'a gateway is killed': {
    weight: 2,
    run: (world, random) => {
      const gateway = oneOf(world.gateways, random)
      if (gateway !== undefined) world.kill(gateway, random(3) === 0)
    },
  },
  'a gateway stops': { weight: 1, run: (world, random) => oneOf(world.gateways, random)?.stop() },
  'power is lost': { weight: 1, run: (world, random) => world.powerLoss(random) },
  'a journal is lost': {
    weight: 0.4,
    run: (world, random) => {
      const journal = oneOf(world.journals, random)
      if (journal?.state === 'there') world.loseJournal(journal)
    },
  },
  'a disk garbles what was synced': {
    weight: 0.4,
    run: (world, random) => garbleJournal(world, random, false),
  },
  'a disk loses a segment': { weight: 0.2, run: (world, random) => garbleJournal(world, random, true) },
  'Redis loses all': { weight: 1, run: (world) => world.loseEntries(() => world.stream.restoreTo([])) },
  'Redis starts empty and gives the same ids again': {
    weight: 0.5,
    run: (world, random) => {
      const { lastId } = world.stream
      world.loseEntries(() => world.stream.startEmpty(Math.max(lastId - 1 - random(12), 0)))
    },
  },
  'Redis loses the newest': {
    weight: 1,
    run: (world, random) => {
      const { entries } = world.stream
      world.loseEntries(() => world.stream.restoreTo(entries.slice(0, random(entries.length + 1))))
    },
  },
  'Redis loses one': {
    weight: 1,
    run: (world, random) => {
      const lost = oneOf(world.stream.entries, random)
      world.loseEntries(() => world.stream.restoreTo(world.stream.entries.filter((entry) => entry !== lost)))
    },
  },
  'Redis saves': { weight: 2, run: (world) => world.stream.save() },
  'Redis is as it was saved': { weight: 1, run: (world) => world.loseEntries(() => world.stream.restore()) },
  'Postgres is restored to a moment ago': {
    weight: 2,
    run: (world, random) => {
      const { past } = world.database
      const first = past.findIndex(({ untilMs }) => untilMs > world.nowMs - KEEP_MS)
      if (first !== -1) world.regress(first + random(past.length - first))
    },
  },
  'Postgres is restored from long ago': {
    weight: 0.3,
    run: (world, random) => world.regress(random(world.database.past.length)),
  },
}

export interface Step {
  readonly name: string
  /** Decides what the step leaves open. */
  readonly seed: number
}

/** Which steps a schedule prefers, by name. */
export type Emphasis = Readonly<Record<string, number>>

export function runStep(world: World, { name, seed }: Step, randomOf: (seed: number) => Random): void {
  STEPS[name]?.run(world, randomOf(seed))
}

/** `length` steps, the same for the same random numbers. */
export function randomSteps(length: number, random: Random, emphasis: Emphasis = {}): Step[] {
  const PARTS = 1_000
  const names = Object.entries(STEPS).map(
    ([name, { weight }]) => [name, Math.round(weight * (emphasis[name] ?? 1) * PARTS)] as const,
  )
  const sum = names.reduce((total, [, weight]) => total + weight, 0)
  return Array.from({ length }, () => {
    let left = random(sum)
    const [name] = names.find(([, weight]) => {
      left -= weight
      return left < 0
    }) ?? ['']
    return { name, seed: random(2 ** 32) }
  })
}

function ownedJournals(world: World): OwnedJournal[] {
  return world.gateways.flatMap((gateway) => gateway.ownedJournals)
}

function anyOwnedJournal(world: World, random: Random): OwnedJournal | undefined {
  return oneOf(ownedJournals(world), random)
}

/** An owned journal whose gateway waits for no committed offsets. */
function alone(world: World, random: Random): OwnedJournal | undefined {
  const gateway = oneOf(world.gateways, random)
  gateway?.finishReading()
  return gateway === undefined ? undefined : oneOf(gateway.ownedJournals, random)
}

function endCall(world: World, random: Random): void {
  const gateway = oneOf(world.gateways, random)
  const call = oneOf(gateway?.under ?? [], random)
  if (call !== undefined) gateway?.close(call)
}

/** Its gateway may die as it writes again what is not synced. */
function failSync(world: World, random: Random): void {
  const gateway = oneOf(world.gateways, random)
  const isKilled = random(4) === 0
  if (gateway === undefined) return
  if (oneOf(gateway.ownedJournals, random)?.failSync(isKilled, random) && isKilled) world.kill(gateway)
}

function garbleJournal(world: World, random: Random, whole: boolean): void {
  const journal = oneOf(world.journals, random)
  if (journal !== undefined) world.garble(journal, random, whole)
}

function deliver(world: World, random: Random, answers: boolean): void {
  const packet = oneOf(world.network, random)
  if (packet === undefined) return
  const part = random(packet.entries.length + 1)
  world.deliver(packet, answers && random(8) > 0 ? packet.entries.length : part, answers)
}

function lose(world: World, random: Random): void {
  const lost = oneOf(world.network, random)
  world.network = world.network.filter((packet) => packet !== lost)
}
