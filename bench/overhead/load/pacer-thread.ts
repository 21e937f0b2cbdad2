import { parentPort, workerData } from 'node:worker_threads'
import type { Schedule } from './pacer.ts'

/** Sleeps until the next call is due, and tells how many are due by now. `startNs`: of the clock of `hrtime`. */
const { calls, everyMs, startNs } = workerData as Schedule & { readonly startNs: bigint }
const never = new Int32Array(new SharedArrayBuffer(4))
const sinceStartMs = () => Number(process.hrtime.bigint() - startNs) / 1e6
let announced = 0
while (announced < calls) {
  const waitMs = announced * everyMs - sinceStartMs()
  if (waitMs > 0) Atomics.wait(never, 0, 0, waitMs)
  const due = Math.min(Math.floor(sinceStartMs() / everyMs) + 1, calls)
  if (due > announced) {
    announced = due
    parentPort?.postMessage(due)
  }
}
