import { expect } from 'vitest'
import { sendSignal } from '../../../src/standalone/processes/detached-process.ts'
import { isContainerHealthy } from '../doctor.ts'
import type { Fault } from '../fault.ts'
import type { World } from '../world.ts'

const SILENT = /silent, and did not say that they stop: /
const ADVICE = /ps -p PID.*kill -9 PID.*start it again/

const isSilent = (kind: 'gateway' | 'worker') => new RegExp(`${SILENT.source}.*${kind} [^ ]+:\\d+ for`)

let frozen = 0

/** The pid that `doctor` names. */
async function endAsPrinted(world: World): Promise<void> {
  const { checks } = await world.doctor()
  const said = checks.find(({ name }) => name === 'processes')?.detail ?? ''
  const pid = Number(/:(\d+) for/.exec(said)?.[1])
  if (pid !== frozen) throw new Error(`doctor names ${said}, and ${frozen} is frozen`)
  sendSignal(pid, 'SIGKILL')
}

export const PROCESS_FAULTS: readonly Fault[] = [
  {
    name: 'a gateway was killed with -9',
    begin: ({ gateway }) => gateway.kill(),
    line: 'processes',
    says: isSilent('gateway'),
    advice: ADVICE,
    alert: 'silent',
    repair: ({ gateway }) => gateway.start(),
  },
  {
    name: 'a gateway is frozen',
    async begin({ gateway }) {
      frozen = gateway.pid
      gateway.freeze()
    },
    line: 'processes',
    says: isSilent('gateway'),
    advice: ADVICE,
    alert: 'silent',
    async repair(world) {
      expect(await isContainerHealthy(world.gateway.port)).toBe(false)
      const ended = world.gateway.expectEnd()
      await endAsPrinted(world)
      await ended
      await world.gateway.start()
    },
  },
  {
    name: 'one of two processes of a gateway is frozen',
    gateway: { GATEWAY_PROCESSES: '2' },
    async begin({ gateway }) {
      frozen = gateway.pids[1] ?? 0
      sendSignal(frozen, 'SIGSTOP')
    },
    line: 'processes',
    says: isSilent('gateway'),
    advice: ADVICE,
    alert: 'silent',
    repair: endAsPrinted,
  },
  {
    name: 'no worker runs, and no calls come in',
    isQuiet: true,
    begin: ({ worker }) => worker.kill(),
    line: 'workers',
    says: /^0 announced: no call is counted/,
    advice: /^start one: npm run worker/,
    alert: 'backlog',
    repair: ({ worker }) => worker.start(),
  },
  {
    name: 'no worker runs, and calls come in',
    begin: ({ worker }) => worker.kill(),
    line: 'workers',
    says: /^0 announced: no call is counted/,
    advice: /^start one: npm run worker/,
    item: 'counting',
    repair: ({ worker }) => worker.start(),
  },
  {
    name: 'a worker is frozen',
    async begin({ worker }) {
      frozen = worker.pid
      worker.freeze()
    },
    line: 'processes',
    says: isSilent('worker'),
    advice: ADVICE,
    async repair(world) {
      const ended = world.worker.expectEnd()
      await endAsPrinted(world)
      await ended
      await world.worker.start()
    },
  },
]
