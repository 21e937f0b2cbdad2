import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/**
 * `npm run walk`, beside a running `npm start`: how much of ours a JSON call enters in the gateway, by V8's precise
 * coverage of ten calls. A function is counted that ran at least once a call.
 */
const CALLS = 10
/** The one with the fewest timers in it is said. */
const ROUNDS = 9
const FOLDER = process.env.TALLYGATE_DATA_DIR || '.tallygate'
const INSPECTOR = 'http://127.0.0.1:9229/json/list'

interface Covered {
  readonly url: string
  readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[]
}

function read(name: string): unknown {
  return JSON.parse(readFileSync(`${FOLDER}/${name}`, 'utf8'))
}

/** Opens the inspector of a process of `npm start`, and gives a function that sends it commands. */
async function inspect(pid: number): Promise<(method: string, params?: object) => Promise<unknown>> {
  process.kill(pid, 'SIGUSR1')
  let url = ''
  while (url === '') {
    await delay(100)
    const targets: unknown = await fetch(INSPECTOR).then(
      (answer) => answer.json(),
      () => [],
    )
    url = String(Object(Object(targets)[0]).webSocketDebuggerUrl ?? '')
  }
  const socket = new WebSocket(url)
  await new Promise((resolve) => socket.addEventListener('open', resolve))
  const waiting = new Map<number, (result: unknown) => void>()
  socket.addEventListener('message', ({ data }) => {
    const { id, result } = JSON.parse(String(data))
    waiting.get(id)?.(result)
  })
  let last = 0
  return (method, params = {}) => {
    last += 1
    const id = last
    socket.send(JSON.stringify({ id, method, params }))
    return new Promise((resolve) => waiting.set(id, resolve))
  }
}

async function call(): Promise<void> {
  const answer = await fetch(`${baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${demoKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] }),
  })
  await answer.text()
  if (answer.status !== 200) throw new Error(`a call was answered with ${answer.status}`)
}

const { demoKey } = read('secrets.json') as { readonly demoKey: string }
const { baseUrl } = read('running.json') as { readonly baseUrl: string }
const processes = read('processes.json') as readonly { readonly name: string; readonly pid: number }[]
const gateway = processes.find(({ name }) => name.startsWith('gateway'))
if (gateway === undefined) throw new Error(`${FOLDER}/processes.json names no gateway`)

for (let warm = 0; warm < CALLS; warm += 1) await call()
const send = await inspect(gateway.pid)
await send('Profiler.enable')
await send('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
const rounds: { readonly files: number; readonly functions: number; readonly entered: number }[] = []
for (let round = 0; round < ROUNDS; round += 1) {
  await send('Profiler.takePreciseCoverage')
  for (let made = 0; made < CALLS; made += 1) await call()
  const { result } = (await send('Profiler.takePreciseCoverage')) as { readonly result: readonly Covered[] }
  const files = result
    .filter(({ url }) => url.startsWith('file:') && !url.includes('/node_modules/'))
    .map(({ functions }) => functions.flatMap(({ ranges }) => ranges[0]?.count ?? 0))
    .map((counts) => counts.filter((count) => count >= CALLS))
    .filter((counts) => counts.length > 0)
  const counts = files.flat()
  const entered = counts.reduce((sum, count) => sum + count, 0)
  rounds.push({ files: files.length, functions: counts.length, entered: Math.round(entered / CALLS) })
}
const lowest = rounds.toSorted((left, right) => left.entered - right.entered)[0]
if (lowest !== undefined)
  console.log(`${lowest.files} files, ${lowest.functions} functions, entered ${lowest.entered} times a call`)
process.exit(0)
