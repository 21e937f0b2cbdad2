import type { World } from './world.ts'

/** Has all workers stand still meanwhile. */
export async function withFrozenWorkers<T>({ workers }: World, work: () => Promise<T>): Promise<T> {
  const running = workers.filter((worker) => worker.running)
  try {
    for (const worker of running) worker.freeze()
    return await work()
  } finally {
    for (const worker of running) if (worker.running) worker.thaw()
  }
}
