// A gateway's ledger under a limit on the size of files, which its journal reaches. Arguments: journal directory.
// Prints, as JSON, how the calls of its clients went.
import { openLedger } from '../../../src/ledger/running-ledger.ts'
import { callRecord, interruptedRecord, openCall } from './calls.ts'

const RUNNING = 300

const away = () => Promise.reject(new Error('away'))
const ledger = await openLedger({
  journalDir: process.argv[2] ?? '',
  journalMaxBytes: 1024 * 1024 * 1024,
  keepSeconds: 300,
  redisUrl: 'redis://127.0.0.1:1',
  redisPrefix: '',
  streams: [process.argv[3] ?? ''],
  database: { readCommittedOffsets: away, readGaps: away, readDatabaseId: away, registerStream: away },
  buildInterrupted: interruptedRecord,
  log: { info: () => {}, warn: () => {}, error: () => {} },
})

const open = (number: number) =>
  new Promise<boolean>((resolve) => ledger.open(openCall(number), (error) => resolve(error === null)))
const close = (number: number) =>
  new Promise<boolean>((resolve) => ledger.close(callRecord(number), (error) => resolve(error === null)))

const recorded: number[] = []
const running: number[] = []
let number = 1
for (; number <= RUNNING; number++) if (await open(number)) running.push(number)
let cut = 0
while (ledger.canTakeCalls) {
  const call = number++
  if (!(await open(call))) continue
  if (await close(call)) recorded.push(call)
  else cut++
}
const taken = recorded.length
for (const call of running) {
  if (await close(call)) recorded.push(call)
  else cut++
}
while (!ledger.canTakeCalls) await new Promise((resolve) => setTimeout(resolve, 50))
const last = number++
const takenAgain = (await open(last)) && (await close(last))
if (takenAgain) recorded.push(last)
await ledger.stop(0)
console.log(JSON.stringify({ running: running.length, taken, cut, takenAgain, recorded }))
