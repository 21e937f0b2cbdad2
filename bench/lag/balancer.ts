import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { claimLastingPort } from '../../src/standalone/stand/lasting-port.ts'
import { stopWithMe } from '../../src/standalone/stand/stop-with-me.ts'
import { isReady } from '../stand/stand.ts'

const CONFIGURATION = new URL('../../deploy/haproxy.cfg', import.meta.url)
const READY_WITHIN_MS = 20_000

/**
 * HAProxy as compose runs it, from the PATH, in front of gateways on this machine. Docker's name server is not here, so
 * each gateway stands where the file has a template; all else is the file's.
 *
 * @returns its port
 * @throws when HAProxy is not there, or not ready in time
 */
export async function startBalancer(folder: string, gateways: readonly number[]): Promise<number> {
  const port = await claimLastingPort()
  const file = join(folder, 'haproxy.cfg')
  await writeFile(file, withGateways(await readFile(CONFIGURATION, 'utf8'), port, gateways))
  const balancer = spawn('haproxy', ['-f', file], { stdio: ['ignore', 'ignore', 'inherit'] })
  await Promise.race([
    once(balancer, 'spawn'),
    once(balancer, 'error').then(() => Promise.reject(new Error('no haproxy on the PATH: install it first'))),
  ])
  if (balancer.pid !== undefined) stopWithMe(null).add(balancer.pid)
  const untilMs = performance.now() + READY_WITHIN_MS
  while (!(await isReady(`http://127.0.0.1:${port}`))) {
    if (performance.now() > untilMs) throw new Error('haproxy finds no gateway that is ready')
    await delay(100)
  }
  return port
}

function withGateways(configuration: string, port: number, gateways: readonly number[]): string {
  const isElsewhere = /^(resolvers|frontend operators|frontend health|backend admin)\b/
  const sections = configuration.split(/\n(?=[a-z])/).filter((section) => !isElsewhere.test(section))
  const check = /server-template gateway .*?(check .*?) resolvers.*/
  const text = sections.join('\n').replace('bind :8080', `bind 127.0.0.1:${port}`)
  if (!check.test(text)) throw new Error('deploy/haproxy.cfg has no template of gateways')
  return text.replace(check, (_, options: string) =>
    gateways.map((at) => `server gateway-${at} 127.0.0.1:${at} ${options}`).join('\n  '),
  )
}
