import type { World } from '../world.ts'
import type { Random } from './random.ts'

/** Everybody does what there is to do, and nothing goes wrong. */
export function settleRound(world: World, random: Random): void {
  for (const gateway of world.gateways) {
    gateway.finishReading()
    for (const journal of world.journals) gateway.adopt(journal)
    for (const owned of gateway.ownedJournals) {
      while (owned.deferred.length > 0) owned.sync()
      while (owned.adopting !== null) owned.adopt()
      for (let step = 0; step < 4; step++) owned.sync()
      owned.ship(random)
      deliverAll(world)
      if (owned.inFlight !== null) owned.giveUp()
      for (let step = 0; step < 3; step++) owned.checkLoss()
      owned.prune()
    }
    gateway.release()
    for (let step = 0; step < 2; step++) gateway.checkRetiredProducers()
    deliverAll(world)
  }
  // In turns, as drains take them: in step with each other, each would only take the lock from the other.
  for (const worker of world.workers)
    for (let steps = 10 + random(40); steps > 0; steps--) worker.step(random)
}

function deliverAll(world: World): void {
  for (const packet of world.network) world.deliver(packet, packet.entries.length, true)
}
