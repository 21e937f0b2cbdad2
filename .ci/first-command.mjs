// The README's first command as a person runs it: ready, the printed commands pasted, a priced call, Ctrl-C, nothing left.
import { spawn, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

const WITHIN_MS = 120_000
const child = spawn('npm', ['start'], { detached: true, stdio: ['ignore', 'pipe', 'inherit'] })
let output = ''
child.stdout.on('data', (text) => {
  output += text
  process.stdout.write(text)
})
const ended = new Promise((resolve) => child.once('close', (code, signal) => resolve(code ?? signal)))

async function until(what, isTrue) {
  const end = Date.now() + WITHIN_MS
  while (!isTrue()) {
    if (Date.now() > end) throw new Error(`not within ${WITHIN_MS / 1000} s: ${what}`)
    await delay(200)
  }
}

function paste(command) {
  const { stdout, stderr, status } = spawnSync('bash', ['-c', command], { encoding: 'utf8' })
  console.log(`$ ${command}\n${stdout}${stderr}`)
  return status === 0 ? JSON.parse(stdout) : {}
}

/** Processes whose work is in this folder. */
function left() {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return false
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      return line.includes(process.cwd()) || readlinkSync(`/proc/${pid}/cwd`).startsWith(`${process.cwd()}/.`)
    } catch {
      return false
    }
  })
}

try {
  await until('npm start is ready', () => /^stop\s+Ctrl-C$/m.test(output))
  const [call, usage] = output.match(/^curl (?:.*\\\n)*.*$/gm) ?? []
  if (call === undefined || usage === undefined) throw new Error('npm start printed no commands')
  if (paste(call).choices?.length !== 1) throw new Error('the first printed command got no answer')
  await until('the call is shown with its cost', () => {
    const { requests, cost_usd } = paste(usage)
    return requests === 1 && cost_usd > 0
  })
  process.kill(-child.pid, 'SIGINT')
  const end = await Promise.race([ended, delay(WITHIN_MS, 'nothing')])
  if (end !== 0) throw new Error(`Ctrl-C ended npm start with ${end}`)
  await until('no process is left', () => left().length === 0)
  console.log('npm start: ready, a priced call, stopped, nothing left')
} catch (error) {
  console.error(String(error))
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {}
  process.exit(1)
}
process.exit(0)
